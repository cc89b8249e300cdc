"""The reasons of requests: each is held against each device alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dragoman.allocation.cluster import Cluster
from dragoman.allocation.facts.amounts import printed
from dragoman.allocation.facts.objects import Content, DeviceID
from dragoman.allocation.pools.nodeselector import NodeSelectorError
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.pools.taints import untolerated
from dragoman.allocation.pools.usage import Holder
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.reasons.codes import Code, Reason
from dragoman.allocation.reasons.obstacles import Details, Obstacle, exceeded, rejected, too_little
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import PLACE, Prepared, named
from dragoman.allocation.rules.compatibility import Groups
from dragoman.allocation.search.view import NodeView

_LEFT_OUT = frozenset(
    {
        Code.SELECTOR_REJECTED,
        Code.NODE_MISMATCH,
        Code.CAPACITY_UNKNOWN,
        Code.CAPACITY_POLICY,
    }
)
"""What takes a device out of a request for all devices; anything else makes the request fail."""


class RequestReasons:
    """The reasons of all requests of a pod on one node.

    Attributes:
        served: After `reasons`: whether enough devices pass for every request.
    """

    def __init__(
        self, prepared: Prepared, view: NodeView, cluster: Cluster, names: Sequence[str]
    ) -> None:
        self._names = names
        self._prepared = prepared
        self._view = view
        self._cluster = cluster
        self._features = cluster.profile.features
        self.served = bool(prepared.claims)
        self._known_takers: dict[tuple[Pool, str, str], tuple[str, ...]] = {}
        self._known: dict[tuple[PreparedRequest, Content], Obstacle | None] = {}

    def reasons(self) -> Iterator[Reason]:
        """Yield the reasons of every request, and note whether each could be served alone."""
        for top in (one for requests in self._prepared.requests for one in requests):
            enough = False
            for request in top.alternatives:
                usable, lost = 0, False
                for reason in self._of_request(request):
                    if reason is None:
                        usable += 1
                    else:
                        lost = lost or reason.code not in _LEFT_OUT
                        yield reason
                all_served = usable > 0 and not lost
                served = all_served if request.everything else usable >= request.exact.count
                if not served:
                    yield self._too_few(request, usable)
                enough = enough or served
            self.served = self.served and enough

    def _too_few(self, request: PreparedRequest, usable: int) -> Reason:
        wanted = "all" if request.everything else request.exact.count
        details = {"wanted": wanted, "usable": usable, "seen": len(self._view.contents)}
        claim = self._name(request.place)
        return Reason(Code.NOT_ENOUGH_DEVICES, claim, request.full_name, details=details)

    def combination(self) -> Details:
        """Return what has to fit together."""
        return {
            "constraints": tuple(
                constraint.match_attribute or constraint.distinct_attribute or ""
                for claim in self._prepared.claims
                for constraint in claim.constraints
            ),
            "counts": tuple(
                f"{request.full_name}={'All' if request.everything else request.exact.count}"
                for requests in self._prepared.requests
                for top in requests
                for request in top.alternatives
            ),
        }

    def _of_request(self, request: PreparedRequest) -> Iterator[Reason | None]:
        """Yield the reason of each device, None for one that can serve."""
        claim, name_of, known = self._name(request.place), request.full_name, self._known
        position = -1
        for pool in self._view.pools:
            driver, name = pool.id
            for device, content in pool.devices:
                position += 1
                key = (request, content)
                if key not in known:
                    if content not in request.obstacles:
                        request.obstacles[content] = self._of_content(request, content)
                    known[key] = self._with_names(request.obstacles[content])
                found = known[key] or self._of_device(request, position)
                if found is None:
                    yield None
                else:
                    where = DeviceID(driver, name, device)
                    yield Reason(found.code, claim, name_of, where, None, found.details)

    def _name(self, text: str) -> str:
        return named(text, self._names) if PLACE in text else text

    def _with_names(self, found: Obstacle | None) -> Obstacle | None:
        """Put the names of claims into the texts of an obstacle."""
        if found is None:
            return None
        places = [
            key for key, text in found.details.items() if isinstance(text, str) and PLACE in text
        ]
        if not places:
            return found
        changed = {key: self._name(found.details[key]) for key in places}
        return Obstacle(found.code, {**found.details, **changed})

    def _of_content(self, request: PreparedRequest, content: Content) -> Obstacle | None:
        """Find what keeps every device of a content from a request, apart from what is held."""
        if content.binding_conditions and not self._features.DeviceBindingAndStatus:
            return Obstacle(Code.FEATURE_DISABLED, {"gate": "DRADeviceBindingConditions"})
        found = rejected(request, content)
        if found is not None:
            return found
        if content.consumes and not self._features.PartitionableDevices:
            return Obstacle(Code.FEATURE_DISABLED, {"gate": "DRAPartitionableDevices"})
        taint = untolerated(content.taints, request.exact.tolerations)
        if taint is not None and self._features.DeviceTaints:
            return Obstacle(
                Code.TAINT_NOT_TOLERATED,
                {
                    "key": taint.key,
                    "value": taint.value,
                    "effect": taint.effect,
                    "rule": taint.rule,
                },
            )
        found = too_little(request, content)
        if found is None:
            request.plan(
                content, self._view, 0
            )  # remembers what is taken, for the checks of devices
        return found or self._constraint(request, content)

    def _constraint(self, request: PreparedRequest, content: Content) -> Obstacle | None:
        for index in request.constraints:
            constraint = request.claim.constraints[index]
            try:
                value = request.value(index, content, self._view, 0)
            except FatalProblemError as error:
                return Obstacle(Code.CEL_ERROR, {"message": str(error)})
            if value is None:
                matched = constraint.match_attribute is not None
                name = constraint.match_attribute or constraint.distinct_attribute
                kind = "matchAttribute" if matched else "distinctAttribute"
                return Obstacle(
                    Code.CONSTRAINT_FAILED, {"index": index, "attribute": name, "kind": kind}
                )
        return None

    def _of_device(self, request: PreparedRequest, position: int) -> Obstacle | None:
        """Find what keeps one device from a request because of the node or what is held."""
        checks: tuple[Callable[[PreparedRequest, int], Obstacle | None], ...] = (
            self._place, self._in_use, self._operations, self._groups, self._counters, self._free,
        )  # fmt: skip
        for check in checks:
            found = check(request, position)
            if found is not None:
                return found
        return None

    def _place(self, _request: PreparedRequest, position: int) -> Obstacle | None:
        if not self._view.per_device:
            return None
        try:
            here = self._view.on_node(position)
        except NodeSelectorError as error:
            return Obstacle(Code.NODE_SELECTOR_INVALID, {"message": str(error)})
        return None if here else Obstacle(Code.NODE_MISMATCH, {"node": self._view.node.name})

    def _in_use(self, request: PreparedRequest, position: int) -> Obstacle | None:
        if request.admin or not self._view.in_use[position]:
            return None
        holders = tuple(holder.claim for holder in self._holders(position))
        return Obstacle(Code.DEVICE_IN_USE, {"holders": holders})

    def _operations(self, _request: PreparedRequest, position: int) -> Obstacle | None:
        if not self._view.skips or not self._view.skips_node(position):
            return None
        pool, index = self._view.place(position)
        operations = pool.origins[index].skip_node_operations
        return Obstacle(Code.NODE_OPERATIONS, {"operations": operations})

    def _groups(self, request: PreparedRequest, position: int) -> Obstacle | None:
        content = self._view.contents[position]
        if not self._features.CompatibilityGroups or self._shared(request, position):
            return None
        pool = self._view.pool(position)
        if Groups(pool.usage(self._cluster.usage)).admit(content) is not None:
            return None
        groups = tuple(sorted({group for item in content.consumes for group in item.groups}))
        return Obstacle(Code.INCOMPATIBLE_GROUPS, {"groups": groups})

    def _counters(self, request: PreparedRequest, position: int) -> Obstacle | None:
        content = self._view.contents[position]
        if not content.consumes or self._shared(request, position):
            return None
        pool, _ = self._view.place(position)
        usage = pool.usage(self._cluster.usage)
        plan = request.plans.get(content.traits)
        needs = plan.needs if plan is not None else {}
        for (name, counter), free in usage.available.items():
            need = needs.get((name, counter), 0)
            if need > free:
                holders = self._takers(position, name, counter)
                like = pool.counters[name, counter]
                return Obstacle(
                    Code.COUNTERS_EXCEEDED,
                    {
                        "set": name,
                        "counter": counter,
                        "need": printed(need, like),
                        "free": printed(free, like),
                        "short": printed(need - free, like),
                        "holders": holders,
                    },
                )
        return None

    def _takers(self, position: int, name: str, counter: str) -> tuple[str, ...]:
        pool, _ = self._view.place(position)
        key = (pool, name, counter)
        if key not in self._known_takers:
            self._known_takers[key] = self._find_takers(pool, name, counter)
        return self._known_takers[key]

    def _find_takers(self, pool: Pool, name: str, counter: str) -> tuple[str, ...]:
        held = self._cluster.usage.of_pool(pool.id)
        return tuple(
            dict.fromkeys(
                holder.claim
                for item in (*pool.slices, *pool.others)
                for device in item.devices
                if any(
                    one.counter_set == name and counter in one.counters
                    for one in device.content.consumes
                )
                for holder in held.get(device.name, ())
            )
        )

    def _free(self, request: PreparedRequest, position: int) -> Obstacle | None:
        content = self._view.contents[position]
        held = self._view.consumed.get(position)
        plan = request.plans.get(content.traits)
        if held is None or plan is None:
            return None
        for name, need, have in plan.nanos:
            free = have - held.get(name, 0)
            if need > free:
                holders = tuple(holder.claim for holder in self._holders(position))
                return exceeded(request, content, name, plan.consumed[name], free, holders)
        return None

    def _shared(self, request: PreparedRequest, position: int) -> bool:
        plan = request.plans.get(self._view.contents[position].traits)
        if plan is None or not plan.shareable:
            return False
        new = self._cluster.profile.new
        return position in self._view.consumed or (new and position in self._view.shared)

    def _holders(self, position: int) -> tuple[Holder, ...]:
        return self._cluster.holders(self._view.id(position))
