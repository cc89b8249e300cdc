"""Worlds of default preemption as clusters whose units are an extended resource of node status.

kube-scheduler preempts for it itself, where for devices it does not.
"""

from typing import Any

from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds.defaultpreemption import Budget, Pod, World
from tests.support.worlds.preemption import stamp

RESOURCE = "example.com/units"
WAITING = "pre"
"""Name of the pod that waits."""


def cluster(world: World, namespace: str) -> dict[str, list[Json]]:
    """Return nodes, pods and PodDisruptionBudgets with their status, by the plural."""
    return {
        "nodes": [_node(world, name, namespace) for name in world.rooms],
        "pods": [_running(one, namespace) for one in world.pods],
        "poddisruptionbudgets": [_budget(one, namespace) for one in world.budgets],
    }


def waiting(world: World, namespace: str) -> Json:
    """Return the pod that waits; only nodes of its world are for it."""
    made = _pod(WAITING, namespace, world.need, world.priority, world.cpu)
    made["spec"]["nodeSelector"] = {"world": namespace}
    return made


def _node(world: World, name: str, namespace: str) -> Json:
    made = objects.node(name)
    made["metadata"]["labels"]["world"] = namespace
    room = {"cpu": f"{world.cores[name] * 100}m", RESOURCE: str(world.rooms[name])}
    for part in ("capacity", "allocatable"):
        made["status"][part] = {**made["status"][part], **room}
    return made


def _running(one: Pod, namespace: str) -> Json:
    made = _pod(one.name, namespace, one.units, one.priority, one.cpu)
    made["metadata"]["labels"] = dict(one.labels)
    made["spec"]["nodeName"] = one.node
    made["status"] = {"phase": "Running", "startTime": stamp(one.start)}
    return made


def _pod(name: str, namespace: str, units: int, priority: int, cpu: int) -> Json:
    more: dict[str, Any] = {"priority": priority, "terminationGracePeriodSeconds": 300}
    made = objects.pod(name, namespace, priorityClassName=f"prio-{priority}", **more)
    requests = {"cpu": f"{cpu * 100}m"} if cpu else {"cpu": "0"}
    resources = {"limits": {RESOURCE: str(units)}, "requests": requests}
    made["spec"]["containers"][0]["resources"] = resources
    return made


def _budget(one: Budget, namespace: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": one.name, "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": dict([one.selector])}},
        "status": {
            "disruptionsAllowed": one.allowed,
            "currentHealthy": 5,
            "desiredHealthy": 1,
            "expectedPods": 5,
            "observedGeneration": 1,
        },
    }
