"""What a right answer says, found without the product: `driver ==`, `==`, `>=`, counts, one match.

A change is a pair: `end` of a pod, `tolerate` of a key by the request, `accept` of a key by the
pod, `heal` of a node, `complete` of a pool.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from tests.answers.worlds import Device, Node, Pool, Request, World

Change = tuple[str, str]
FAR = 4
"""Nodes that three changes do not let serve the pod have no distance."""
NOTHING: frozenset[Change] = frozenset()


def selects(request: Request, device: Device) -> bool:
    """Tell whether class and selectors of a request admit a device."""
    return (
        device.driver == request.driver
        and request.model in ("", device.model)
        and device.memory >= request.memory
    )


def pool_name(pool: Pool) -> str:
    return f"{pool.driver}/{pool.node}"


class Evaluator:
    """Decides on one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.held = {id(one): holder.name for holder in world.holders for one in holder.devices}

    def labelled(self, node: Node) -> bool:
        return self.world.zone in ("", node.zone)

    def runs(self, node: Node, changes: frozenset[Change] = NOTHING) -> bool:
        """Tell whether the pod may run on a node, whatever its devices are."""
        if not self.labelled(node):
            return False
        if node.cordoned and ("heal", node.name) not in changes:
            return False
        if node.taint and ("accept", node.taint) not in changes:
            return False
        taken = sum(
            one.cpu
            for one in self.world.holders
            if one.node == node.name and ("end", one.name) not in changes
        )
        return taken + self.world.cpu <= node.cpu

    def serves(self, node: Node, changes: frozenset[Change] = NOTHING) -> bool:
        """Tell whether a node's devices serve all requests."""
        pools = [
            one
            for one in self.world.pools
            if one.node == node.name and (one.whole or ("complete", pool_name(one)) in changes)
        ]
        return self._serves(pools, changes, free=False)

    def fits(self, node: Node, changes: frozenset[Change] = NOTHING) -> bool:
        return self.runs(node, changes) and self.serves(node, changes)

    def at_best(self, node: Node, requests: tuple[Request, ...] | None = None) -> bool:
        """Tell whether a node could serve the pod with everything free and no other pods."""
        if not self.labelled(node) or self.world.cpu > node.cpu:
            return False
        pools = [one for one in self.world.pools if one.node == node.name]
        return self._serves(pools, NOTHING, free=True, requests=requests)

    def _serves(
        self,
        pools: list[Pool],
        changes: frozenset[Change],
        *,
        free: bool,
        requests: tuple[Request, ...] | None = None,
    ) -> bool:
        left = {
            id(pool): pool.counter
            - sum(one.takes for one in pool.devices if not free and self._is_held(one, changes))
            for pool in pools
        }
        usable = [
            (pool, one)
            for pool in pools
            for one in pool.devices
            if free or not (self._is_held(one, changes) or self._tainted(one, changes))
        ]
        wanted = self.world.requests if requests is None else requests
        slots = [one for one in wanted for _ in range(one.count)]
        return self._fill(slots, usable, set(), left, None)

    def _is_held(self, device: Device, changes: frozenset[Change]) -> bool:
        holder = self.held.get(id(device))
        return holder is not None and ("end", holder) not in changes

    def _tainted(self, device: Device, changes: frozenset[Change]) -> bool:
        return any(("tolerate", key) not in changes for key, _ in device.taints)

    def _fill(
        self,
        slots: list[Request],
        usable: list[tuple[Pool, Device]],
        taken: set[int],
        left: dict[int, int],
        root: str | None,
    ) -> bool:
        if not slots:
            return True
        for pool, device in usable:
            if id(device) in taken or not selects(slots[0], device):
                continue
            if self.world.same_root and root not in (None, device.root):
                continue
            if device.takes > left[id(pool)]:
                continue
            left[id(pool)] -= device.takes
            done = self._fill(slots[1:], usable, {*taken, id(device)}, left, device.root)
            left[id(pool)] += device.takes
            if done:
                return True
        return False

    def changes(self, node: Node) -> list[Change]:
        """Return everything that could be changed about a node."""
        pools = [one for one in self.world.pools if one.node == node.name]
        found: list[Change] = [
            ("end", one.name) for one in self.world.holders if one.node == node.name
        ]
        keys = {key for pool in pools for one in pool.devices for key, _ in one.taints}
        found += [("tolerate", key) for key in sorted(keys)]
        found += [("complete", pool_name(one)) for one in pools if not one.whole]
        found += [("accept", node.taint)] if node.taint else []
        found += [("heal", node.name)] if node.cordoned else []
        return found

    def nearest(self) -> tuple[int, list[Node]]:
        """Return the least number of changes, at most three, and the nodes that need as many."""
        possible = [one for one in self.world.nodes if self.at_best(one)]
        for many in range(FAR):
            found = [
                node
                for node in possible
                if any(
                    self.fits(node, frozenset(some))
                    for some in combinations(self.changes(node), many)
                )
            ]
            if found:
                return many, found
        return FAR, []

    def never(self) -> bool | None:
        """Tell whether the pod can never fit; None where missing slices decide."""
        if any(map(self.at_best, self.world.nodes)):
            return False
        return None if any(map(self.unknown, self.world.nodes)) else True

    def unknown(self, node: Node, unmet: str = "") -> bool:
        """Tell whether missing slices of a node's pools may let it serve the pod.

        Args:
            node: The node.
            unmet: A request that no device meets that is there.
        """
        missing = {
            one.driver for one in self.world.pools if one.node == node.name and not one.whole
        }
        left = tuple(one for one in self.world.requests if one.driver not in missing)
        if len(left) == len(self.world.requests) or unmet in {one.name for one in left}:
            return False
        return self.at_best(node, left)

    def matches(self, device: Device) -> bool:
        return any(selects(one, device) for one in self.world.requests)


def with_models(world: World, model: str) -> tuple[Request, ...]:
    """Return the requests with another model in the first."""
    first, *rest = world.requests
    return (replace(first, model=model), *rest)


def counted(devices: Iterable[Device]) -> Counter[str]:
    return Counter(one.name for one in devices)
