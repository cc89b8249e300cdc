"""What explanations are computed from: stores of inventory facts, and the world that they make."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import dragoman.allocation as api
from dragoman.inventory.facts.objects import NodeFact, PodFact, SliceFact, World
from dragoman.inventory.usage.waiting import extended_resources, gated
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.model import Metadata
from dragoman.model.claim import Claim

WORLD_AGE = 2.0
"""Seconds for which a collection of all facts is used."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Stored(Generic[Value]):
    """An object of the API server.

    Attributes:
        metadata: Its identity.
        value: The fact; None where the object does not matter, or the event has only metadata.
    """

    metadata: Metadata
    value: Value | None

    @property
    def key(self) -> str:
        """`namespace/name`, or `name`."""
        namespace = self.metadata.namespace
        return f"{namespace}/{self.metadata.name}" if namespace else self.metadata.name


class DeviceState:
    """Everything that says which devices there are, and which pods wait for them.

    Args:
        kubernetes: The server's version.
        rules_served: Whether there are DeviceTaintRules.
        clock: Monotonic seconds.

    Attributes:
        pods: Pods that wait for a node, or are of a PodGroup; of all others only their identity
            is stored.
        version: Counts the changes of what a world consists of.
    """

    def __init__(
        self,
        kubernetes: str = "",
        *,
        rules_served: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.deleted = DeletedUIDs()
        self.pods: Store[Stored[PodFact]] = Store(self.deleted)
        self.claims: Store[Stored[Claim]] = Store(self.deleted)
        self.slices: Store[Stored[SliceFact]] = Store(self.deleted)
        self.nodes: Store[Stored[NodeFact]] = Store(self.deleted)
        self.classes: Store[Stored[api.DeviceClass]] = Store(self.deleted)
        self.rules: Store[Stored[api.DeviceTaintRule]] = Store(self.deleted)
        self.version = 0
        self._kubernetes = kubernetes
        self._listed = frozenset(
            {"nodes", "pods", "resourceclaims", "resourceslices", "deviceclasses"}
            | ({"devicetaintrules"} if rules_served else set())
        )
        self._clock = clock
        self._world: tuple[int, float, World] | None = None

    def handlers(
        self, store: Store[Stored[Value]]
    ) -> tuple[Callable[[Stored[Value]], None], Callable[[Stored[Value]], None]]:
        """Return event handlers that keep a store up to date."""

        def changed(item: Stored[Value]) -> None:
            if store.put(item):
                self.version += 1

        def deleted(item: Stored[Value]) -> None:
            metadata = item.metadata
            if store.drop(metadata.namespace, metadata.name, metadata.uid) is not None:
                self.version += 1

        return changed, deleted

    def roll_back(self) -> None:
        """Trust the next lists in everything: etcd was restored from a backup."""
        stores: tuple[Store[Any], ...] = (self.pods, self.claims, self.slices)
        for store in (*stores, self.nodes, self.classes, self.rules):
            store.roll_back()

    def world(self) -> World:
        """Return all facts as they were at most `WORLD_AGE` seconds ago.

        Collecting them takes milliseconds in a large cluster, and claims change all the time.
        """
        now = self._clock()
        if self._world is None or (
            self._world[0] != self.version and now - self._world[1] >= WORLD_AGE
        ):
            self._world = (self.version, now, self._made())
        return self._world[2]

    def waits(self, pod: PodFact) -> bool:
        """Whether the scheduler has refused a pod that needs devices."""
        if not pod.unschedulable or pod.pod.done or pod.pod.metadata.deleting or gated(pod):
            return False
        if any(not pod.pod.needs_no_claim(entry) for entry in pod.pod.entries):
            return True
        extended = extended_resources(pod.document)
        classes = _by_key(self.classes) if extended else {}
        return any(api.class_of(name, classes) for name in extended)

    def _made(self) -> World:
        return World(
            now=datetime.now(UTC).isoformat(timespec="seconds"),
            kubernetes=self._kubernetes,
            nodes=_by_key(self.nodes),
            slices=tuple(_by_key(self.slices).values()),
            classes=_by_key(self.classes),
            rules=tuple(_by_key(self.rules).values()),
            claims=_by_key(self.claims),
            templates={},
            pods=_by_key(self.pods),
            quotas=(),
            listed=self._listed,
            unseen=(),
            malformed=(),
        )


def _by_key(store: Store[Stored[Value]]) -> dict[str, Value]:
    return {one.key: one.value for one in store if one.value is not None}
