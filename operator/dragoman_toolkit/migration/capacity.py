"""Whether the pods of a node that changes its device source fit on the others until it is back.

Counts alone decide about devices, since the driver publishes nothing of most nodes yet; all other
filters are those of the scheduler.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from dragoman.diagnosis.filters import Load, rejections
from dragoman.inventory.facts.world import NodeFact, PodFact, World

Asking = tuple[PodFact, Counter[str]]
"""A pod with the devices that it asks for."""


@dataclass
class Capacity:
    """A cluster while its nodes change one after the other."""

    nodes: dict[str, NodeFact]  # By name
    load: Load  # What pods request beside devices
    free: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    # Pods that came to a node on the way, with what they ask for
    came: dict[str, list[Asking]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, world: World) -> "Capacity":
        """Return the cluster as it is, without devices."""
        return cls(dict(world.nodes), Load.of(world))

    def move(
        self,
        batch: Collection[str],
        pods: Iterable[Asking],
        then: Iterable[tuple[str, Counter[str]]],
    ) -> int:
        """Take nodes out, place their pods elsewhere, and give the nodes back with new devices.

        Args:
            batch: The nodes.
            pods: Their pods that leave, with the devices that each asks for.
            then: Devices of each node of the batch once it is back.

        Returns:
            How many pods wait until the nodes are back.
        """
        waiting = []
        moved = [(name, one) for name in batch for one in self.came.pop(name, ())]
        leaving = [*((one[0].pod.node_name, one) for one in pods), *moved]
        for name, (pod, asks) in leaving:
            self.load.remove(name, pod.needs.requests)
            if not self._place(pod, asks, batch):
                waiting.append((pod, asks))
        for name, devices in then:
            self.free[name] = Counter(devices)
            if fact := self.nodes.get(name):
                self.nodes[name] = replace(fact, room=replace(fact.room, unschedulable=False))
        for pod, asks in waiting:
            self._place(pod, asks, ())
        return len(waiting)

    def _place(self, pod: PodFact, asks: Counter[str], besides: Collection[str]) -> bool:
        """Place a pod on the first node with room; tell whether there is one."""
        anywhere = replace(pod, pod=replace(pod.pod, node_name=""))
        wanted = {name: one for name, one in pod.needs.requests.items() if name not in asks}
        for name, free in self.free.items():
            if name in besides or any(free[one] < count for one, count in asks.items()):
                continue
            node = self.nodes.get(name)
            if node is None or rejections(anywhere, node, self.load, wanted):
                continue
            free.subtract(asks)
            self.load.add(name, pod.needs.requests)
            self.came[name].append((pod, asks))
            return True
        return False
