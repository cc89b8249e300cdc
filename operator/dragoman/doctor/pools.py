"""Findings about pools and the drivers that publish them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.pools.pools import InventoryPool, PoolState
from dragoman.inventory.snapshots.documents import REGISTRATION, Document
from dragoman.model.fields import part, parts


def pool_incomplete(facts: DoctorFacts) -> Iterator[Finding]:
    """A pool has fewer slices than it announces, for longer than publishing takes."""
    plugins = Plugins.of(facts)
    for pool in facts.inventory.pools.values():
        if pool.state is PoolState.INCOMPLETE and facts.age(pool.since) >= facts.thresholds.settle:
            yield Finding(
                Id.POOL_INCOMPLETE,
                facts.pool_subject(pool),
                f"{len(pool.slices)} of {pool.wanted} slices of generation {pool.generation} "
                "are published: the scheduler uses none of its devices",
                plugins.advice(facts, pool),
                pool.since,
            )


def pool_invalid(facts: DoctorFacts) -> Iterator[Finding]:
    """A complete pool contradicts itself, so that the scheduler ignores it."""
    for pool in facts.inventory.pools.values():
        if pool.state is PoolState.INVALID:
            yield Finding(
                Id.POOL_INVALID,
                facts.pool_subject(pool),
                f"the scheduler uses none of its devices: {pool.reason}",
                f"update driver {pool.id.driver}, or report this to its vendor",
                pool.since,
            )


def driver_silent(facts: DoctorFacts) -> Iterator[Finding]:
    """Slices of a node stand although no kubelet plugin can prepare their devices.

    The kubelet deletes the slices 30 s after the plugin's connection is lost (kubernetes#141912);
    they stand where the kubelet is gone too, or where the plugin's pod is not ready although its
    process still answers.
    """
    plugins = Plugins.of(facts)
    for pool in facts.inventory.pools.values():
        if pool.node and (found := _silence(facts, plugins, pool)):
            message, remedy, since = found
            about = facts.pool_subject(pool, f"{pool.id.driver} on {pool.node}")
            yield Finding(Id.DRIVER_SILENT, about, message, remedy, since)


def _silence(
    facts: DoctorFacts, plugins: Plugins, pool: InventoryPool
) -> tuple[str, str, str] | None:
    settle = facts.thresholds.settle
    if facts.read("nodes"):
        node = facts.inventory.world.nodes.get(pool.node)
        if node is None:
            if facts.age(pool.since) < settle:
                return None
            remedy = f"kubectl delete resourceslice {pool.slices[0].name}"
            return f"slices remain, but node {pool.node} does not exist", remedy, pool.since
        ready = condition(node.document, "Ready")
        since = str(ready.get("lastTransitionTime") or "")
        if ready and ready.get("status") != "True" and facts.age(since) >= settle:
            message = f"slices are published, but the kubelet of {pool.node} does not answer"
            return message, f"kubectl describe node {pool.node}", since
    if facts.age(pool.since) < settle:
        return None
    return plugins.silence(facts, pool)


@dataclass(frozen=True, slots=True)
class Candidates:
    """DaemonSets that may be a driver's."""

    daemonsets: tuple[tuple[PodFact, ...], ...]  # The pods of each
    by_node: Mapping[str, list[PodFact]]  # All these pods by node

    @classmethod
    def of(cls, daemonsets: tuple[tuple[PodFact, ...], ...]) -> Candidates:
        """Index pods by node."""
        by_node: dict[str, list[PodFact]] = {}
        for pods in daemonsets:
            for pod in pods:
                by_node.setdefault(pod.pod.node_name, []).append(pod)
        return cls(daemonsets, by_node)


