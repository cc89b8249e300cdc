"""What keeps one device of a node from a request, in the order in which the search looks."""

from collections.abc import Sequence

from dragoman.allocation.cluster import Cluster
from dragoman.allocation.codes import Code
from dragoman.allocation.pools.nodeselector import NodeSelectorError
from dragoman.allocation.pools.pool import Pool, PoolUsage
from dragoman.allocation.pools.usage import Holder
from dragoman.allocation.reasons.obstacles import DeviceObstacle, Judged, exceeded, judge
from dragoman.allocation.requests.plans import Plan
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.rules.compatibility import Groups
from dragoman.allocation.search.view import NodeView
from dragoman.allocation.timebudget import check
from dragoman.model.amounts import printed
from dragoman.model.device import Content


class DeviceObstacles:
    """The obstacles of the devices of one node, with what claims hold and nothing picked."""

    def __init__(self, view: NodeView, cluster: Cluster) -> None:
        self._view = view
        self._cluster = cluster
        self._features = cluster.profile.features
        self._takers: dict[tuple[Pool, str, str], tuple[str, ...]] = {}

    def of_request(self, request: PreparedRequest, origin: str) -> list[DeviceObstacle | None]:
        """Return the first obstacle of each device by position, None for one that can serve.

        Args:
            request: The request.
            origin: What the reasons call the claim.
        """
        check()
        known = request.judged(origin)
        in_use = self._view.in_use
        # A request for all devices finds out first which ones it means.
        free = request.admin or request.everything
        found: list[DeviceObstacle | None] = []
        for position, content in enumerate(self._view.contents):
            judged: Judged | None = known.get(content)
            if judged is None:
                judged = known[content] = judge(request, content, origin)
                self._cluster.note_entry()
            if in_use[position] and not free:
                # No search evaluates a device in use, but only what suits the pod is worth naming.
                apart = None if judged.selecting else self._place(position)
                one: DeviceObstacle | None = apart or judged.unsuited or self._in_use(position)
            else:
                one = judged.selecting or self._after_selectors(request, judged, position)
            found.append(_with_taints(one, judged.taint) if judged.taint and one else one)
        return found

    def _after_selectors(
        self, request: PreparedRequest, judged: Judged, position: int
    ) -> DeviceObstacle | None:
        found = self._place(position) or judged.capacity
        if found is not None:
            return found
        content, plan = self._view.contents[position], judged.plan
        if plan is None:
            return judged.last
        held = position in self._view.consumed
        if not request.everything:
            found = self._capacity(request, plan, position) if held else None
        else:
            if held and not self._cluster.profile.all_means_exhausted:
                found = self._capacity(request, plan, position)
            if found is None and self._view.in_use[position] and not request.admin:
                found = self._in_use(position)
        if found is None and self._shares_block(request, plan, position):
            found = self._in_use(position)
        found = found or self._operations(position) or judged.gate
        if found is None and content.consumes and not self._shared(plan, position):
            found = self._groups(content, position) or self._counters(plan, position)
        found = found or judged.last
        if found is None and held and request.everything:
            found = self._capacity(request, plan, position)
        return found

    def _place(self, position: int) -> DeviceObstacle | None:
        if not self._view.per_device:
            return None
        try:
            here = self._view.on_node(position)
        except NodeSelectorError as error:
            return DeviceObstacle(Code.NODE_SELECTOR_INVALID, {"message": str(error)})
        if here:
            return None
        return DeviceObstacle(Code.NODE_MISMATCH, {"node": self._view.node.name}, left_out=True)

    def _in_use(self, position: int) -> DeviceObstacle:
        return DeviceObstacle(Code.DEVICE_IN_USE, {"holders": self._holders(position)})

    def _operations(self, position: int) -> DeviceObstacle | None:
        if not self._view.skips or not self._view.skips_node(position):
            return None
        pool, index = self._view.place(position)
        operations = pool.origins[index].skip_node_operations
        return DeviceObstacle(Code.NODE_OPERATIONS, {"operations": operations})

    def _groups(self, content: Content, position: int) -> DeviceObstacle | None:
        if not self._features.CompatibilityGroups:
            return None
        if Groups(self._usage(position)).admit(content) is not None:
            return None
        groups = tuple(sorted({group for item in content.consumes for group in item.groups}))
        return DeviceObstacle(Code.INCOMPATIBLE_GROUPS, {"groups": groups})

    def _counters(self, plan: Plan, position: int) -> DeviceObstacle | None:
        for (name, counter), free in self._usage(position).available.items():
            need = plan.needs.get((name, counter), 0)
            if need > free:
                pool = self._view.pool(position)
                like = pool.counters[name, counter]
                details = {
                    "set": name,
                    "counter": counter,
                    "need": printed(need, like),
                    "free": printed(free, like),
                    "short": printed(need - free, like),
                    "holders": self._takers_of(pool, name, counter),
                }
                return DeviceObstacle(Code.COUNTERS_EXCEEDED, details)
        return None

    def _usage(self, position: int) -> PoolUsage:
        return self._view.pool(position).usage(self._cluster.usage)

    def _takers_of(self, pool: Pool, name: str, counter: str) -> tuple[str, ...]:
        """Return the claims whose devices take from a counter."""
        key = (pool, name, counter)
        if key not in self._takers:
            held = self._cluster.usage.of_pool(pool.id)
            takers = (
                holder
                for item in (*pool.slices, *pool.others)
                for device in item.devices
                if device.name in held and _takes(device.content, name, counter)
                for holder in held[device.name]
            )
            self._takers[key] = _claims(tuple(takers))
        return self._takers[key]

    def _capacity(
        self, request: PreparedRequest, plan: Plan, position: int
    ) -> DeviceObstacle | None:
        held = self._view.consumed[position]
        for (published, amount), (name, need, have) in zip(
            plan.consumed.items(), plan.nanos, strict=True
        ):
            if need + held.get(name, 0) > have:
                content = self._view.contents[position]
                found = exceeded(request, content, published, amount, held.get(name, 0))
                details = {**found.details, "holders": self._holders(position)}
                return found._replace(
                    details=details, left_out=not request.profile.all_means_exhausted
                )
        return None

    def _shares_block(self, request: PreparedRequest, plan: Plan, position: int) -> bool:
        """Tell whether shares of a device are held that is shared no more (1.38)."""
        if plan.shareable or request.admin or not request.profile.shares_block:
            return False
        return position in self._view.consumed or position in self._view.shared

    def _shared(self, plan: Plan, position: int) -> bool:
        """Tell whether a device is shared already, so that its counters are charged."""
        if not plan.shareable:
            return False
        if position in self._view.consumed:
            return True
        return self._cluster.profile.shares_without_capacity and position in self._view.shared

    def _holders(self, position: int) -> tuple[str, ...]:
        return _claims(self._cluster.holders(self._view.id(position)))


def _with_taints(found: DeviceObstacle, taint: DeviceObstacle) -> DeviceObstacle:
    """Add the taints of a device to what a holder takes of it: both keep it away."""
    if "holders" not in found.details:
        return found
    return found._replace(details={**found.details, "taints": taint.details["taints"]})


def _takes(content: Content, name: str, counter: str) -> bool:
    return any(one.counter_set == name and counter in one.counters for one in content.consumes)


def _claims(holders: Sequence[Holder]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(holder.claim for holder in holders))
