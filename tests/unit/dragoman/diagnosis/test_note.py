"""The note of an Event: grouped reasons in one line, bounded, without names of holders."""

from typing import Any

import pytest

from dragoman.diagnosis.explain import cluster_of, examine, explain
from dragoman.diagnosis.filters import Load
from dragoman.diagnosis.note import LONGEST, Note, note, shortened
from dragoman.diagnosis.subject import of_pod
from tests.support import manifests as objects
from tests.support.worlds.inventory import (
    DRIVER,
    claim,
    device,
    device_class,
    held,
    inventory,
    pod,
    pool,
)

Json = dict[str, Any]
ONE = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


def model(name: str, value: str) -> Json:
    return device(name, attributes={"model": {"string": value}})


def used(node: str, *devices: str, by: str = "secret/holder") -> list[Json]:
    """Return a claim of another namespace that has devices, and its pod."""
    namespace, _, name = by.partition("/")
    user = pod(f"{name}-{node}", namespace, claims={"gpu": f"{name}-{node}"}, node=node)
    made = claim(f"{name}-{node}", namespace)
    return [held(made, *((node, one) for one in devices), pods=[user]), user]


def said(*manifests: Json, limit: int | None = None) -> Note:
    """Explain pod `ns/pod` that uses claim `claim`."""
    nodes = {one["spec"]["nodeName"] for one in manifests if one["kind"] == "ResourceSlice"}
    found = inventory(
        device_class(),
        *(objects.node(name) for name in sorted(nodes)),
        pod(claims={"gpu": "claim"}),
        *manifests,
    )
    subject = of_pod(found.world, found.world.pods["ns/pod"])
    if limit is None:
        return note(explain(found, subject))
    return note(examine(found.world, subject, cluster_of(found), Load(), limit=limit))


SELECTING = [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "z"'}}]


def test_nodes_are_grouped_by_what_they_lack() -> None:
    found = said(
        pool("n1", ["a"]),
        pool("n2", ["a", "b"]),
        pool("n3", ["a"]),
        pool("n4", [device("a", taints=[TAINT])]),
        pool("n5", ["a"], resourceSliceCount=2),
        *used("n1", "a"),
        *used("n3", "a"),
        claim(count=2),
        *used("n2", "a"),
    )
    assert found.text == "5 nodes, the nearest n2: one device short"
    assert found.reason == "NotEnoughDevices"


def test_values_for_which_a_selector_is_false_are_named() -> None:
    found = said(
        pool("n1", [model("a", "A100"), model("b", "L4")]),
        pool("n2", [model("a", "L4")]),
        claim(selectors=SELECTING),
    )
    assert found.text == "can never fit: no device has model z (model is A100, L4)"
    assert found.reason == "NeverFits"


def test_no_name_of_a_holder_is_in_a_note() -> None:
    found = said(pool("n1", ["a"]), *used("n1", "a"), claim())
    assert "secret" not in found.text
    assert "holder" not in found.text


def test_numbers_do_not_make_other_reasons() -> None:
    one = said(pool("n1", ["a"]), *used("n1", "a"), claim())
    two = said(pool("n1", ["a"]), pool("n2", ["a"]), *used("n1", "a"), *used("n2", "a"), claim())
    other = said(pool("n1", [device("a", taints=[TAINT])]), claim())
    assert one.text != two.text
    assert one.identity == two.identity
    assert one.identity != other.identity


def test_a_pod_that_fits_lacks_no_devices() -> None:
    assert said(pool("n1", ["a"]), claim()) == Note("DevicesAvailable")


def test_a_pod_whose_nodes_are_all_left_out_lacks_something_else() -> None:
    cordoned = objects.node("n") | {"spec": {"unschedulable": True}}
    found = inventory(
        device_class(), cordoned, pool("n", ["a"]), claim(), pod(claims={"gpu": "claim"})
    )
    subject = of_pod(found.world, found.world.pods["ns/pod"])
    assert note(explain(found, subject)) == Note("NodeFiltered")


def test_what_stops_the_scheduler_comes_first() -> None:
    expression = f'device.attributes["{DRIVER}"].spare'
    found = said(
        pool("n1", ["a"]), pool("n2", ["a"]), claim(selectors=[{"cel": {"expression": expression}}])
    )
    assert found.reason == "CELError"
    assert found.text.startswith("the scheduler stops at this pod, whatever the nodes are: ")
    assert "no such key: spare" in found.text


def test_a_missing_class_is_named_with_the_remedy() -> None:
    wrong = claim()
    wrong["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gpo"
    found = said(pool("n1", ["a"]), wrong)
    assert found.reason == "ClassNotFound"
    assert found.text == (
        "claim claim, request devices: device class gpo does not exist: write gpu"
    )


def test_the_claim_controller_posts_about_claims_that_do_not_exist() -> None:
    found = inventory(device_class(), objects.node("n"), pod(templates={"gpu": "t"}))
    subject = of_pod(found.world, found.world.pods["ns/pod"])
    assert note(explain(found, subject)) == Note("TemplateNotFound")


def test_a_search_that_takes_too_many_steps_is_not_an_answer() -> None:
    devices = [f"d{number}" for number in range(12)]
    requests = [{"name": f"r{number}", "exactly": {**ONE}} for number in range(6)]
    wanted = claim()
    wanted["spec"]["devices"] = {
        "requests": requests,
        "constraints": [{"matchAttribute": f"{DRIVER}/model"}],
    }
    slices = pool("n1", [model(name, str(index % 5)) for index, name in enumerate(devices)])
    found = said(slices, wanted, limit=50)
    assert found.reason == "SearchTooLong"
    assert found.text == "1 node: 1 search too long (SearchTooLong)"
    assert said(slices, wanted).reason != "SearchTooLong"


@pytest.mark.parametrize("letter", ["x", "é", "漢"])
def test_a_note_has_as_many_bytes_as_the_api_takes(letter: str) -> None:
    text = shortened(letter * 2000)
    assert len(text.encode()) <= LONGEST
    assert text.endswith("…")
    assert shortened("short") == "short"


def test_reasons_that_do_not_fit_are_counted() -> None:
    slices = [
        pool(f"n{number:03}", [device("a", taints=[TAINT | {"key": f"example.com/key-{number}"}])])
        for number in range(60)
    ]
    found = said(*slices, claim())
    assert len(found.text.encode()) <= LONGEST
    assert found.text.startswith("60 nodes: 1 tainted")
    assert found.text.rpartition(", ")[2].startswith("and ")
    assert found.text.endswith(" more reasons")


@pytest.mark.parametrize(
    ("reported", "reason", "words"),
    [
        ([{"type": "Cut", "status": "True"}], "BindingFailed", "has failed (Cut)"),
        ([], "BindingTimeout", "is not ready (Cabled)"),
    ],
    ids=["failed", "late"],
)
def test_a_device_that_did_not_get_ready_is_named_by_its_condition(
    reported: list[Json], reason: str, words: str
) -> None:
    made = held(
        claim(), ("n1", "a"), bindingConditions=["Cabled"], bindingFailureConditions=["Cut"]
    )
    made["status"]["allocation"]["allocationTimestamp"] = "2026-11-22T11:00:00Z"
    made["status"]["devices"] = [
        {"driver": DRIVER, "pool": "n1", "device": "a", "conditions": reported}
    ]
    found = said(pool("n1", ["a"]), made)
    assert found.reason == reason
    assert found.text == f"1 node: 1 a device of its claims {words}"