@dataclass(frozen=True, slots=True)
class Plugins:
    """DaemonSets whose pods are kubelet plugins, as far as pods show them."""

    pods: Mapping[str, tuple[PodFact, ...]]  # Their pods by UID of the DaemonSet
    _candidates: dict[tuple[str, frozenset[str]], Candidates] = field(
        default_factory=dict, compare=False, repr=False
    )
    """What was found of a driver and the programs that write its slices: it has many pools."""

    @classmethod
    def of(cls, facts: DoctorFacts) -> Plugins:
        """Find the pods that mount the folder in which kubelet plugins register themselves."""
        found: dict[str, list[PodFact]] = {}
        if facts.read("pods"):
            for pod in facts.inventory.world.pods.values():
                owner = pod.pod.metadata.owner
                if owner is not None and owner.kind == "DaemonSet" and _registers(pod):
                    found.setdefault(owner.uid, []).append(pod)
        return cls({uid: tuple(pods) for uid, pods in found.items()})

    def of_driver(self, facts: DoctorFacts, pool: InventoryPool) -> tuple[tuple[PodFact, ...], ...]:
        """Return the pods of each DaemonSet that may be the driver of a pool.

        A DaemonSet is the driver's where a pod mounts a folder of the driver's name, or where its
        name or a container's is that of the program that wrote the slice. Without any such, each
        one that runs where the driver publishes, and nowhere else, may be it.
        """
        return self._of(facts, pool).daemonsets

    def _of(self, facts: DoctorFacts, pool: InventoryPool) -> Candidates:
        key = pool.id.driver, _managers(facts, pool)
        if key not in self._candidates:
            self._candidates[key] = Candidates.of(self._search(facts, *key))
        return self._candidates[key]

    def _search(
        self, facts: DoctorFacts, driver: str, managers: frozenset[str]
    ) -> tuple[tuple[PodFact, ...], ...]:
        named = [
            pods
            for pods in self.pods.values()
            if any(_is_named(pod, driver, managers) for pod in pods)
        ]
        if named:
            return tuple(named)
        nodes = facts.nodes_by_driver.get(driver, frozenset())
        return tuple(
            pods for pods in self.pods.values() if {pod.pod.node_name for pod in pods} <= nodes
        )

    def on_node(self, facts: DoctorFacts, pool: InventoryPool) -> PodFact | None:
        """Return the pod of the driver on the node of a pool."""
        return next(iter(self._of(facts, pool).by_node.get(pool.node, ())), None)

    def ready_on(self, facts: DoctorFacts, pool: InventoryPool, node: str) -> PodFact | None:
        """Return a pod of the driver on any node, a ready one where there is one."""
        return max(self._of(facts, pool).by_node.get(node, ()), key=is_ready, default=None)

    def advice(self, facts: DoctorFacts, pool: InventoryPool) -> str:
        """Say where the reason for an unpublished slice stands."""
        pod = self.on_node(facts, pool) if pool.node else None
        if pod is None:
            return f"see the log of driver {pool.id.driver}" + (pool.node and f" on {pool.node}")
        metadata = pod.pod.metadata
        state = "" if is_ready(pod) else f"driver pod {metadata.name} is not ready; "
        return f"{state}kubectl logs -n {metadata.namespace} {metadata.name}"

    def silence(self, facts: DoctorFacts, pool: InventoryPool) -> tuple[str, str, str] | None:
        """Return what is wrong with the driver's pod on the node of a pool, None if nothing is."""
        candidates = self._of(facts, pool)
        here = candidates.by_node.get(pool.node, ())
        if not candidates.daemonsets or any(is_ready(pod) for pod in here):
            return None
        if not here:
            other = candidates.daemonsets[0][0].pod.metadata
            owner = other.owner.name if other.owner else ""
            remedy = f"kubectl describe daemonset -n {other.namespace} {owner}"
            return f"slices are published, but no plugin pod runs on {pool.node}", remedy, ""
        pod = here[0]
        since = str(condition(pod.document, "Ready").get("lastTransitionTime") or "")
        if facts.age(since or pod.started) < facts.thresholds.settle:
            return None
        metadata = pod.pod.metadata
        name = f"{metadata.namespace}/{metadata.name}"
        message = f"slices are published, but plugin pod {name} is not ready"
        return message, f"kubectl logs -n {metadata.namespace} {metadata.name}", since


def is_ready(pod: PodFact) -> bool:
    """Whether a pod runs and its condition Ready is True."""
    return pod.pod.phase == "Running" and condition(pod.document, "Ready").get("status") == "True"


def condition(document: Document, name: str) -> Document:
    """Return a condition of an object; empty where it has none of that type."""
    found = (one for one in parts(document, "status", "conditions") if one.get("type") == name)
    return next(found, {})


def _host_paths(pod: PodFact) -> Iterator[list[str]]:
    for volume in parts(pod.document, "spec", "volumes"):
        yield str(part(volume, "hostPath").get("path") or "").split("/")


def _registers(pod: PodFact) -> bool:
    return any(REGISTRATION in parts for parts in _host_paths(pod))


def _is_named(pod: PodFact, driver: str, managers: Iterable[str]) -> bool:
    if any(driver in parts for parts in _host_paths(pod)):
        return True
    owner = pod.pod.metadata.owner
    names = {container.name for container in pod.containers}
    return any(
        manager in names or (owner is not None and manager in owner.name) for manager in managers
    )


def _managers(facts: DoctorFacts, pool: InventoryPool) -> frozenset[str]:
    """Return the programs that wrote the slices of a pool."""
    return frozenset(
        str(entry["manager"])
        for one in pool.slices
        for entry in parts(facts.slices.get(one.name, {}), "metadata", "managedFields")
        if entry.get("manager")
    )
