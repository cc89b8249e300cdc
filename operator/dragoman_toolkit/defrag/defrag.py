"""The fewest moves that make room for a pod: a plan, never an action.

A move ends a pod, and its controller creates it again on another node that has room now: no pod
moves for a moved one. Pods leave the node that the target gets. Nothing is checkpointed: the price
of a move is a restart.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations

from dragoman.allocation import Allocated, Cluster, DeviceID
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import NodeFact
from dragoman.preemption.policy import DEFAULT, Policy, PreemptionReason
from dragoman.preemption.preemptionfacts import PreemptionFacts, priority_of
from dragoman.preemption.spending import Spending
from dragoman.preemption.trial import PreemptionTrial
from dragoman_base.words import natural
from dragoman_toolkit.defrag.layout import Layout, Placed, Put
from dragoman_toolkit.defrag.movable import Movable, movable

CALLS = 20_000
"""Searches of one plan: about 10 s."""
TRIES = 2_000
"""Searches for the places of one set of pods."""
SETS = 200_000
"""Sets of pods that are looked at."""

Progress = Callable[[str, int], None]


class DefragOutcome(StrEnum):
    """What a plan of moves says."""

    FITS = "Fits"
    """The target fits as it is."""
    PLANNED = "Planned"
    """It fits after the moves."""
    NONE = "NoMoves"
    """No moves make room."""
    UNKNOWN = "SearchTooLarge"
    """The budget of searches ended before moves were found."""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod that restarts elsewhere."""

    moved: Movable  # The pod
    placed: Placed  # Where it fits, and with which devices


@dataclass(frozen=True, slots=True)
class Moves:
    """A plan of moves."""

    outcome: DefragOutcome  # In one word
    moves: tuple[Move, ...] = ()  # In the order in which they are made
    targets: tuple[Placed, ...] = ()  # Where each target fits afterwards, in their order
    # Whether no plan has fewer moves: every set of pods was looked at that could do
    complete: bool = True
    nodes: int = 0  # How many nodes were looked at
    # Why pods cannot be moved, by node
    reasons: Mapping[str, tuple[PreemptionReason, ...]] = field(default_factory=dict)


def plan(  # noqa: PLR0913 — all but three have defaults
    facts: PreemptionFacts,
    targets: Sequence[Subject],
    cluster: Cluster,
    *,
    policy: Policy = DEFAULT,
    spending: Spending | None = None,
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
) -> Moves:
    """Find the fewest moves after which all targets fit at once.

    For several targets the moves of each are the fewest after those of the targets before: together
    they may be more than needed, and the plan is not called complete.

    Args:
        facts: The cluster.
        targets: Pods that wait, or copies of one that is not created yet.
        cluster: The same facts as the allocator has them; it is as before when this returns.
        policy: Which pods are never moved.
        spending: The budget of all searches.
        progress: Called with "sets" and how many sets of pods were looked at.
    """
    spending = spending or Spending(calls=CALLS)
    priority = max((priority_of(one.pod.document) for one in targets), default=0)
    layout = Layout(facts, cluster, facts.load(priority), spending)
    search = _DefragSearch(layout, priority, policy, progress)
    try:
        return search.all(targets)
    finally:
        search.undo()


