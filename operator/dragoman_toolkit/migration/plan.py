"""The way of each node from device plug-ins to DRA, or back, in an order that keeps pods running.

At no moment has a node two sources of one resource. Nothing is remembered but the labels of nodes
(see `steps`), so that a plan can be made again at any time and shows what is left.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dragoman.diagnosis.filters import placed
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import DeviceState, Inventory
from dragoman.inventory.snapshots.documents import MIRROR, Document
from dragoman.maintenance.budgets import DisruptionBudget, Protected, predict
from dragoman.model.deviceid import PoolID
from dragoman.model.fields import MalformedObjectError, part
from dragoman_base.words import listed, natural
from dragoman_toolkit.migration import steps
from dragoman_toolkit.migration.asks import asked_of, top_owner
from dragoman_toolkit.migration.capacity import Capacity
from dragoman_toolkit.migration.progress import Leaving, NodeState, Place
from dragoman_toolkit.migration.sources import NodeSource, Resource, ResourceNode, count
from dragoman_toolkit.migration.steps import SOURCE, Amount, NodeSteps, Options, Step


@dataclass(frozen=True)
class NodePlan:
    """What is left to do on a node."""

    name: str
    state: NodeState
    amounts: tuple[Amount, ...]  # Resources that move
    now: Mapping[str, int]  # What pods can get of each today
    devices: Mapping[str, int]  # Devices of complete pools that the class of each selects
    held: int  # Devices of these classes that claims hold
    leaves: tuple[Leaving, ...]
    steps: tuple[Step, ...]  # Empty for a node that is done, and for one that something stops
    stops: tuple[str, ...] = ()  # What stops it
    batch: int = 0  # From 1; 0 for a node that is done
    waits: int = 0  # Pods of its batch that fit nowhere until it is back

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.steps and not self.stops


@dataclass(frozen=True)
class Plan:
    """All nodes."""

    back: bool
    nodes: tuple[NodePlan, ...]  # In the order of moving; done ones at the end
    notes: tuple[str, ...] = field(default=())

    @property
    def left(self) -> tuple[NodePlan, ...]:
        """The nodes that are not done."""
        return tuple(one for one in self.nodes if not one.done)

    @property
    def stopped(self) -> bool:
        """Whether something has to be decided or changed before all nodes can move."""
        blocked = any(pod.budget == "blocked" for one in self.nodes for pod in one.leaves)
        return blocked or any(one.stops for one in self.nodes)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a plan is asked for."""

    back: bool = False  # Whether nodes go back to their plug-ins
    only: frozenset[str] = frozenset()  # Names of nodes; all of them without
    batch: int = 1  # How many nodes move at once
    unmanaged: bool = False  # Whether pods that nothing makes again may be deleted
    options: Options = field(default=Options())  # Of the commands of its steps


def plan(
    inventory: Inventory, nodes: Iterable[Document], resources: Iterable[Resource], wanted: Wanted
) -> Plan:
    """Compute a plan.

    Args:
        inventory: Of the cluster.
        nodes: Reduced Nodes.
        resources: That move; those that no device stands for stay on their plug-ins.
        wanted: What is asked for.
    """
    moving = [one for one in resources if movable(one)]
    return _Planner(inventory, {_name(one): one for one in nodes}, moving, wanted).plan()


def movable(resource: Resource) -> bool:
    """Whether devices can serve a resource."""
    return resource.serving is not None or resource.counterpart.known


def _name(node: Document) -> str:
    return str(part(node, "metadata").get("name") or "")


