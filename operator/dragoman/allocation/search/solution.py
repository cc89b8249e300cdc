"""From the picks of a search to allocation results: configs and node selectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from dragoman.allocation.facts.claims import ClaimSpec, Held
from dragoman.allocation.facts.objects import NodeSelector, Requirement
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.reasons.codes import Code
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared, TopLevelRequest, placeholder
from dragoman.allocation.results import (
    Allocation,
    ConfigResult,
    DeviceResult,
    ShareIDs,
    of_document,
)
from dragoman.allocation.rules.capacity import Amounts
from dragoman.allocation.search.search import Search
from dragoman.allocation.search.view import NodePools, NodeView


class Picked(NamedTuple):
    """One picked device: what it serves, the index of its pool, its index there, what it gives.

    Attributes:
        request: The request.
        pool: Index of the pool on the node.
        at: Index of the device in the pool.
        consumed: Capacity consumed, None for a device that is not shared.
    """

    request: PreparedRequest
    pool: int
    at: int
    consumed: Amounts | None


class Solution:
    """A complete solution, in positions, so that it holds for every node that looks alike.

    Attributes:
        steps: Effort of the search.
        picks: The picked devices of each claim.
        config: The configs of each claim.
    """

    __slots__ = ("config", "picks", "steps")

    def __init__(self, prepared: Prepared, search: Search, view: NodeView) -> None:
        self.steps = search.steps
        index = {pool: number for number, pool in enumerate(view.pools)}
        self.picks: list[list[Picked]] = []
        for results in search.attempt.results:
            picks = []
            for taken in results:
                pool, at = view.place(taken.position)
                plan = taken.plan
                consumed = plan.consumed if plan.shareable else None
                picks.append(Picked(taken.request, index[pool], at, consumed))
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
    new = bool(served) and served[0].profile.new
    for config in claim.config:
        matching = sum(1 for request in served if _named(request, config.requests))
        # Up to 1.36 a config is repeated for each request that it names.
        times = 1 if not config.requests or (new and matching) else matching
        found += [("FromClaim", list(config.requests), config.document)] * times
    return tuple(
        ConfigResult(
            source,
            ()
            if new and names and all(_named(request, names) for request in served)
            else tuple(names),
            document,
        )
        for source, names, document in found
    )


def _named(request: PreparedRequest, names: Sequence[str]) -> bool:
    return request.request_name in names or request.full_name in names


class Allocated:
    """The claims can be served on the node.

    Attributes:
        steps: Effort of the search.
        allocations: One for each claim, in their order; made on first use.
    """

    __slots__ = ("_allocated", "_made", "_pools", "_share_ids", "_solution", "steps")

    def __init__(
        self,
        solution: Solution,
        pools: NodePools,
        share_ids: ShareIDs | None,
        allocated: Sequence[tuple[int, Held]] = (),
    ) -> None:
        self.steps = solution.steps
        self._solution = solution
        self._pools = pools
        self._share_ids = share_ids
        self._allocated = allocated
        self._made: tuple[Allocation, ...] | None = None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """One for each claim, in their order."""
        if self._made is None:
            share_ids = self._share_ids or numbered_ids()
            pools, node = self._pools.pools, self._pools.node.name
            solution = self._solution
            made = [
                Allocation(
                    tuple(_device(pick, pools[pick.pool], share_ids) for pick in picks),
                    config,
                    _node_selector(picks, pools, node),
                )
                for picks, config in zip(solution.picks, solution.config, strict=True)
            ]
            for index, held in self._allocated:
                made.insert(index, of_document(held.document))
            self._made = tuple(made)
        return self._made

    def __repr__(self) -> str:
        return f"Allocated(steps={self.steps}, allocations={self.allocations})"


def numbered_ids() -> ShareIDs:
    """Return a maker of share IDs that counts up: unique within one allocation only."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012x}"


def check_selectors(solution: Solution, pools: Sequence[Pool]) -> None:
    """Raise FatalProblemError for a picked device whose node selector has several terms."""
    for index, picks in enumerate(solution.picks):
        for pick in picks:
            pool = pools[pick.pool]
            if _local(pick, pool):
                break
            selector = _selector(pool, pick.at)
            if selector is not None and len(selector.terms) > 1:
                raise FatalProblemError(
                    Code.NODE_SELECTOR_INVALID,
                    f"create NodeSelector for claim {placeholder(index)}: "
                    f"unsupported ResourceSlice.NodeSelector with {len(selector.terms)} terms",
                )


def _device(pick: Picked, pool: Pool, share_ids: ShareIDs) -> DeviceResult:
    request, (name, content) = pick.request, pool.devices[pick.at]
    features = request.profile.features
    consumed = pick.consumed
    binding = features.DeviceBindingAndStatus
    return DeviceResult(
        request.full_name,
        pool.id.driver,
        pool.id.pool,
        name,
        request.admin,
        tuple(toleration.document for toleration in request.exact.tolerations),
        None if consumed is None else share_ids(),
        {name: str(value) for name, value in consumed.items()} if consumed else None,
        (content.binding_conditions or ()) if binding else (),
        content.binding_failure_conditions if binding else (),
        pool.origins[pick.at].skip_node_operations if request.profile.experimental else (),
    )


def _selector(pool: Pool, index: int) -> NodeSelector | None:
    origin = pool.origins[index]
    return pool.contents[index].node_selector if origin.per_device else origin.node_selector


def _node_name(pool: Pool, index: int) -> str | None:
    origin = pool.origins[index]
    return pool.contents[index].node_name if origin.per_device else origin.node_name


def _local(pick: Picked, pool: Pool) -> bool:
    """Tell whether a device pins the claim to its node."""
    if _node_name(pool, pick.at) is not None:
        return True
    return pool.contents[pick.at].binds_to_node and not pick.request.profile.stable


def _node_selector(
    picks: Sequence[Picked], pools: Sequence[Pool], node: str
) -> Mapping[str, Any] | None:
    term: dict[str, list[Mapping[str, Any]]] = {"matchFields": [], "matchExpressions": []}
    for pick in picks:
        pool = pools[pick.pool]
        if _local(pick, pool):
            stable = pick.request.profile.stable
            name = _node_name(pool, pick.at) if stable else node
            requirement = {"key": "metadata.name", "operator": "In", "values": [name or ""]}
            return {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
        selector = _selector(pool, pick.at)
        if selector is not None and selector.terms:
            _add(term["matchFields"], selector.terms[0].fields)
            _add(term["matchExpressions"], selector.terms[0].expressions)
    kept = {key: requirements for key, requirements in term.items() if requirements}
    return {"nodeSelectorTerms": [kept]} if kept else None


def _add(found: list[Mapping[str, Any]], requirements: Sequence[Requirement]) -> None:
    for item in requirements:
        if not any(_same(other, item) for other in found):
            found.append(dict(_pairs(item)))


def _same(left: Mapping[str, Any], right: Requirement) -> bool:
    if (left["key"], left["operator"]) != (right.key, right.operator):
        return False
    return set(left.get("values", ())) == set(right.values)


def _pairs(requirement: Requirement) -> Iterator[tuple[str, Any]]:
    yield "key", requirement.key
    yield "operator", requirement.operator
    if requirement.values:
        yield "values", list(requirement.values)
