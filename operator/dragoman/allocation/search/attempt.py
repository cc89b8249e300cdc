"""The devices picked so far in a search, with everything that they take, and how to undo a pick."""

from typing import NamedTuple

from dragoman.allocation.codes import Code
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.plans import TAINT, Plan
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared
from dragoman.allocation.rules import constraints
from dragoman.allocation.rules.compatibility import Before, Groups
from dragoman.allocation.search.counters import Counters
from dragoman.allocation.search.selection import enough, selectable
from dragoman.allocation.search.view import NodeView


class Taken(NamedTuple):
    """One picked device."""

    position: int  # Of the device among all devices of the node
    request: PreparedRequest  # What it was picked for
    claim: int  # Index of the claim
    plan: Plan  # What the request takes of the device
    charged: bool = False  # Whether its counters were charged
    groups: Before = ()  # Compatibility groups before the pick, by counter set


class Attempt:
    """The state of one search.

    Attributes:
        results: The picked devices of each claim.
        looks: How often a device was looked at.
    """

    def __init__(self, prepared: Prepared, view: NodeView) -> None:
        self.results: list[list[Taken]] = [[] for _ in prepared.claims]
        self.looks = 0
        self._view = view
        self._profile = prepared.profile
        self._contents = view.contents
        self._in_use = view.in_use
        self._end = view.end
        self._taken = [0] * len(self._contents)
        self._shares: dict[int, list[dict[str, int]]] = {}
        self._counters = Counters(view, prepared.profile)
        self._groups: dict[object, Groups] = {}
        self._constraints = [
            [constraints.start(constraint, prepared.profile) for constraint in claim.constraints]
            for claim in prepared.claims
        ]

    def pick(  # noqa: C901 — one check after the other, for each device of each step
        self, request: PreparedRequest, claim: int, start: int
    ) -> Taken | None:
        """Take the first device from a position on that can serve, None if there is none.

        Raises:
            FatalProblemError: A device that was reached ends the pod's attempt.
        """
        taken_by, in_use, contents = self._taken, self._in_use, self._contents
        known, plans, admin, own = request.known, request.plans, request.admin, 1 << claim
        consumed, shares = self._view.consumed, self._shares
        per_device = self._view.per_device
        for position in range(start, self._end):
            if admin:
                if taken_by[position] & own:
                    continue
            elif in_use[position] or taken_by[position]:
                continue
            content = contents[position]
            chosen = known.get(content)
            if chosen is None or (chosen and per_device):
                chosen = selectable(request, self._view, position)
            if not chosen:
                continue
            plan = plans.get(content.traits) or self._plan(request, position)
            if plan is None:
                continue
            shared = position in consumed or position in shares
            if not (self._enough(plan, position) if shared else plan.alone):
                continue
            if plan.blocked:
                self._touch(plan, position)
                continue
            taken = self._take(request, claim, position, plan, must=False)
            if taken is not None:
                self.looks += position - start + 1
                return taken
        self.looks += max(self._end - start, 0)
        if self._view.broken is not None:
            raise _invalid(request, self._view.broken)
        return None

    def take_exactly(self, request: PreparedRequest, claim: int, position: int) -> Taken | None:
        """Take one device of a request for all of them.

        Raises:
            FatalProblemError: A constraint forbids the device.
        """
        plan = self._plan(request, position)
        self.looks += 1
        taken_by = self._taken[position]
        if request.admin:
            if taken_by >> claim & 1 and not (plan and plan.shareable):
                return None
        elif self._in_use[position] or taken_by:
            return None
        if plan is None:
            return None
        if plan.blocked:
            self._touch(plan, position)
            return None
        return self._take(request, claim, position, plan, must=True)

    def release(self, taken: Taken) -> None:
        """Undo a pick, the last one that is not undone."""
        position, plan = taken.position, taken.plan
        self.results[taken.claim].pop()
        if plan.shareable:
            shares = self._shares[position]
            shares.pop()
            if not shares:
                del self._shares[position]
        else:
            self._taken[position] &= ~(1 << taken.claim)
        if taken.request.constraints:
            self._leave(taken.request, taken.claim, len(taken.request.constraints))
        if taken.charged or taken.groups:
            self._restore(taken)

    def _plan(self, request: PreparedRequest, position: int, *, bare: bool = False) -> Plan | None:
        return request.plan(self._contents[position], self._view, position, bare=bare)

    def _enough(self, plan: Plan, position: int) -> bool:
        """Tell whether capacity suffices beside what is held and what this attempt took."""
        return enough(plan, self._view.consumed.get(position), self._shares.get(position, ()))

    def _take(
        self, request: PreparedRequest, claim: int, position: int, plan: Plan, *, must: bool
    ) -> Taken | None:
        # A device that was shared when claims got shares of it.
        blocks = self._profile.shares_block and not (plan.shareable or request.admin)
        if blocks and self._already_shared(position):
            return None
        if plan.simple:
            taken = Taken(position, request, claim, plan)
        else:
            charged = self._charge(request, claim, position, plan)
            if charged is None:
                return None
            taken = charged
        if self._view.skips and self._view.skips_node(position):
            self._restore(taken)
            return None
        if request.constraints and not self._join(request, claim, position):
            self._restore(taken)
            if must:
                device = self._view.id(position)
                message = (
                    f"claim {request.place}, request {request.exact.name}: cannot add device "
                    f"{device} because a claim constraint would not be satisfied"
                )
                raise request.problem(Code.CONSTRAINT_FAILED, message, device)
            return None
        if must and not self._enough(plan, position):
            self._leave(request, claim, len(request.constraints))
            self._restore(taken)
            return None
        if plan.shareable:
            self._shares.setdefault(position, []).append({name: n for name, n, _ in plan.nanos})
        else:
            self._taken[position] |= 1 << claim
        self.results[claim].append(taken)
        return taken

    def _join(self, request: PreparedRequest, claim: int, position: int) -> bool:
        states, content = self._constraints[claim], self._contents[position]
        for done, index in enumerate(request.constraints):
            value = request.value(index, content, self._view, position)
            if value is None or not states[index].add(request.request_name, value[0]):
                self._leave(request, claim, done)
                return False
        return True

    def _leave(self, request: PreparedRequest, claim: int, count: int) -> None:
        states = self._constraints[claim]
        for index in reversed(request.constraints[:count]):
            states[index].remove(request.request_name)

    def _charge(
        self, request: PreparedRequest, claim: int, position: int, plan: Plan
    ) -> Taken | None:
        """Take compatibility groups and counters, or None and nothing."""
        taken = Taken(position, request, claim, plan)
        if not plan.content.consumes or (plan.shareable and self._already_shared(position)):
            return taken
        if self._profile.features.CompatibilityGroups:
            pool = self._view.pool(position)
            groups = self._groups.get(pool)
            if groups is None:
                groups = self._groups[pool] = Groups(pool.usage(self._view.usage))
            before = groups.admit(plan.content)
            if before is None:
                return None
            taken = taken._replace(groups=before)
        if not self._counters.charge(position, plan):
            self._restore(taken)
            return None
        return taken._replace(charged=True)

    def _touch(self, plan: Plan, position: int) -> None:
        """Look at the counters of a device that taints keep from being taken.

        The scheduler looks at them before it looks at taints. That matters in 1.36, where the first
        pool that is looked at decides what pools of its name have.
        """
        if (
            self._profile.taints_before_counters
            or plan.blocked != TAINT
            or not plan.content.consumes
        ):
            return
        if not (plan.shareable and self._already_shared(position)):
            self._counters.touch(position)

    def _already_shared(self, position: int) -> bool:
        if position in self._view.consumed or position in self._shares:
            return True
        return self._profile.shares_without_capacity and position in self._view.shared

    def _restore(self, taken: Taken) -> None:
        """Give counters and groups back."""
        if taken.charged:
            self._counters.refund(taken.position, taken.plan)
        if taken.groups:
            self._groups[self._view.pool(taken.position)].restore(taken.groups)


def _invalid(request: PreparedRequest, pool: Pool) -> FatalProblemError:
    return request.problem(Code.POOL_INVALID, f"pool {pool.id.pool} is invalid: {pool.invalid}")
