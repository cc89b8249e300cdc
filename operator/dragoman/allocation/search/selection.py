"""Which devices of a node a request may get at all, apart from what the search picked before."""

from collections.abc import Mapping, Sequence

from dragoman.allocation.codes import Code
from dragoman.allocation.pools.nodeselector import NodeSelectorError
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.plans import Plan
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.search.view import NodeView

Nanos = Mapping[str, int]


def selectable(request: PreparedRequest, view: NodeView, position: int) -> bool:
    """Tell whether selectors match a device and it can be used on the node.

    Raises:
        FatalProblemError: That is unknown, with the scheduler's text.
    """
    content = view.contents[position]
    if not request.selectable(content, view, position):
        return False
    if not view.per_device:
        return True
    try:
        return view.on_node(position)
    except NodeSelectorError as error:
        device = view.id(position)
        raise request.problem(Code.NODE_SELECTOR_INVALID, str(error), device) from None


def enough(plan: Plan, held: Nanos | None, shares: Sequence[Nanos] = ()) -> bool:
    """Tell whether the capacity of a device suffices beside shares of it.

    Args:
        plan: What the request takes.
        held: What shares of allocated claims consume, None without any.
        shares: What shares that the search picked consume.
    """
    if held is None and not shares:
        return plan.alone
    for name, need, have in plan.nanos:
        total = need + (held.get(name, 0) if held else 0)
        total += sum(share.get(name, 0) for share in shares)
        if total > have:
            return False
    return True


def everything(request: PreparedRequest, view: NodeView) -> list[int]:
    """Return the devices of a request for all of them.

    Raises:
        FatalProblemError: A pool is incomplete or invalid, or a device cannot be judged.
    """
    found: list[int] = []
    first = 0
    for pool in view.pools:
        if pool.incomplete:
            raise _broken(request, pool, Code.POOL_INCOMPLETE, "being updated")
        if pool.invalid:
            raise _broken(request, pool, Code.POOL_INVALID, "invalid")
        last = first + len(pool.devices)
        found += [
            position
            for position in range(first, last)
            if selectable(request, view, position) and _counts(request, view, position)
        ]
        first = last
    return found


def _broken(request: PreparedRequest, pool: Pool, code: Code, state: str) -> FatalProblemError:
    problem = request.problem(
        code,
        f"claim {request.place}, request {request.exact.name}: asks for all devices, "
        f"but resource pool {pool.id} is currently {state}",
    )
    problem.of_node = request.profile.broken_pools_of_node
    return problem


def _counts(request: PreparedRequest, view: NodeView, position: int) -> bool:
    if not request.profile.features.ConsumableCapacity:
        return True
    plan = request.plan(view.contents[position], view, position, bare=True)
    if plan is None:
        return False
    return (
        plan.alone
        if request.profile.all_means_exhausted
        else enough(plan, view.consumed.get(position))
    )
