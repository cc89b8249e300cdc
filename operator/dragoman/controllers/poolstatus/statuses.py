"""Status of the pools of drivers, computed once for all requests that are due."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dragoman import metrics, surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.inventory.poolstatus.status import PoolFacts, pool_statuses
from dragoman.inventory.poolstatus.views import Json

KEPT = 16
"""Computations whose results are kept: drivers times partition attributes, which users choose."""
INLINE = 50
"""Slices and allocated devices whose status is computed in the event loop, in milliseconds."""
REST = 2.0
"""Seconds without a computation after one that took a second: other work of the operator runs."""


class StatusKey(NamedTuple):
    """What a computation depends on; requests for one pool share that of its driver."""

    driver: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of a computation."""

    when: float  # When its facts were gathered, as Unix time
    changes: int  # How many changes of the driver's slices they contain
    pools: dict[str, Json]  # Status of each pool of the driver, by name


class Statuses:
    """Computes the status of pools; requests that are due at the start of one share it.

    Args:
        cluster: Stores claims, slices with content, and rules.
        views: Whether the server knows the views of partitions and shares (1.37).
        clock: Unix time in seconds.
    """

    def __init__(
        self,
        cluster: ClusterStores,
        *,
        views: bool,
        clock: Callable[[], float],
    ) -> None:
        self._devices = cluster.part(DeviceStores)
        self._claims = cluster.claims.store
        self._views = views
        self._clock = clock
        self._computed: OrderedDict[StatusKey, Computed] = OrderedDict()
        self._changes: Counter[str] = Counter()
        self._turn = asyncio.Lock()
        self._rests_until = 0.0

    def slices_changed(self, driver: str) -> None:
        """Note that a slice of a driver has changed."""
        self._changes[driver] += 1

    async def of(self, key: StatusKey, since: float, *, newest: bool = False) -> Computed:
        """Return the status of a driver's pools, from facts gathered at this Unix time or later.

        Args:
            key: The driver.
            since: Unix time.
            newest: Whether it must contain all changes of slices so far.
        """
        changes = self._changes[key.driver] if newest else 0
        found = self._fresh(key, since, changes)
        if found is None:
            async with self._turn:
                # Others that waited may have computed it.
                found = self._fresh(key, since, changes) or await self._compute(key)
        return found

    def is_newest(self, key: StatusKey, computed: Computed) -> bool:
        """Whether no slice of the driver has changed since a computation."""
        return computed.changes == self._changes[key.driver]

    def _fresh(self, key: StatusKey, since: float, changes: int) -> Computed | None:
        found = self._computed.get(key)
        if found is None or not since <= found.when <= self._clock():
            return None  # of before, or of a clock that has been set back since
        if found.changes < changes:
            return None
        return found

    async def _compute(self, key: StatusKey) -> Computed:
        rest = self._rests_until - surroundings.monotonic()
        if rest > 0:
            await asyncio.sleep(rest)
        began = surroundings.monotonic()
        when, changes = self._clock(), self._changes[key.driver]
        pools = {one["poolName"]: one for one in await self._statuses(key)}
        computed = self._computed[key] = Computed(when, changes, pools)
        self._computed.move_to_end(key)
        while len(self._computed) > KEPT:
            self._computed.popitem(last=False)
        took = surroundings.monotonic() - began
        metrics.POOL_STATUS_DURATION.observe(took)
        self._rests_until = surroundings.monotonic() + took * REST
        return computed

    async def _statuses(self, key: StatusKey) -> list[Json]:
        """Compute; in a thread what takes more than milliseconds."""
        slices = [
            one.content
            for one in self._devices.slices.store
            if one.driver == key.driver and one.content is not None
        ]
        devices = [
            device
            for claim in self._claims
            for device in claim.devices
            if device.id.driver == key.driver
        ]
        facts = PoolFacts(slices, devices, [one.rule for one in self._devices.rules.store])

        def compute() -> list[Json]:
            return pool_statuses(facts, attribute=key.attribute, views=self._views)

        inline = len(slices) + len(devices) <= INLINE
        return compute() if inline else await surroundings.in_daemon_thread(compute)