@dataclass(frozen=True)
class _Planner:
    inventory: Inventory
    nodes: Mapping[str, Document]
    resources: Sequence[Resource]
    wanted: Wanted

    def plan(self) -> Plan:
        ill: list[str] = []
        found = []
        for name in self.nodes:
            if self.wanted.only and name not in self.wanted.only:
                continue
            if one := self._node(name):
                if not one.done and not self._ready(name):
                    ill.append(name)
                else:
                    found.append(one)
        found.sort(key=self._order)
        ordered = self._batched(found)
        are = "is not Ready: it is" if len(ill) == 1 else "are not Ready: they are"
        notes = (f"{listed(ill, 5)} {are} left out",) if ill else ()
        return Plan(self.wanted.back, tuple(ordered), notes)

    def _ready(self, name: str) -> bool:
        conditions = part(self.nodes[name], "status").get("conditions")
        if not isinstance(conditions, list):
            return True
        ready = [one for one in conditions if isinstance(one, dict) and one.get("type") == "Ready"]
        return all(one.get("status") == "True" for one in ready)

    @staticmethod
    def _order(one: NodePlan) -> tuple[Any, ...]:
        started = one.state not in (NodeState.PLUGIN, NodeState.STALE, NodeState.DRA)
        begun = started or (not one.done and not any(s.does == "cordon" for s in one.steps))
        blocked = any(pod.budget == "blocked" for pod in one.leaves)
        return (
            one.done,
            bool(one.stops),
            one.state is not NodeState.BOTH,
            not begun,
            blocked,
            len(one.leaves),
            natural(one.name),
        )

    def _node(self, name: str) -> NodePlan | None:
        """Return what is left on a node; None for one without these resources."""
        labels = part(self.nodes[name], "metadata", "labels")
        label = str(labels.get(SOURCE) or "")
        rows = self._rows.get(name, {})
        kept = {
            one.name: found for one in self.resources if (found := steps.kept(one.name, labels))
        }
        if not rows and (label in ("", "plugin") and not kept):
            return None
        amounts = tuple(
            self._amount(one, rows.get(one.name), kept.get(one.name))
            for one in self.resources
            if one.name in rows or one.name in kept
        )
        state = self._state(label, rows)
        leaves = self._leaving(name)
        drained = any(not one.daemon for one in leaves)
        bare = self._bare.get(name, ()) if drained else ()
        stops = tuple(self._stops(leaves, bare))
        usable = {one.resource: self._usable[one.resource][name] for one in amounts}
        status, spec = part(self.nodes[name], "status"), part(self.nodes[name], "spec")
        place = Place(
            name,
            state,
            label,
            amounts,
            usable,
            {one.resource: count(part(status, "allocatable"), one.resource) for one in amounts},
            cordoned=bool(spec.get("unschedulable")),
        )
        force = self.wanted.unmanaged and bool(bare or any(one.unmanaged for one in leaves))
        left = tuple(self._steps(place, leaves, force=force))
        done = not left
        # The first step of a node with both sources makes it safe, whatever stops the others.
        unsafe = state is NodeState.BOTH
        return NodePlan(
            name,
            state,
            amounts,
            {name: rows[name].now if name in rows else 0 for name in (a.resource for a in amounts)},
            usable,
            len(self._held.get(name, ())),
            () if done else leaves,
            left if done or not stops else left[:1] if unsafe else (),
            () if done else stops,
        )

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[str, ResourceNode]]:
        """The resources of each node."""
        found: defaultdict[str, dict[str, ResourceNode]] = defaultdict(dict)
        for resource in self.resources:
            for one in resource.nodes:
                found[one.name][resource.name] = one
        return found

    def _amount(
        self, resource: Resource, row: ResourceNode | None, kept: tuple[int, int] | None
    ) -> Amount:
        """Return the devices of a resource on a node: as the node says now, else as its label."""
        driver = resource.counterpart.driver
        if not driver and row is not None and (found := self._drivers.get(resource.name)):
            driver = found
        counted = row is not None and row.source in (NodeSource.PLUGIN, NodeSource.BOTH)
        if row is not None and counted and not (self.wanted.back and kept):
            return Amount(resource.name, row.now // row.replicas, row.replicas, driver)
        if kept:
            return Amount(resource.name, *kept, driver=driver)
        devices = row.then if row is not None else 0
        return Amount(resource.name, devices, row.replicas if row else 1, driver, told=False)

    @cached_property
    def _drivers(self) -> Mapping[str, str]:
        """A driver whose devices the class of each resource selects."""
        return {name: min(found) for name, found in self._selected[2].items() if found}

    @staticmethod
    def _state(label: str, rows: Mapping[str, ResourceNode]) -> NodeState:
        sources = {one.source for one in rows.values()}
        if NodeSource.BOTH in sources:
            return NodeState.BOTH
        # Right after the label, the last source is still there.
        if label == "none" or not sources:
            return NodeState.NONE
        if sources == {NodeSource.STALE}:
            return NodeState.NONE if label == "dra" else NodeState.STALE
        sources -= {NodeSource.STALE}
        if len(sources) > 1:
            return NodeState.MIXED
        return NodeState.DRA if sources == {NodeSource.DRA} else NodeState.PLUGIN

    def _steps(self, at: "Place", leaves: Sequence[Leaving], *, force: bool) -> Iterator[Step]:
        labels = part(self.nodes[at.name], "metadata", "labels")
        maker = NodeSteps(
            at.name,
            at.amounts,
            operated=steps.OPERATOR in labels,
            evicts=any(not one.daemon for one in leaves),
            daemons=[one.pod.key for one in leaves if one.daemon],
            unmanaged=force,
            unsafe=at.state is NodeState.BOTH,
            options=self.wanted.options,
        )
        if self.wanted.back:
            first = at.first_back(held=bool(self._held.get(at.name)))
            return maker.back(first) if first else iter(())
        first = at.first(left=bool(leaves))
        return maker.forward(first) if first else iter(())

    # Devices.

    @property
    def _usable(self) -> Mapping[str, Counter[str]]:
        """Devices of complete pools that the class of each resource selects, by node."""
        return self._selected[0]

    @property
    def _held(self) -> Mapping[str, Collection[str]]:
        """The claims that hold such devices, as `namespace/name`, once for each device, by node."""
        return self._selected[1]

    @cached_property
    def _selected(
        self,
    ) -> tuple[dict[str, Counter[str]], dict[str, list[str]], dict[str, set[str]]]:
        usable: dict[str, Counter[str]] = {}
        held: defaultdict[str, list[str]] = defaultdict(list)
        drivers: defaultdict[str, set[str]] = defaultdict(set)
        for resource in self.resources:
            usable[resource.name] = Counter()
            for device in resource.devices:
                drivers[resource.name].add(device.id.driver)
                if self._complete(device.id.driver, device.id.pool, device.state):
                    usable[resource.name][device.node] += 1
                held[device.node] += [one.claim.key for one in device.owned]
        return usable, held, drivers

    def _complete(self, driver: str, pool: str, state: DeviceState) -> bool:
        if state is DeviceState.UNUSABLE:
            return False
        # A pool can lose a slice while a claim holds its devices.
        found = self.inventory.pools.get(PoolID(driver, pool))
        return found is None or found.usable

    # Pods.

    def _leaving(self, name: str) -> tuple[Leaving, ...]:
        """Return the pods of a node that have to leave it, with what their budgets say."""
        found = sorted(self._pods_of.get(name, ()), key=lambda one: one.pod.key)
        protected = []
        for one in found:
            try:
                protected.append(Protected.parse(one.pod.document))
            except MalformedObjectError:
                continue
        refused = predict(protected, self._budgets)
        return tuple(
            replace(one, budget=self._budget(one, refused.get(one.pod.key, ""))) for one in found
        )

    def _budget(self, one: Leaving, refusal: str) -> str:
        if refusal:
            return "blocked"
        try:
            labels = Protected.parse(one.pod.document).labels
        except MalformedObjectError:
            return "none"
        namespace = one.pod.pod.metadata.namespace
        found = any(
            budget.namespace == namespace and budget.selector and budget.selector.matches(labels)
            for budget in self._budgets
        )
        return "ok" if found else "none"

    @cached_property
    def _budgets(self) -> tuple[DisruptionBudget, ...]:
        found = []
        for one in self.inventory.world.budgets:
            try:
                found.append(DisruptionBudget.parse(one))
            except MalformedObjectError:
                continue
        return tuple(found)

    @cached_property
    def _pods_of(self) -> Mapping[str, list[Leaving]]:
        names = {one.name for one in self.resources}
        claims = {key for found in self._held.values() for key in found}
        found: defaultdict[str, list[Leaving]] = defaultdict(list)
        for node, pods in placed(self.inventory.world).items():
            for pod in pods:
                if MIRROR in part(pod.document, "metadata", "annotations"):
                    continue
                asks = Counter({k: sum(v) for k, v in asked_of(pod.document).items() if k in names})
                explicit = self._explicit(pod, claims)
                if asks or explicit:
                    kind, owner = top_owner(pod.document)
                    found[node].append(Leaving(pod, kind, owner, asks, explicit=explicit))
        return found

    @cached_property
    def _bare(self) -> Mapping[str, list[str]]:
        """Pods without these resources, of each node, for which `kubectl drain` wants --force."""
        found: dict[str, list[str]] = {}
        for node, pods in placed(self.inventory.world).items():
            leaving = {one.pod.key for one in self._pods_of.get(node, ())}
            found[node] = [
                one.key
                for one in sorted(pods, key=lambda one: one.key)
                if one.key not in leaving
                and MIRROR not in part(one.document, "metadata", "annotations")
                and top_owner(one.document)[0] == "Pod"
            ]
        return found

    @staticmethod
    def _explicit(pod: PodFact, claims: Collection[str]) -> bool:
        """Whether claims of a pod's own hold devices of the resources."""
        namespace = pod.pod.metadata.namespace
        own = (pod.pod.published_name(entry) for entry in pod.pod.entries)
        return any(f"{namespace}/{name}" in claims for name in own if name)

    def _stops(self, leaves: Iterable[Leaving], bare: Iterable[str]) -> Iterator[str]:
        for key in bare if not self.wanted.unmanaged else ():
            yield f"kubectl drain rejects {key}: no controller (--delete-unmanaged deletes it)"
        for one in leaves:
            key = one.pod.key
            if one.unmanaged and not self.wanted.unmanaged:
                yield f"does not come back: {key} has no controller (--delete-unmanaged deletes it)"
            if self.wanted.back and one.explicit:
                yield f"cannot go back: {key} has claims of its own, which no plug-in serves"

    # Order.

    def _batched(self, found: Sequence[NodePlan]) -> Iterator[NodePlan]:
        """Yield nodes with their batches, and how many pods wait in each."""
        capacity = self._capacity()
        going = [one for one in found if one.steps]
        for start in range(0, len(going), self.wanted.batch):
            batch = going[start : start + self.wanted.batch]
            waits = capacity.move(
                {one.name for one in batch},
                [(pod.pod, pod.asks) for one in batch for pod in one.leaves if not pod.daemon],
                [(one.name, self._after(one)) for one in batch],
            )
            number = start // self.wanted.batch + 1
            yield from (replace(one, batch=number, waits=waits) for one in batch)
        yield from (one for one in found if not one.steps)

    def _after(self, node: NodePlan) -> Counter[str]:
        """Return what pods can get of a node once it is back."""
        return Counter({one.resource: one.then(back=self.wanted.back) for one in node.amounts})

    def _capacity(self) -> Capacity:
        capacity = Capacity.of(self.inventory.world)
        for name, rows in self._rows.items():
            free = Counter({resource: row.now for resource, row in rows.items()})
            for one in self._pods_of.get(name, ()):
                free.subtract(one.asks)
            capacity.free[name] = free
        return capacity
