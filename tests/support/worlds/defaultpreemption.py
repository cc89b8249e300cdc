"""Default preemption of kube-scheduler 1.34 to 1.38 for pods that need units of one resource.

Literal, step by step, without claims: what plans are compared with. The same worlds are given to a
real scheduler in tests/e2e/preemption.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from dragoman_base.versions import parse

EPOCH = 1_790_000_000
PRIORITIES = (0, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Pod:
    """A pod that holds units of its node; `cpu` counts tenths of a core."""

    name: str
    node: str
    priority: int
    start: int
    units: int
    labels: tuple[tuple[str, str], ...] = ()
    cpu: int = 0


@dataclass(frozen=True)
class Budget:
    """A PodDisruptionBudget with one label."""

    name: str
    selector: tuple[str, str]
    allowed: int


@dataclass(frozen=True)
class World:
    """Nodes with units and cpu, what is on them, and a pod that needs some."""

    rooms: Mapping[str, int]
    pods: Sequence[Pod]
    budgets: Sequence[Budget]
    need: int
    priority: int
    cores: Mapping[str, int]
    cpu: int = 0

    @property
    def fits(self) -> bool:
        """Whether the pod fits as it is."""
        return any(_room(self, node, self.on(node)) for node in self.rooms)

    def on(self, node: str) -> list[Pod]:
        """Return the pods of a node."""
        return [pod for pod in self.pods if pod.node == node]


@dataclass(frozen=True)
class Candidate:
    """A node, and who would end."""

    node: str
    victims: Sequence[Pod]
    violations: int


def _room(world: World, node: str, pods: Sequence[Pod]) -> bool:
    units = sum(pod.units for pod in pods) + world.need <= world.rooms[node]
    return units and sum(pod.cpu for pod in pods) + world.cpu <= world.cores[node]


def _important(pod: Pod) -> tuple[int, int]:
    return (-pod.priority, pod.start)


def split(
    pods: Sequence[Pod], budgets: Sequence[Budget], *, first: bool = False
) -> tuple[list[Pod], list[Pod]]:
    """filterPodsWithPDBViolation; 1.37 and later count to the `first` violated budget only."""
    left = {one.name: one.allowed for one in budgets}
    violating: list[Pod] = []
    fine: list[Pod] = []
    for pod in pods:
        violated = False
        for one in budgets:
            if one.selector in pod.labels:
                left[one.name] -= 1
                violated |= left[one.name] < 0
                if violated and first:
                    break
        (violating if violated else fine).append(pod)
    return violating, fine


def candidate(
    world: World, node: str, kept: Callable[[Pod], bool], *, first: bool = False
) -> Candidate | None:
    """SelectVictimsOnNode; `kept` pods stay as if they were more important."""
    pods = world.on(node)
    lower = [pod for pod in pods if pod.priority < world.priority and not kept(pod)]
    staying = [pod for pod in pods if pod not in lower]
    if not lower or not _room(world, node, staying):
        return None
    lower.sort(key=_important)
    violating, fine = split(lower, world.budgets, first=first)
    victims, violations = [], 0
    for group in (violating, fine):
        for pod in group:
            if _room(world, node, [*staying, pod]):
                staying.append(pod)
            else:
                victims.append(pod)
                violations += group is violating
    return Candidate(node, sorted(victims, key=_important), violations) if victims else None


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """pickOneNodeForPreemption: what is left after five criteria."""

    def earliest(one: Candidate) -> int:
        top = max(pod.priority for pod in one.victims)
        return min(pod.start for pod in one.victims if pod.priority == top)

    scores: list[Callable[[Candidate], int]] = [
        lambda one: -one.violations,
        lambda one: -one.victims[0].priority,
        lambda one: -sum(pod.priority + 2**31 for pod in one.victims),
        lambda one: -len(one.victims),
        earliest,
    ]
    left = [*candidates]
    for score in scores:
        if len(left) > 1:
            top = max(map(score, left))
            left = [one for one in left if score(one) == top]
    return left


def decide(
    world: World, *, respectful: bool = False, kubernetes: str = "1.36"
) -> list[tuple[str, frozenset[str]]]:
    """Return the nodes and victims that may be chosen; none where preemption does not help.

    Args:
        world: The cluster.
        respectful: Whether the Eviction API allows all evictions, as plans require: no budget is
            exceeded by the victims, and no victim has several budgets.
        kubernetes: The minor version; from 1.37 on the order of budgets matters, which is random.
    """

    def kept(pod: Pod) -> bool:
        return respectful and sum(one.selector in pod.labels for one in world.budgets) > 1

    first = parse(kubernetes) >= (1, 37)
    chosen: dict[tuple[str, frozenset[str]], None] = {}
    for budgets in permutations(world.budgets) if first else [world.budgets]:
        given = replace(world, budgets=budgets)
        found = [one for node in world.rooms if (one := candidate(given, node, kept, first=first))]
        if respectful:
            found = [one for one in found if all(_allowed(one, each) for each in budgets)]
        for one in best(found):
            chosen[one.node, frozenset(pod.name for pod in one.victims)] = None
    return [*chosen]


def _allowed(one: Candidate, budget: Budget) -> bool:
    return sum(budget.selector in pod.labels for pod in one.victims) <= budget.allowed


def random_world(rng: random.Random, prefix: str = "", *, cpu: bool = False) -> World:
    """Make a world of 1 to 6 nodes with 1 to 8 units."""
    rooms = {f"{prefix}n{index}": rng.randint(1, 8) for index in range(rng.randint(1, 6))}
    starts = rng.sample(range(10_000), 200)
    pods: list[Pod] = []
    cores = {node: rng.randint(8, 20) for node in rooms}
    for node, room in rooms.items():
        left, core = room, cores[node]
        while left > 0 and core > 0 and rng.random() < 0.95:
            units, share = rng.randint(1, min(4, left)), rng.randint(1, min(4, core)) if cpu else 0
            left, core = left - units, core - share
            labels: tuple[tuple[str, str], ...] = ()
            if rng.random() < 0.7:
                labels = (("app", rng.choice("abc")), ("tier", rng.choice("xy")))
            made: dict[str, Any] = {"priority": rng.choice(PRIORITIES), "labels": labels}
            name = f"{prefix}p{len(pods)}"
            pods.append(
                Pod(name, node, start=EPOCH + starts[len(pods)], units=units, cpu=share, **made)
            )
    budgets = []
    for index in range(rng.randint(0, 3)):
        key = rng.choice(["app", "tier"])
        value = rng.choice("abc" if key == "app" else "xy")
        budgets.append(Budget(f"{prefix}b{index}", (key, value), rng.randint(0, 2)))
    need, priority = rng.randint(1, 8), rng.choice([20, 100, 100, 200])
    return World(rooms, pods, budgets, need, priority, cores, rng.randint(1, 6) if cpu else 0)
