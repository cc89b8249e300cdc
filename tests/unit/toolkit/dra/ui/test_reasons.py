"""The line of a pod that waits comes from the nearest nodes, not from the most."""

from typing import Any

from dragoman_toolkit.dra.ui.explanations import Explainer
from dragoman_toolkit.dra.ui.reasons import reason
from tests.support import manifests as objects
from tests.support.worlds import inventory as builders
from tests.support.worlds.inventory import claim, device, device_class, pod, pool

TAINT = {"key": "broken", "effect": "NoSchedule"}


def waiting() -> dict[str, Any]:
    """Return a pod that the scheduler has refused."""
    made = pod(claims={"gpu": "claim"})
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    made["status"] = {"phase": "Pending", "conditions": [refused]}
    return made


def said(*manifests: Any) -> str:
    return reason(
        Explainer(builders.inventory(*manifests), builders.snapshot(*manifests)).explain("ns/pod")
    )


def test_one_node_whose_devices_are_tainted_is_nearer_than_many_of_another_kind() -> None:
    others = [f"node-{number}" for number in range(1, 8)]
    names = [*others, "node-d"]
    nodes = [objects.node(name) for name in names]
    for node in nodes:
        node["metadata"]["labels"] = {"zone": "b" if node["metadata"]["name"] == "node-d" else "a"}
    waits = waiting()
    waits["spec"]["nodeSelector"] = {"zone": "b"}
    tainted = pool("node-d", [device(name, taints=[TAINT]) for name in ("a", "b")])
    line = said(*nodes, device_class(), tainted, claim(count=2), waits)
    assert line.startswith("node-d: 2 tainted broken:NoSchedule")


def test_the_first_of_many_alike_are_named_in_the_order_of_people() -> None:
    names = ["node-10", "node-2", "node-1"]
    pools = [pool(name, [device("a", taints=[TAINT])]) for name in names]
    nodes = map(objects.node, names)
    line = said(*nodes, device_class(), *pools, claim(), waiting())
    assert line.startswith("node-1, node-2 and 1 more: ")


def test_the_line_does_not_repeat_the_name_above_it() -> None:
    node = objects.node("node-1"), pool("node-1", 2)
    line = said(*node, device_class(), claim(count=9), waiting())
    assert line.startswith("Can never fit: 9 devices on one node wanted")
