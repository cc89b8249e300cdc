"""What keeps a pod from a node beside devices, and goes: room, taints, nodes that are not well."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import TAINT, UNSCHEDULABLE, Load, placed, rejections
from dragoman.diagnosis.nearness import NodeAnswer, taint_key
from dragoman.diagnosis.subject import Subject
from dragoman.diagnosis.wording import CONDITIONS
from dragoman.inventory.facts.world import NodeFact, PodFact, World
from dragoman.model.needs import NodeToleration

PODS = 64
"""Pods of one node that are tried, those that request least first."""
_EVERY_EFFECT = ""


@dataclass
class NodeFilters:
    """The scheduler's filters beside devices, after changes."""

    world: World
    pod: PodFact
    load: Load  # What other pods request; changes remove pods
    extended: Extended
    pods: Mapping[str, Sequence[PodFact]]  # Those that take room, by node
    tolerated: set[str] = field(default_factory=set)  # Keys of taints, in addition
    well: set[str] = field(default_factory=set)  # Nodes that are taken for ready and schedulable

    @classmethod
    def of(cls, world: World, subject: Subject, extended: Extended) -> "NodeFilters":
        """Return the filters as they are now."""
        key = subject.pod.key
        return cls(world, subject.pod, Load.of(world, key), extended, placed(world, key))

    def pass_node(self, name: str) -> bool:
        """Tell whether a pod may run on a node, as far as devices do not matter."""
        node = self.world.nodes[name]
        return not rejections(self._pod(), self._node(node), self.load, self._wanted(node))

    def _wanted(self, node: NodeFact) -> dict[str, int]:
        return self.extended.requests(node)

    def _pod(self) -> PodFact:
        more = tuple(NodeToleration(key, "Exists", "", _EVERY_EFFECT) for key in self.tolerated)
        if not more:
            return self.pod
        needs = replace(self.pod.needs, tolerations=(*self.pod.needs.tolerations, *more))
        return replace(self.pod, needs=needs)

    def _node(self, node: NodeFact) -> NodeFact:
        if node.node.name not in self.well:
            return node
        taints = tuple(one for one in node.room.taints if one.key not in CONDITIONS)
        return replace(node, room=replace(node.room, taints=taints, unschedulable=False))

    @contextmanager
    def without(self, pods: Iterable[PodFact]) -> Iterator[None]:
        """Let pods take no room for the time of a block."""
        gone = [(self._places[one.key], one) for one in pods if one.key in self._places]
        for node, one in gone:
            self.load.remove(node, one.needs.requests)
        try:
            yield
        finally:
            for node, one in gone:
                self.load.add(node, one.needs.requests)

    @cached_property
    def _places(self) -> Mapping[str, str]:
        return {one.key: node for node, pods in self.pods.items() for one in pods}

    @contextmanager
    def accepting(self, node: str, *, key: str = "") -> Iterator[None]:
        """Let the pod tolerate taints of a key, or the node be well, for the time of a block."""
        changed, value = (self.tolerated, key) if key else (self.well, node)
        changed.add(value)
        try:
            yield
        finally:
            changed.discard(value)


def smallest_first(pods: Iterable[PodFact]) -> list[PodFact]:
    """Return pods of a node in the order in which their end is tried."""

    def size(pod: PodFact) -> tuple[int, int, str]:
        wanted = pod.needs.requests
        return wanted.get("cpu", 0), wanted.get("memory", 0), pod.key

    return sorted(pods, key=size)[:PODS]


def pods_in_the_way(filters: NodeFilters, node: NodeAnswer) -> list[PodFact]:
    """Return the pods whose end may make the room that a node lacks; none where it lacks none."""
    if not any(one.wanted for one in node.lacks):
        return []
    return smallest_first(filters.pods.get(node.node, ()))


def node_taints(node: NodeAnswer) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the taints of a node that a toleration in the pod helps with: keys with effects."""
    found: dict[str, list[str]] = {}
    for one in node.lacks:
        key = taint_key(one.what)
        if one.message == TAINT and key not in CONDITIONS:
            found.setdefault(key, []).append(one.what.rpartition(":")[2])
    yield from ((key, tuple(sorted(set(effects)))) for key, effects in found.items())


def is_unwell(node: NodeAnswer) -> bool:
    """Tell whether a node is cordoned, or not ready."""
    return any(
        one.message == UNSCHEDULABLE or (one.message == TAINT and taint_key(one.what) in CONDITIONS)
        for one in node.lacks
    )
