"""Clusters for the browser: all states of devices, and as many nodes as wanted."""

from collections.abc import Iterator
from typing import Any

from tests.support import manifests as objects
from tests.support.worlds.inventory import claim, device, device_class, held, pod, pool

DEVICES = 8
REFUSED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 cannot allocate all claims.",
    "lastTransitionTime": "2026-11-22T11:00:00Z",
}
TAINT = {"key": "gpu.example.com/xid", "value": "79", "effect": "NoSchedule"}


def cluster(nodes: int) -> list[dict[str, Any]]:
    """Return nodes of 8 devices: most in use, some free, tainted, held, unusable or lost."""
    return [*_cluster(nodes)]


def _cluster(nodes: int) -> Iterator[dict[str, Any]]:
    yield device_class()
    yield device_class("other", "other.example.com")
    for number in range(nodes):
        node = f"node-{number:04}"
        yield objects.node(node)
        yield pool(node, [_device(number, index) for index in range(DEVICES)], **_pool(number))
        yield from _users(number, node)
    yield held(claim("lost", "web"), ("node-0000", "gone"))
    for number in range(3):
        yield claim(f"waits-{number}", "web", count=DEVICES + 1)
        waiting = pod(f"waits-{number}", "web", claims={"gpu": f"waits-{number}"})
        waiting["status"] = {"phase": "Pending", "conditions": [REFUSED]}
        yield waiting


def _pool(number: int) -> dict[str, Any]:
    return {"resourceSliceCount": 2} if number % 10 == 9 else {}


def _device(number: int, index: int) -> dict[str, Any]:
    taints = [TAINT] if number % 10 == 4 and index in (3, 6) else []
    attributes = {"model": {"string": "a100"}, "uuid": {"string": f"GPU-{number:04}-{index}"}}
    return device(f"gpu-{index}", taints=taints, attributes=attributes)


def _users(number: int, node: str) -> Iterator[dict[str, Any]]:
    if number % 10 == 9:
        return
    trainer = pod(f"trainer-{number}", "ml", claims={"gpu": f"trainer-{number}"}, node=node)
    render = pod(f"render-{number}", "web", claims={"gpu": f"render-{number}"}, node=node)
    yield trainer
    yield render
    four = [(node, f"gpu-{index}") for index in range(4)]
    yield held(claim(f"trainer-{number}", "ml", 4), *four, pods=[trainer])
    yield held(claim(f"render-{number}", "web"), (node, "gpu-4"), pods=[render])
    if number % 10 == 7:
        yield held(claim(f"dragoman-hold-{number}", "ops"), (node, "gpu-5"))