@dataclass(slots=True)
class _DefragSearch:
    layout: Layout
    priority: int
    policy: Policy
    progress: Progress
    complete: bool = True
    looked: int = 0
    _moved: dict[str, Movable] = field(default_factory=dict)
    _kept: ExitStack = field(default_factory=ExitStack)

    def all(self, targets: Sequence[Subject]) -> Moves:
        """Find moves for one target after the other."""
        moves: list[Move] = []
        places: list[Placed] = []
        for target in targets:
            found = self.one(target)
            if found.outcome not in (DefragOutcome.FITS, DefragOutcome.PLANNED):
                return found
            if moves and found.moves:
                self.complete = False
            moves += found.moves
            places += found.targets
            if len(targets) > 1:
                self._keep(target, found)
        return Moves(
            DefragOutcome.PLANNED if moves else DefragOutcome.FITS,
            tuple(moves),
            tuple(places),
            complete=self.complete and not self.layout.spending.exceeded,
            nodes=len(self.layout.facts.world.nodes),
        )

    def one(self, target: Subject) -> Moves:
        """Find the fewest moves for one target."""
        trial = self.layout.trial(target)
        world = self.layout.facts.world
        nodes = [world.nodes[name] for name in sorted(world.nodes, key=natural)]
        for node in nodes:
            outcome = trial.fits(node)
            if outcome is not None:
                with self.layout.placed(trial, node, outcome) as placed:
                    return Moves(DefragOutcome.FITS, targets=(placed,))
        pods, reasons = self._movable(nodes)
        most = max(map(len, pods.values()), default=0)
        for size in range(1, most + 1):
            for node, chosen in self._sets(trial, pods, size):
                made = self._try(trial, node, chosen)
                if made is not None:
                    # A search that did not end may have hidden a plan with fewer moves.
                    sure = self.complete and not self.layout.spending.exceeded
                    return replace(made, complete=sure)
                if self.layout.spending.empty:
                    self.complete = False
                    break
            if self.layout.spending.empty:
                break
        unsure = not self.complete or self.layout.spending.exceeded
        return Moves(
            DefragOutcome.UNKNOWN if unsure else DefragOutcome.NONE,
            complete=not unsure,
            nodes=len(nodes),
            reasons=reasons,
        )

    def _movable(
        self, nodes: Sequence[NodeFact]
    ) -> tuple[dict[str, tuple[Movable, ...]], dict[str, tuple[PreemptionReason, ...]]]:
        facts = self.layout.facts
        pods: dict[str, tuple[Movable, ...]] = {}
        reasons: dict[str, tuple[PreemptionReason, ...]] = {}
        for node in nodes:
            name = node.node.name
            found = [
                movable(facts, pod, self.priority, self.policy)
                for pod in facts.by_node.get(name, ())
                if pod.uid not in self._moved and not pod.ending
            ]
            pods[name] = tuple(one for one in found if isinstance(one, Movable))
            reasons[name] = tuple(one for one in found if isinstance(one, PreemptionReason))
        return pods, reasons

    def _sets(
        self, trial: PreemptionTrial, pods: Mapping[str, tuple[Movable, ...]], size: int
    ) -> Iterator[tuple[NodeFact, tuple[Movable, ...]]]:
        """Yield sets of pods of one node that may make room, the cheapest first."""
        found = []
        for name, here in pods.items():
            node = self.layout.facts.world.nodes[name]
            if len(here) < size or not self._room_without(trial, node, here):
                continue
            missing = self._missing(trial, node)
            for chosen in combinations(here, size):
                self.looked += 1
                if self.looked > SETS:
                    self.complete = False
                    break
                if sum(len(one.devices) for one in chosen) >= missing:
                    found.append((_cost(chosen), name, chosen))
        self.progress("sets", self.looked)
        for _, name, chosen in sorted(found, key=lambda one: (one[0], natural(one[1]))):
            yield self.layout.facts.world.nodes[name], chosen

    def _room_without(
        self, trial: PreemptionTrial, node: NodeFact, pods: tuple[Movable, ...]
    ) -> bool:
        with self._without(pods):
            return trial.fits(node) is not None

    def _missing(self, trial: PreemptionTrial, node: NodeFact) -> int:
        """Return how many devices at least must come free; counters and shares may need more."""
        need = 0
        for claim in trial.extended.subject(node).claims:
            for request in claim.spec.requests:
                exact = [one for one in request.alternatives if one.mode != "All"]
                if len(exact) == len(request.alternatives) and not any(
                    one.admin_access for one in exact
                ):
                    need += min(one.count for one in exact)
        return need - _free(self.layout.cluster, node.node.name)

    def _without(self, pods: Sequence[Movable]) -> AbstractContextManager[None]:
        claims = tuple(claim for one in pods for claim in one.claims)
        return self.layout.without(tuple(one.pod for one in pods), claims)

    def _try(
        self, trial: PreemptionTrial, node: NodeFact, chosen: tuple[Movable, ...]
    ) -> Moves | None:
        """Return the moves of these pods, None where the target or one of them finds no place."""
        with self._without(chosen):
            outcome = trial.fits(node)
            if outcome is None:
                return None
            with self.layout.placed(trial, node, outcome) as target:
                places = _Places(self.layout, node.node.name)
                order = sorted(chosen, key=lambda one: one.cost, reverse=True)
                moves = places.find(tuple(order))
                self.complete = self.complete and (moves is not None or places.tries < TRIES)
                return None if moves is None else Moves(DefragOutcome.PLANNED, moves, (target,))

    def _keep(self, target: Subject, found: Moves) -> None:
        """Leave moved pods and the target in their places, for the next target."""
        for move in found.moves:
            self._moved[move.moved.pod.uid] = move.moved
            self._kept.enter_context(self._without((move.moved,)))
        again = [(self.layout.again(one.moved.pod), one.placed) for one in found.moves]
        for subject, placed in (*again, (target, found.targets[0])):
            trial = self.layout.trial(subject)
            node = self.layout.facts.world.nodes[placed.node]
            outcome = trial.fits(node)
            if outcome is None:
                self.complete = False
                continue
            self._kept.enter_context(self.layout.placed(trial, node, outcome))

    def undo(self) -> None:
        """Put everything back that was kept."""
        self._kept.close()


