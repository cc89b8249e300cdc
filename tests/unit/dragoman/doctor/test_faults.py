"""Known faults: which releases have them, and what triggers each."""

from dataclasses import replace
from typing import Any

import pytest

from dragoman.doctor.faults import FAULTS
from dragoman.doctor.finding import Finding, Id
from dragoman_base.versions import parse_release
from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import TAINT, World
from tests.unit.dragoman.doctor.test_examination import diagnosis

WORLD = World("w")
GATED: dict[str, Any] = {"schedulingGates": [{"name": "example.com/later"}], "nodeName": None}


def faults(*manifests: Json, version: str = "v1.36.3") -> list[Finding]:
    """Return the known faults of a release that concern manifests."""
    snapshot = replace(builders.snapshot(*manifests), kubernetes=version)
    return [one for one in diagnosis(snapshot).findings if one.id is Id.KNOWN_FAULT]


def issues(*manifests: Json, version: str = "v1.36.3") -> set[int]:
    texts = (one.subject.text for one in faults(*manifests, version=version))
    return {int(text.removeprefix("kubernetes#")) for text in texts}


def extended(name: str = "claim", *devices: str) -> Json:
    made = WORLD.claim(name, *devices)
    made["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return made


def wanting(**exactly: Any) -> Json:
    return WORLD.claim("claim", request=exactly)


def selecting(terms: int) -> Json:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    device = {"name": "d0", "nodeSelector": {"nodeSelectorTerms": [term] * terms}}
    made = objects.resource_slice("p", [device], WORLD.driver)
    del made["spec"]["nodeName"]
    return {**made, "spec": {**made["spec"], "perDeviceNodeSelection": True}}


def counting(driver: str) -> Json:
    made = objects.resource_slice("p", 0, driver)
    del made["spec"]["devices"]
    counters = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
    return {**made, "spec": {**made["spec"], "sharedCounters": counters}}


def ruled(**selector: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "rule"},
        "spec": {"deviceSelector": selector, "taint": {"key": "a", "effect": "NoSchedule"}},
    }


def unselecting() -> Json:
    made = ruled()
    del made["spec"]["deviceSelector"]
    return made


def tainted(effect: str) -> Json:
    return WORLD.slice([{"name": "d0", "taints": [{**TAINT, "effect": effect}]}])


def tolerating(*effects: str) -> Json:
    made = WORLD.claim("claim", "d0")
    found = [{"operator": "Exists", **({"effect": one} if one else {})} for one in effects]
    made["status"]["allocation"]["devices"]["results"][0]["tolerations"] = found
    return made


def sharing() -> Json:
    made = WORLD.claim("claim", "d0")
    made["status"]["allocation"]["devices"]["results"][0]["shareID"] = "share"
    return made


def serving(name: str, resource: str) -> Json:
    made = objects.device_class(name)
    return {**made, "spec": {**made.get("spec", {}), "extendedResourceName": resource}}


def reserved(resource: str) -> Json:
    made = WORLD.claim("claim", "d0", users=["pod"])
    made["status"]["reservedFor"][0]["resource"] = resource
    return made


SHARED = WORLD.claim("claim", "d0", users=["p0", "p1"])
KEPT = WORLD.claim("claim", "d0", users=["p0", "p1", "ended"])
"""Reserved for a pod that has ended: it is not read any more."""
USERS = [WORLD.pod(f"p{index}", claims={"gpu": "claim"}) for index in range(2)]
for _user in USERS:
    _user["metadata"]["uid"] = f"uid-of-w-{_user['metadata']['name']}"
WAITING = WORLD.pod(templates={"a": "template"}, nodeName=None)

# Issue, what triggers it, the nearest that does not, and a release that has it.
CASES: list[tuple[int, list[Json], list[Json], str]] = [
    (
        138407,
        [WORLD.pod(templates={"a": "one", "b": "two"}, **GATED)],
        [WORLD.pod(templates={"a": "one"}, claims={"b": "two"}, **GATED)],
        "v1.36.3",
    ),
    (141274, [KEPT, *USERS], [SHARED, *USERS], "v1.37.2"),
    (
        135835,
        [WAITING],
        [WAITING, objects.template("template", "w", "w-class")],
        "v1.35.9",
    ),
    (136450, [reserved("jobs")], [reserved("pods")], "v1.35.0"),
    (134311, [extended()], [WORLD.claim()], "v1.34.4"),
    (
        141290,
        [extended("claim", "d0"), tainted("NoExecute")],
        [extended("claim", "d0"), tainted("NoSchedule")],
        "v1.36.3",
    ),
    (141212, [selecting(2)], [selecting(1)], "v1.36.3"),
    (
        141829,
        [wanting(allocationMode="All", count=None), WORLD.slice(resourceSliceCount=2)],
        [wanting(allocationMode="All", count=None), WORLD.slice()],
        "v1.37.2",
    ),
    (
        140434,
        [counting("a.example.com"), counting("b.example.com")],
        [counting("a.example.com")],
        "v1.36.3",
    ),
    (131730, [wanting(count=8)], [wanting(count=7)], "v1.36.3"),
    (141422, [unselecting()], [ruled()], "v1.36.3"),
    (
        143376,
        [tolerating(""), tainted("NoExecute")],
        [tolerating("", "NoExecute"), tainted("NoExecute")],
        "v1.37.2",
    ),
    (140798, [sharing(), WORLD.slice(["d0"])], [WORLD.claim("claim", "d0")], "v1.37.2"),
    (
        141110,
        [serving("one", "example.com/gpu"), serving("two", "example.com/gpu")],
        [serving("one", "example.com/gpu"), serving("two", "example.com/nic")],
        "v1.37.2",
    ),
]


def test_every_fault_has_a_case() -> None:
    assert [one.issue for one in FAULTS] == [issue for issue, *_ in CASES]


@pytest.mark.parametrize(
    ("issue", "met", "near", "version"), CASES, ids=[str(case[0]) for case in CASES]
)
def test_a_fault_is_reported_where_something_triggers_it(
    issue: int, met: list[Json], near: list[Json], version: str
) -> None:
    assert issue in issues(*met, version=version)
    assert issue not in issues(*near, version=version)


@pytest.mark.parametrize(
    ("issue", "fixed"),
    [
        (138407, "v1.34.13"),
        (138407, "v1.35.10"),
        (138407, "v1.36.6"),
        (138407, "v1.37.0"),
        (141422, "v1.37.1"),
        (141290, "v1.37.2"),
        (141829, "v1.38.0"),
        (141274, "v1.38.0"),
        (143376, "v1.38.0"),
        (140798, "v1.38.0"),
        (141110, "v1.38.0"),
        (135835, "v1.36.0"),
        (136450, "v1.36.0"),
        (134311, "v1.35.0"),
        (140434, "v1.36.4"),
        (140434, "v1.37.0"),
    ],
)
def test_a_fault_ends_with_its_fix(issue: int, fixed: str) -> None:
    [met] = [case[1] for case in CASES if case[0] == issue]
    assert issue not in issues(*met, version=fixed)


def test_a_fault_names_what_triggers_it() -> None:
    [finding] = faults(*CASES[0][1])
    assert "w/pod" in finding.message
    assert finding.remedy


@pytest.mark.parametrize("version", ["", "latest", "v1"])
def test_an_unreadable_version_has_no_faults(version: str) -> None:
    assert faults(*CASES[0][1], version=version) == []


def test_versions_of_distributions() -> None:
    assert parse_release("v1.36.3-gke.1200") == (1, 36, 3)
    assert parse_release("1.37") == (1, 37, 0)
