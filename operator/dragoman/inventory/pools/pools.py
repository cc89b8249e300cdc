"""Pools: which of their slices count, and what is wrong with those that do not.

Source: KEP-4381 (generation, resourceSliceCount) and KEP-4815 (shared counters), as the scheduler's
allocator reads them: devices of a pool that is not complete and valid do not exist for it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.assembly import assemble
from dragoman.model.deviceid import PoolID
from dragoman.model.slice import Slice


class PoolState(StrEnum):
    """Whether devices of a pool can be allocated."""

    COMPLETE = "Complete"
    INCOMPLETE = "Incomplete"
    INVALID = "Invalid"


@dataclass(frozen=True, slots=True)
class InventoryPool:
    """A pool in its highest generation."""

    id: PoolID  # Driver and pool name
    generation: int  # The highest one
    slices: tuple[Slice, ...]  # Those of that generation, in the order of the allocator
    wanted: int  # `resourceSliceCount`
    state: PoolState  # Whether its devices count
    reason: str = ""  # Why the pool is invalid, in the allocator's words; empty otherwise
    obsolete: tuple[str, ...] = ()  # Names of slices of older generations, which do not count
    since: str = ""  # When the newest slice of that generation was created, as an API timestamp

    @property
    def node(self) -> str:
        """The node that all slices belong to; empty where they have none or differ."""
        names = {one.node_name for one in self.slices}
        return names.pop() or "" if len(names) == 1 else ""

    @property
    def where(self) -> str:
        """`driver/pool`, for messages."""
        return f"{self.id.driver}/{self.id.pool}"

    @property
    def usable(self) -> bool:
        """Whether the allocator sees its devices."""
        return self.state is PoolState.COMPLETE

    def __str__(self) -> str:
        if self.state is PoolState.INCOMPLETE:
            return f"Incomplete ({len(self.slices)} of {self.wanted})"
        return f"Invalid ({self.reason})" if self.reason else str(self.state)


def pools(slices: Iterable[Slice], profile: Profile) -> tuple[InventoryPool, ...]:
    """Return all pools, ordered by driver and pool name.

    Args:
        slices: All slices of the cluster.
        profile: How the scheduler of the cluster behaves.
    """
    grouped: defaultdict[PoolID, list[Slice]] = defaultdict(list)
    for one in slices:
        grouped[one.pool_id].append(one)
    return tuple(_pool(key, grouped[key], profile) for key in sorted(grouped))


def _pool(key: PoolID, found: list[Slice], profile: Profile) -> InventoryPool:
    generation = max(one.generation for one in found)
    current = [one for one in found if one.generation == generation]
    slices = tuple(sorted(current, key=lambda one: one.name))
    wanted = slices[0].slice_count
    reason = ""
    if len(slices) == wanted:
        reason = invalid_reason(key, slices, profile)
        state = PoolState.INVALID if reason else PoolState.COMPLETE
    else:
        state = PoolState.INCOMPLETE
    return InventoryPool(
        id=key,
        generation=generation,
        slices=slices,
        wanted=wanted,
        state=state,
        reason=reason,
        obsolete=tuple(sorted(one.name for one in found if one.generation != generation)),
        since=max(one.created for one in current),
    )


def invalid_reason(key: PoolID, slices: Collection[Slice], profile: Profile) -> str:
    """Return why the allocator finds a pool invalid on one of its nodes, empty if it does not."""
    for node in sorted({one.node_name or "" for one in slices}):
        seen = [one for one in slices if (one.node_name or "") in ("", node)]
        built = assemble(key, seen, slices, profile)
        if built is not None and built.invalid:
            return built.invalid
    return ""