@dataclass(slots=True)
class _Places:
    """Looks for a place for each of some pods, on other nodes than the target's.

    Pods are placed in the given order where that works, else in any order: what the allocator
    gives to one may be what another needs.
    """

    layout: Layout
    left: str
    tries: int = 0
    _failed: set[object] = field(default_factory=set)

    def find(
        self, pods: tuple[Movable, ...], made: tuple[tuple[Movable, Put], ...] = ()
    ) -> tuple[Move, ...] | None:
        """Return moves for pods after those that are made; None where one finds no place."""
        if not pods:
            return tuple(Move(one, put.placed) for one, put in made)
        state = frozenset((one.pod.uid, put.placed) for one, put in made)
        if state in self._failed:
            return None
        for one in pods:
            rest = tuple(other for other in pods if other is not one)
            for put in self._placed(one):
                try:
                    found = self.find(rest, (*made, (one, put)))
                finally:
                    self.layout.take_back(put)
                if found is not None or self.tries >= TRIES:
                    return found
        self._failed.add(state)
        return None

    def _placed(self, one: Movable) -> Iterator[Put]:
        """Place a pod on each node that has room, one after the other: on the fullest first."""
        subject = self.layout.again(one.pod)
        if subject.stopped:
            return
        trial = self.layout.trial(subject)
        nodes = self.layout.facts.world.nodes
        names = [name for name in nodes if name != self.left]
        names.sort(key=lambda name: (_free(self.layout.cluster, name), natural(name)))
        for name in names:
            node = nodes[name]
            self.tries += 1
            if self.tries >= TRIES:
                return
            outcome = trial.fits(node)
            if isinstance(outcome, Allocated):
                yield self.layout.put(trial, node, outcome)


def _free(cluster: Cluster, node: str) -> int:
    """Count the devices of a node that a claim may still get, as far as holders say."""
    return sum(
        device.content.shareable or not cluster.holders(DeviceID(*pool.id, device.name))
        for pool in cluster.node_pools(node).pools
        for device in pool.devices
    )


def _cost(pods: Sequence[Movable]) -> tuple[int, int, tuple[str, ...]]:
    return (
        sum(len(one.devices) for one in pods),
        sum(one.pod.priority for one in pods),
        tuple(one.cost[2] for one in pods),
    )
