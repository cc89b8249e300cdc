"""A cluster while pods are placed in it: what each of them takes."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from dragoman.allocation import Allocated, Claim, Cluster, Node, PoolID, parse_claim
from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.filters import Load
from dragoman.diagnosis.subject import Subject, Wanted, of_pod
from dragoman.inventory.facts.world import NodeFact, PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.model.claim import RESERVED_FOR_LIMIT
from dragoman.model.needs import Resources
from dragoman_base.words import natural


@dataclass(slots=True)
class PlacementRoom:
    """A cluster while copies of pods are placed; the last placements can be undone."""

    inventory: Inventory  # How it was before
    cluster: Cluster  # Devices and what claims hold
    load: Load  # Other resources
    # Claims of pods' own names that were allocated on the way, by `namespace/name`, with the number
    # of their consumers
    shared: dict[str, tuple[Claim, int]] = field(default_factory=dict)
    # Nodes that refused a copy, by the pod that is copied: nothing comes free on the way
    full: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    # Nodes whose devices have not changed since they were looked at, and did not stop the
    # scheduler, by pod
    checked: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    shares: int = 0  # How many shares of devices were made
    _undo: list[Callable[[], None]] = field(default_factory=list)
    _names: list[str] = field(init=False)  # Of all nodes, in the order of people

    def __post_init__(self) -> None:
        """Put the nodes in their order once."""
        self._names = sorted(self.inventory.world.nodes, key=natural)

    @classmethod
    def of(cls, inventory: Inventory) -> Self:
        """Return the cluster as it is."""
        load = Load.of(inventory.world)
        return cls(inventory, cluster_of(inventory), load)

    def nodes(self, pod: PodFact) -> Iterator[NodeFact]:
        """Yield the nodes that have not refused a copy, in the order of their names."""
        full = self.full[pod.key]
        for name in self._names:
            if name not in full:
                yield self.inventory.world.nodes[name]

    def unchecked(self, pod: PodFact) -> Iterator[NodeFact]:
        """Yield the nodes that may stop the scheduler, in the order of their names."""
        checked = self.checked[pod.key]
        for name in [one for one in self._names if one not in checked]:
            yield self.inventory.world.nodes[name]

    @property
    def mark(self) -> int:
        """How much was taken so far, for `undo`."""
        return len(self._undo)

    def undo(self, mark: int) -> None:
        """Undo what was taken since a mark."""
        while len(self._undo) > mark:
            self._undo.pop()()
        self.full.clear()
        self.checked.clear()

    def share_id(self) -> str:
        """Return a new ID for a share of a device."""
        self.shares += 1
        return f"00000000-0000-4000-8000-{self.shares:012x}"

    def subject(self, pod: PodFact, name: str) -> Subject:
        """Return what a copy requests: new claims from templates, its own ones until allocated."""
        found = of_pod(self.inventory.world, pod, planned=True)
        wanted = []
        for one in found.wanted:
            if one.template:
                made = one.claim.named(f"{name}-{one.entry}")
                wanted.append(Wanted(made, one.entry, one.template))
            elif one.claim.key not in self.shared:
                wanted.append(one)
        return replace(found, wanted=tuple(wanted))

    def serves_shared(self, pod: PodFact, node: Node) -> bool:
        """Whether claims that copies share can be used on a node, and by one pod more."""
        for claim, users in self._shared_by(pod):
            selector = claim.held.node_selector if claim.held else None
            try:
                if selector is not None and not matches(selector, node):
                    return False
            except NodeSelectorError:
                return False
            if users >= RESERVED_FOR_LIMIT:
                return False
        return True

    def _shared_by(self, pod: PodFact) -> Iterator[tuple[Claim, int]]:
        """Yield the allocated claims that a pod names, with the number of their consumers."""
        for entry in pod.pod.entries:
            key = f"{pod.pod.metadata.namespace}/{entry.claim_name}"
            fact = self.inventory.world.claims.get(key)
            if key in self.shared:
                yield self.shared[key]
            elif fact is not None and fact.held is not None:
                yield fact, len(fact.consumers)

    def take(self, subject: Subject, outcome: Allocated, node: str, need: Resources) -> list[str]:
        """Allocate the claims of a copy on a node; return its devices."""
        devices: list[str] = []
        for wanted, made in zip(subject.wanted, outcome.allocations, strict=True):
            document = {
                "metadata": {"name": wanted.claim.name, "namespace": wanted.claim.namespace},
                "status": {"allocation": made.document()},
            }
            claim = replace(wanted.claim, held=parse_claim(document).held)
            before = self.cluster.claims.get(claim.key)
            self._undo.append(partial(_restored, self.cluster, claim.key, before))
            self.cluster.put_claim(claim)
            for one in made.devices:
                self._changed(PoolID(one.driver, one.pool), node)
            devices += [f"{one.driver}/{one.pool}/{one.device}" for one in made.devices]
            if not wanted.template and wanted.claim.key in self.inventory.world.claims:
                self._undo.append(partial(self.shared.__delitem__, claim.key))
                self.shared[claim.key] = (claim, 0)
                # Later copies request less: nodes that had too little may do for them.
                self.full.clear()
                self.checked.clear()
        for entry in subject.pod.pod.entries:
            key = f"{subject.pod.pod.metadata.namespace}/{entry.claim_name}"
            if key in self.shared:
                claim, users = self.shared[key]
                self._undo.append(partial(self.shared.__setitem__, key, (claim, users)))
                self.shared[key] = (claim, users + 1)
        self.load.add(node, need)
        self._undo.append(partial(self.load.remove, node, need))
        return devices

    def _changed(self, pool: PoolID, node: str) -> None:
        """Note that devices of a pool were taken, of which other nodes may have a share."""
        local = all(one.node_name == node for one in self.cluster.slices_of(pool))
        for checked in self.checked.values():
            checked.difference_update({node} if local else self.inventory.world.nodes)


def _restored(cluster: Cluster, key: str, before: Claim | None) -> None:
    """Put a claim back as it was before devices were allocated to it."""
    if before is None:
        cluster.remove_claim(key)
    else:
        cluster.put_claim(before)


def named(subject: Subject, name: str) -> Subject:
    """Give the claim for extended resources a name of the copy, so that each keeps its own."""
    wanted = (
        replace(one, claim=one.claim.named(f"{name}-extended-resources"))
        if one.claim.name == EXTENDED
        else one
        for one in subject.wanted
    )
    return replace(subject, wanted=tuple(wanted))
