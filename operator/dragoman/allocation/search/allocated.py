"""What a solution gives to each claim."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError
from itertools import count
from types import MappingProxyType
from typing import Any, NoReturn

from dragoman.allocation.pools.nodepools import NodePools
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.results import Allocation, DeviceResult, ShareIDs, of_document
from dragoman.allocation.search.solution import (
    Picked,
    Solution,
    local,
    node_name_of,
    selector_of,
)
from dragoman.model.allocated import Held
from dragoman.model.nodeselector import Requirement


class Allocated:
    """The claims can be served on the node; frozen, and equal where steps and allocations are.

    Attributes:
        steps: Effort of the search.
        looks: How often it looked at a device.
        allocations: One for each claim, in their order; made on first use.
        new: Those of the claims that were not allocated before.
    """

    __slots__ = ("_allocated", "_made", "_pools", "_share_ids", "_solution", "looks", "steps")
    steps: int
    looks: int
    _solution: Solution
    _pools: NodePools
    _share_ids: ShareIDs | None
    _allocated: Sequence[tuple[int, Held]]
    _made: tuple[Allocation, ...] | None

    def __init__(
        self,
        solution: Solution,
        pools: NodePools,
        share_ids: ShareIDs | None,
        allocated: Sequence[tuple[int, Held]] = (),
    ) -> None:
        put = object.__setattr__
        put(self, "steps", solution.steps)
        put(self, "looks", solution.looks)
        put(self, "_solution", solution)
        put(self, "_pools", pools)
        put(self, "_share_ids", share_ids)
        put(self, "_allocated", allocated)
        put(self, "_made", None)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Allocated):
            return NotImplemented
        return (self.steps, self.allocations) == (other.steps, other.allocations)

    def __hash__(self) -> int:
        return hash((self.steps, len(self.allocations)))

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """One for each claim, in their order."""
        if self._made is None:
            object.__setattr__(self, "_made", tuple(self._make()))
        assert self._made is not None
        return self._made

    @property
    def new(self) -> tuple[Allocation, ...]:
        """Those of the claims that were not allocated before, in their order."""
        before = {index for index, _ in self._allocated}
        return tuple(one for at, one in enumerate(self.allocations) if at not in before)

    def _make(self) -> list[Allocation]:
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
        return made

    def __repr__(self) -> str:
        return f"Allocated(steps={self.steps}, allocations={self.allocations})"


def numbered_ids() -> ShareIDs:
    """Return a maker of share IDs that counts up: unique within one allocation only."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012x}"


def _device(pick: Picked, pool: Pool, share_ids: ShareIDs) -> DeviceResult:
    grant, (name, content) = pick.grant, pool.devices[pick.at]
    features = grant.profile.features
    consumed = pick.consumed
    binding = features.DeviceBindingAndStatus
    return DeviceResult(
        grant.name,
        pool.id.driver,
        pool.id.pool,
        name,
        grant.admin,
        grant.tolerations,
        None if consumed is None else share_ids(),
        MappingProxyType({name: str(value) for name, value in consumed.items()})
        if consumed
        else None,
        (content.binding_conditions or ()) if binding else (),
        content.binding_failure_conditions if binding else (),
        pool.origins[pick.at].skip_node_operations if grant.profile.experimental else (),
    )


def _node_selector(
    picks: Sequence[Picked], pools: Sequence[Pool], node: str
) -> Mapping[str, Any] | None:
    term: dict[str, list[Mapping[str, Any]]] = {"matchFields": [], "matchExpressions": []}
    for pick in picks:
        pool = pools[pick.pool]
        if local(pick, pool):
            stable = pick.grant.profile.stable
            name = node_name_of(pool, pick.at) if stable else node
            requirement = {"key": "metadata.name", "operator": "In", "values": [name or ""]}
            return {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
        selector = selector_of(pool, pick.at)
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
