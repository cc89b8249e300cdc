"""Worlds of default preemption on a real scheduler, as an extended resource of node status."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.defaultpreemption import PRIORITIES, Pod, World
from tests.support.worlds.preemption import stamp

Json = dict[str, Any]
RESOURCE = "example.com/units"
SETTLE = 1.0
"""Seconds in which the scheduler's informers see a world."""
PATIENCE = 30.0


class Stage:
    """A control plane on which worlds are built; no pod can be on nodes of another world.

    Args:
        plane: With a scheduler.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._api = plane.api()
        for value in PRIORITIES:
            self._api.create(
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": f"prio-{value}"},
                    "value": value,
                }
            )

    def preempted(self, world: World, *, expected: bool) -> tuple[str, frozenset[str]] | None:
        """Build a world; return the node and victims that the scheduler chose, None for none."""
        api, namespace = self._api, self._plane.create_namespace("d")
        self._build(world, namespace)
        time.sleep(SETTLE)
        waiting = _pod("pre", namespace, world.need, world.priority, cpu=world.cpu)
        waiting["spec"]["nodeSelector"] = {"world": namespace}
        api.create(waiting)
        wait_for(lambda: self._refused(namespace), PATIENCE, "a verdict")
        with suppress(TimeoutError):
            wait_for(lambda: self._nominated(namespace), 10.0 if expected else 2.5)
            time.sleep(0.5)
        node = self._nominated(namespace)
        gone = frozenset(
            one["metadata"]["name"]
            for one in api.list("pods", namespace)
            if one["metadata"].get("deletionTimestamp")
        )
        self._clear(world, namespace)
        return (node, gone) if node or gone else None

    def _build(self, world: World, namespace: str) -> None:
        api = self._api
        for name, room in world.rooms.items():
            node = objects.node(name)
            node["metadata"]["labels"]["world"] = namespace
            for part in ("capacity", "allocatable"):
                core = {"cpu": f"{world.cores[name] * 100}m", RESOURCE: str(room)}
                node["status"][part] = {**node["status"][part], **core}
            api.create(node)
        pods = [
            _pod(one.name, namespace, one.units, one.priority, one.node, one.cpu, dict(one.labels))
            for one in world.pods
        ]
        api.create_many(pods)

        def start(one: Pod) -> None:
            status = {"phase": "Running", "startTime": stamp(one.start)}
            api.patch("pods", one.name, namespace, {"status": status}, subresource="status")

        api.in_parallel(start, world.pods)
        for budget in world.budgets:
            selector = {"matchLabels": dict([budget.selector])}
            api.create(
                {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": budget.name, "namespace": namespace},
                    "spec": {"minAvailable": 1, "selector": selector},
                }
            )
            status = {
                "disruptionsAllowed": budget.allowed,
                "currentHealthy": 5,
                "desiredHealthy": 1,
                "expectedPods": 5,
                "observedGeneration": 1,
            }
            plural = "poddisruptionbudgets"
            api.patch(plural, budget.name, namespace, {"status": status}, subresource="status")

    def _refused(self, namespace: str) -> bool:
        status = self._api.get("pods", "pre", namespace).get("status") or {}
        return any(one["type"] == "PodScheduled" for one in status.get("conditions") or ())

    def _nominated(self, namespace: str) -> str:
        status = self._api.get("pods", "pre", namespace).get("status") or {}
        return str(status.get("nominatedNodeName") or "")

    def _clear(self, world: World, namespace: str) -> None:
        self._api.delete_all("pods", namespace, gracePeriodSeconds=0)
        self._api.delete_all("poddisruptionbudgets", namespace)
        for name in world.rooms:
            self._api.delete("nodes", name)
        with suppress(ApiError):
            self._api.delete("namespaces", namespace)


def _pod(  # noqa: PLR0917 — what a pod of a world is made of
    name: str,
    namespace: str,
    units: int,
    priority: int,
    node: str = "",
    cpu: int = 0,
    labels: dict[str, str] | None = None,
) -> Json:
    made = objects.pod(name, namespace, labels=labels, priorityClassName=f"prio-{priority}")
    made["spec"]["terminationGracePeriodSeconds"] = 300
    limits = {RESOURCE: str(units)}
    requests = {"cpu": f"{cpu * 100}m"} if cpu else {"cpu": "0"}
    made["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": requests}
    if node:
        made["spec"]["nodeName"] = node
    return made
