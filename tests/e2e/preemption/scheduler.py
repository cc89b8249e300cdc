"""Worlds of default preemption on a real scheduler, as an extended resource of node status."""

import time
from contextlib import suppress
from typing import Any

from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.defaultpreemption import PRIORITIES, World
from tests.support.worlds.extendedresource import WAITING, cluster, waiting

Json = dict[str, Any]
REPORTED = ("pods", "poddisruptionbudgets")
"""What gets its status after its creation."""
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
        api.create(waiting(world, namespace))
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
        made = cluster(world, namespace)
        for one in made["nodes"]:
            api.create(one)
        api.create_many(made["pods"])
        for one in made["poddisruptionbudgets"]:
            api.create(one)

        def report(given: tuple[str, Json]) -> None:
            plural, one = given
            body = {"status": one["status"]}
            api.patch(plural, one["metadata"]["name"], namespace, body, subresource="status")

        reported = [(plural, one) for plural in REPORTED for one in made[plural]]
        api.in_parallel(report, reported)

    def _refused(self, namespace: str) -> bool:
        status = self._api.get("pods", WAITING, namespace).get("status") or {}
        return any(one["type"] == "PodScheduled" for one in status.get("conditions") or ())

    def _nominated(self, namespace: str) -> str:
        status = self._api.get("pods", WAITING, namespace).get("status") or {}
        return str(status.get("nominatedNodeName") or "")

    def _clear(self, world: World, namespace: str) -> None:
        self._api.delete_all("pods", namespace, gracePeriodSeconds=0)
        self._api.delete_all("poddisruptionbudgets", namespace)
        for name in world.rooms:
            self._api.delete("nodes", name)
        with suppress(ApiError):
            self._api.delete("namespaces", namespace)
