"""What explanations are computed from: the world that the stores of a cluster make."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import dragoman.allocation as api
from dragoman import surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.inventory.facts.parser import node_fact, pod_fact
from dragoman.inventory.facts.world import NodeFact, PodFact, World
from dragoman.inventory.snapshots.documents import reduced
from dragoman.inventory.snapshots.versions import upgraded
from dragoman.inventory.usage.waiting import extended_resources, gated
from dragoman.kube.informer import Informer
from dragoman.logs import logger
from dragoman.model.claim import Claim
from dragoman.model.claimcontent import parse_claim
from dragoman.model.fields import Document, MalformedObjectError
from dragoman.model.pod import Pod
from dragoman.model.requests import NO_SPEC

WORLD_AGE = 2.0
"""Seconds for which a collection of all facts is used."""

Value = TypeVar("Value")

log = logger("dragoman.explain")


class ExplainState:
    """Everything that says which devices there are, and which pods wait for them.

    Args:
        cluster: Stores it; pods without a node are kept as a whole.
        kubernetes: The server's version.
        clock: Monotonic seconds.

    Attributes:
        pods: Pods that wait for a node, or are of a PodGroup, by namespace and name.
        informers: Those that have to be listed first.
        version: Counts the changes of what a world consists of.
    """

    def __init__(
        self,
        cluster: ClusterStores,
        kubernetes: str = "",
        *,
        clock: Callable[[], float] = surroundings.monotonic,
    ) -> None:
        self.pods: dict[tuple[str, str], PodFact] = {}
        self.version = 0
        self._cluster = cluster
        self._devices = devices = cluster.part(DeviceStores)
        self._kubernetes = kubernetes
        self._clock = clock
        self._world: tuple[int, float, World] | None = None
        cluster.keep_content(_claim, _node)
        self.informers: tuple[Informer[Any], ...] = (
            cluster.pods,
            cluster.claims,
            devices.slices,
            cluster.nodes,
            devices.classes,
        )
        for informer in (*self.informers[1:], devices.rules):
            informer.observe(self._changed)
        cluster.pods.observe(self._pod_changed)

    async def wait_listed(self) -> None:
        """Wait until everything that is served is listed."""
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))
        # Without rules, tainted devices would look free.
        await self._devices.wait_rules()

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
        classes = self._classes() if extended else {}
        return any(api.class_of(name, classes) for name in extended)

    def _changed(self, _old: object, _new: object) -> None:
        self.version += 1

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        found = new or old
        assert found is not None
        place = (found.metadata.namespace, found.metadata.name)
        before = self.pods.pop(place, None)
        if new is not None and new.waiting is not None:
            try:
                self.pods[place] = pod_fact(new.waiting)
            except MalformedObjectError as error:
                log.error("Cannot read object", resource="pods", pod=place, error=str(error))
        if before is not None or place in self.pods:
            self.version += 1

    def _made(self) -> World:
        devices = self._devices
        rules = {"devicetaintrules"} if devices.rules_served is not None else set()
        nodes = (one.content for one in self._cluster.nodes.store)
        return World(
            now=surroundings.now().isoformat(timespec="seconds"),
            kubernetes=self._kubernetes,
            nodes={one.node.name: one for one in nodes if isinstance(one, NodeFact)},
            slices=tuple(one.content for one in devices.slices.store if one.content is not None),
            classes=self._classes(),
            rules=tuple(one.rule for one in devices.rules.store),
            # Those whose content cannot be read have no spec.
            claims={one.key: one for one in self._cluster.claims.store if one.spec is not NO_SPEC},
            templates={},
            pods={one.key: one for one in self.pods.values()},
            quotas=(),
            listed=frozenset({one.resource.plural for one in self.informers} | rules),
            unseen=(),
            malformed=(),
        )

    def _classes(self) -> dict[str, api.DeviceClass]:
        return {
            one.value.name: one.value
            for one in self._devices.classes.store
            if one.value is not None
        }


def _claim(document: Document) -> Claim:
    return parse_claim(upgraded("resourceclaims", document))


def _node(document: Document) -> NodeFact:
    return node_fact(reduced("nodes", document))
