"""What the rules about selectors and tolerations warn of, on the real scheduler.

Each case has the claim of a finding, whose pod the scheduler does not place, and its nearest sound
neighbour, whose pod it places.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices, given
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.schedulersync import SchedulerSync

DRIVER, TAINTED = "own.example.com", "tainted.example.com"
OWN = f'device.attributes["{DRIVER}"]'
MEMORY = {"memory": {"value": "8Gi"}}
TAINT = {"key": "example.com/bad", "value": "x", "effect": "NoSchedule"}
SLICES = [
    objects.resource_slice(
        "checked",
        [
            {"name": "d0", "attributes": {"model": {"string": "A"}}, "capacity": MEMORY},
            {
                "name": "d1",
                "attributes": {"model": {"string": "B"}, "fast": {"bool": True}},
                "capacity": MEMORY,
            },
        ],
        DRIVER,
    ),
    objects.resource_slice("checked", [{"name": "t0", "taints": [TAINT]}], TAINTED),
]
CLASSES = [objects.device_class(driver, driver) for driver in (DRIVER, TAINTED)]


def selector(expression: str) -> dict[str, Any]:
    return {"deviceClassName": DRIVER, "selectors": [{"cel": {"expression": expression}}]}


def toleration(**more: str) -> dict[str, Any]:
    return {"deviceClassName": TAINTED, "tolerations": [{"key": "example.com/bad", **more}]}


# Rule, the request that it finds, the request that it leaves alone.
CASES = [
    ("dra/never-matches", selector(f'{OWN}.model == "C"'), selector(f'{OWN}.model == "B"')),
    (
        "dra/never-matches",
        selector(f'{OWN}.model == "A" && {OWN}.model == "B"'),
        selector(f'{OWN}.model == "A" || {OWN}.model == "B"'),
    ),
    (
        "dra/never-matches",
        selector('device.driver == "x"'),
        selector(f'device.driver == "{DRIVER}"'),
    ),
    ("dra/cel-unguarded", selector(f"{OWN}.fast"), selector(f"{OWN}.?fast.orValue(false)")),
    ("dra/attribute-unknown", selector(f'{OWN}.modle == "A"'), selector(f'{OWN}.model == "A"')),
    (
        "dra/attribute-is-capacity",
        selector(f'{OWN}.memory == quantity("8Gi")'),
        selector(f'device.capacity["{DRIVER}"].memory == quantity("8Gi")'),
    ),
    (
        "dra/toleration",
        toleration(effect="NoSchedule"),
        toleration(operator="Exists", effect="NoSchedule"),
    ),
]


@pytest.fixture(scope="module")
def world() -> Iterator[ControlPlane]:
    """Run a scheduler with one node, two devices, and a device with a taint."""
    with ControlPlane(scheduler=True, audit=False) as plane:
        plane.add_node("checked")
        plane.api().create_many([*SLICES, *CLASSES])
        yield plane


@pytest.fixture(scope="module")
def sync(world: ControlPlane) -> SchedulerSync:
    """Tell how far the scheduler has come."""
    made = SchedulerSync(world)
    made.create()
    return made


def claim(body: dict[str, Any], namespace: str) -> dict[str, Any]:
    made = objects.claim("gpu", namespace, DRIVER)
    return {**made, "spec": {"devices": {"requests": [{"name": "a", "exactly": body}]}}}


def found(body: dict[str, Any]) -> set[str]:
    """Return the rules that find something, with the devices of the world."""
    source = engine.read("m.yaml", yaml.safe_dump_all([*CLASSES, claim(body, "ns")]))
    devices = KnownDevices(tuple(given(SLICES)))
    report = engine.check([source], api_of((1, 36)), devices, engine.CheckOptions()).report
    return {finding.id for finding in report.findings}


def answer(plane: ControlPlane, sync: SchedulerSync, body: dict[str, Any]) -> str:
    """Create a claim and a pod for it; return what the scheduler does with the pod."""
    namespace = plane.create_namespace()
    api = plane.api()
    api.create(claim(body, namespace))
    sync.wait()
    api.create(objects.pod("pod", namespace, claims={"gpu": "gpu"}))

    def said() -> str:
        pod = api.get("pods", "pod", namespace)
        if pod["spec"].get("nodeName"):
            return "placed"
        conditions = pod["status"].get("conditions", ())
        refused = any(
            one["type"] == "PodScheduled" and one["status"] == "False" for one in conditions
        )
        return "refused" if refused else ""

    result = wait_for(said, 60, "the scheduler's answer")
    plane.clear_namespace(namespace)
    return result


@pytest.mark.parametrize(
    ("rule", "bad", "good"), CASES, ids=[f"{case[0]} {i}" for i, case in enumerate(CASES)]
)
def test_the_scheduler_places_no_pod_of_a_finding(
    world: ControlPlane, sync: SchedulerSync, rule: str, bad: dict[str, Any], good: dict[str, Any]
) -> None:
    assert rule in found(bad)
    assert rule not in found(good)
    assert answer(world, sync, bad) == "refused"
    assert answer(world, sync, good) == "placed"
