"""From the picks of a search to allocation results: configs and node selectors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dragoman.allocation.codes import Code
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.request import Grant, PreparedRequest
from dragoman.allocation.requests.validation import Prepared, TopLevelRequest, placeholder
from dragoman.allocation.results import (
    ConfigResult,
)
from dragoman.allocation.rules.capacity import Amounts
from dragoman.allocation.search.search import Search
from dragoman.allocation.search.view import NodeView
from dragoman.model.deviceid import DeviceID
from dragoman.model.nodeselector import NodeSelector
from dragoman.model.requests import ClaimSpec


class Picked(NamedTuple):
    """One picked device: what it serves, the index of its pool, its index there, what it gives."""

    grant: Grant  # What the request gives the result
    pool: int  # Index of the pool on the node
    at: int  # Index of the device in the pool
    consumed: Amounts | None  # Capacity consumed, None for a device that is not shared


class Solution:
    """A complete solution, in positions, so that it holds for every node that looks alike.

    Attributes:
        steps: Effort of the search.
        looks: How often it looked at a device.
        picks: The picked devices of each claim.
        config: The configs of each claim.
    """

    __slots__ = ("config", "looks", "picks", "steps")

    def __init__(self, prepared: Prepared, search: Search, view: NodeView) -> None:
        self.steps = search.steps
        self.looks = search.attempt.looks
        index = {pool: number for number, pool in enumerate(view.pools)}
        self.picks: list[list[Picked]] = []
        for results in search.attempt.results:
            picks = []
            for taken in results:
                pool, at = view.place(taken.position)
                plan = taken.plan
                consumed = plan.consumed if plan.shareable else None
                picks.append(Picked(taken.request.grant, index[pool], at, consumed))
            self.picks.append(picks)
        self.config = [
            _config(
                claim, requests, [search.chosen.get((number, j), 0) for j in range(len(requests))]
            )
            for number, (claim, requests) in enumerate(
                zip(prepared.claims, prepared.requests, strict=True)
            )
        ]


def _config(
    claim: ClaimSpec, requests: Sequence[TopLevelRequest], chosen: Sequence[int]
) -> tuple[ConfigResult, ...]:
    served = [request.alternatives[index] for request, index in zip(requests, chosen, strict=True)]
    found: list[tuple[str, list[str], Mapping[str, Any]]] = []
    of_class: dict[str, list[list[str]]] = {}
    for request in served:
        name = request.device_class.name
        if name in of_class:
            for names in of_class[name]:
                names.append(request.full_name)
            continue
        of_class[name] = []
        for document in request.device_class.config:
            names = [request.full_name]
            of_class[name].append(names)
            found.append(("FromClass", names, document))
    once = bool(served) and served[0].profile.configs_once
    for config in claim.config:
        matching = sum(1 for request in served if _named(request, config.requests))
        # Up to 1.36 a config is repeated for each request that it names.
        times = 1 if not config.requests or (once and matching) else matching
        found += [("FromClaim", list(config.requests), config.document)] * times
    return tuple(
        ConfigResult(
            source,
            ()
            if once and names and all(_named(request, names) for request in served)
            else tuple(names),
            document,
        )
        for source, names, document in found
    )


def _named(request: PreparedRequest, names: Sequence[str]) -> bool:
    return request.request_name in names or request.full_name in names


def check_selectors(solution: Solution, pools: Sequence[Pool]) -> None:
    """Raise FatalProblemError for a picked device whose node selector has several terms."""
    for index, picks in enumerate(solution.picks):
        for pick in picks:
            pool = pools[pick.pool]
            if local(pick, pool):
                break
            selector = selector_of(pool, pick.at)
            if selector is not None and len(selector.terms) > 1:
                raise FatalProblemError(
                    Code.NODE_SELECTOR_INVALID,
                    f"create NodeSelector for claim {placeholder(index)}: "
                    f"unsupported ResourceSlice.NodeSelector with {len(selector.terms)} terms",
                    placeholder(index),
                    pick.grant.name,
                    DeviceID(pool.id.driver, pool.id.pool, pool.devices[pick.at].name),
                )


def selector_of(pool: Pool, index: int) -> NodeSelector | None:
    """Return the node selector of a device of a pool."""
    origin = pool.origins[index]
    return pool.contents[index].node_selector if origin.per_device else origin.node_selector


def node_name_of(pool: Pool, index: int) -> str | None:
    """Return the node that a device of a pool belongs to, None for none or several."""
    origin = pool.origins[index]
    return pool.contents[index].node_name if origin.per_device else origin.node_name


def local(pick: Picked, pool: Pool) -> bool:
    """Tell whether a device pins the claim to its node."""
    if node_name_of(pool, pick.at) is not None:
        return True
    return pool.contents[pick.at].binds_to_node and not pick.grant.profile.stable
