"""The page has the numbers of `top` and the holders of `who`."""

from typing import Any

from dragoman.cli.dra.ui.nodemap import LOST, SEVERAL
from dragoman.cli.dra.ui.page import WAITING_SHOWN
from dragoman.inventory.inventory import State
from tests.unit.cli.dra.ui import pages
from tests.unit.inventory.builders import claim, device, device_class, held, pod, pool

TAINT = {"key": "broken", "effect": "NoSchedule"}


def cluster() -> list[dict[str, Any]]:
    user = pod("trainer", "ml", claims={"gpu": "claim"}, node="node-a")
    return [
        device_class(),
        pool("node-a", ["a", "b", device("c", taints=[TAINT])]),
        pool("node-b", ["a"], resourceSliceCount=2),
        held(claim(namespace="ml"), ("node-a", "a"), ("node-z", "gone"), pods=[user]),
        claim("waits", "web"),
        pod("waits", "web", claims={"gpu": "waits"}),
        user,
    ]


def test_every_device_has_a_dot_with_its_state_and_holder() -> None:
    found = {row.name: row for row in pages.of(*cluster()).rows}
    assert [*found] == ["node-a", "node-b", LOST]
    assert [(dot.name, dot.state, dot.text) for dot in found["node-a"].dots] == [
        ("a", State.USED, "used by ml/trainer"),
        ("b", State.FREE, "free"),
        ("c", State.TAINTED, "tainted, broken:NoSchedule"),
    ]
    assert [dot.state for dot in found["node-b"].dots] == [State.UNUSABLE]
    assert [dot.text for dot in found[LOST].dots] == ["lost by ml/trainer"]


def test_rows_count_as_top_nodes_does() -> None:
    first, second, _ = pages.of(*cluster()).rows
    assert (first.free, first.devices, first.holders) == (1, 3, (("ml/trainer", 1),))
    assert (second.free, second.devices) == (0, 0)
    assert "is incomplete (1 of 2 slices" in second.problems[0]


def test_states_are_counted_over_all_devices() -> None:
    counts = pages.of(*cluster()).states
    assert {state: count for state, count in counts.items() if count} == {
        State.FREE: 1,
        State.USED: 1,
        State.TAINTED: 1,
        State.UNUSABLE: 1,
        State.LOST: 1,
    }


def test_details_name_claim_pod_containers_and_attributes() -> None:
    attributes = {"model": {"string": "a100"}, "index": {"int": 3}}
    capacity = {"memory": {"value": "80Gi"}}
    user = pod("trainer", "ml", claims={"gpu": "claim"}, node="node-a")
    one = device("a", attributes=attributes, capacity=capacity)
    manifests = [device_class(), pool("node-a", [one]), user]
    manifests.append(held(claim(namespace="ml"), ("node-a", "a"), pods=[user]))
    (details,) = pages.of(*manifests).rows[0].details
    assert details["id"] == "gpu.example.com/node-a/a"
    assert details["classes"] == [0]
    assert details["attributes"]["model"] == "a100"
    assert details["attributes"]["index"] == "3"
    assert details["attributes"]["memory (capacity)"] == "80Gi"
    (holder,) = details["holders"]
    assert (holder["claim"], holder["namespace"]) == ("ml/claim", "ml")
    assert holder["pods"][0].split()[0] == "ml/trainer"


def test_devices_of_several_nodes_have_a_row_of_their_own() -> None:
    slice_ = pool("fabric", ["a"])
    del slice_["spec"]["nodeName"]
    slice_["spec"]["allNodes"] = True
    assert [row.name for row in pages.of(device_class(), slice_).rows] == [SEVERAL]


def test_a_device_in_use_with_a_taint_is_marked() -> None:
    tainted = device("a", taints=[TAINT])
    used = held(claim(), ("node-a", "a"))
    (dot,) = pages.of(device_class(), pool("node-a", [tainted]), used).rows[0].dots
    assert (dot.state, dot.marked, dot.text) == (
        State.USED,
        True,
        "used by claim ns/claim, tainted",
    )


def test_many_waiting_pods_are_counted_and_the_first_are_listed() -> None:
    count = WAITING_SHOWN + 5
    waiting = [
        one
        for index in range(count)
        for one in (
            claim(f"c-{index}"),
            pod(f"p-{index:03}", claims={"gpu": f"c-{index}"}),
        )
    ]
    found = pages.of(device_class(), *waiting)
    assert (found.waiting_count, len(found.waiting)) == (count, WAITING_SHOWN)
    assert found.waiting[0].key == "ns/p-000"
    assert found.waiting[0].numbers == (0,)


def test_the_filters_offer_classes_and_namespaces() -> None:
    found = pages.of(*cluster())
    assert (found.class_names, found.namespace_names) == (("gpu",), ("ml", "web"))
