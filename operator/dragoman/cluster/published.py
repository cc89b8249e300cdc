"""The published devices: which a target matches, for drains and for reviews."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from dragoman import surroundings
from dragoman.allocation.requests.expressions import load_engine
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.inventory.facts.profiles import observed_profile
from dragoman.inventory.facts.stored import StoredSlice
from dragoman.inventory.facts.world import world_of
from dragoman.inventory.inventory import Inventory, take
from dragoman.maintenance.targets import Target, TargetError, extent, select
from dragoman.model.deviceid import DeviceID
from dragoman_cel.budget import StepBudget
from dragoman_webhooks.targets import Matches

PAUSE = 1.0
"""Seconds between two computations for reviews at least."""
REST = 10.0
"""The same in times of what the last one took."""
REVIEW_SECONDS = 0.2
"""Longest processor time for the expression of a target in a review."""
REVIEW_STEPS = 400_000
"""The same in steps, so that no single evaluation takes longer; a step is half a microsecond."""
PASS_SECONDS = 20.0
"""The same in a pass of the controller, which runs beside all other work of the operator."""


class ReviewedDevices:
    """The inventory that reviews count in, kept up to date.

    Args:
        cluster: Stores slices.
    """

    def __init__(self, cluster: ClusterStores) -> None:
        self._published = cluster.part(Published)
        self._inventory: Inventory | None = None
        self._changed = asyncio.Event()
        cluster.part(DeviceStores).slices.observers.append(lambda *_: self._changed.set())

    async def run(self) -> None:
        """Follow the slices until cancelled."""
        while True:
            began = surroundings.monotonic()
            self._changed.clear()
            self._inventory = await self._published.inventory()
            # Drivers may change slices all the time: reviews come before an up-to-date count.
            await asyncio.sleep(max(PAUSE, REST * (surroundings.monotonic() - began)))
            await self._changed.wait()

    def count(self, target: Mapping[str, Any]) -> Matches | None:
        """Return what the target of a DeviceMaintenance matches; None before the first list."""
        inventory = self._inventory
        if inventory is None:
            return None
        parts = (
            str(target.get(key) or "") for key in ("driver", "pool", "device", "node", "where")
        )
        published = len(inventory.devices)
        load_engine()
        late = late_after(REVIEW_SECONDS, surroundings.cpu)
        try:
            found = extent(inventory, Target(*parts), StepBudget(REVIEW_STEPS), late)
        except TargetError as error:
            return Matches(some=False, every=False, published=published, problem=str(error))
        return Matches(found.some, found.some and not found.others, published, found.failure)


def late_after(
    seconds: float, clock: Callable[[], float] = surroundings.monotonic
) -> Callable[[], bool]:
    """Return a function that says whether these seconds have passed."""
    end = clock() + seconds
    return lambda: clock() > end


async def selected(inventory: Inventory, target: Target) -> tuple[DeviceID, ...]:
    """Return the devices that meet a target; raise TargetError."""
    # In a thread: an expression may take milliseconds on each of thousands of devices.
    late = late_after(PASS_SECONDS)
    return (await surroundings.in_daemon_thread(select, inventory, [target], late)).ids


class Published:
    """The devices of stored ResourceSlices, computed once for each change; a part of a cluster.

    Args:
        cluster: Which one.
    """

    def __init__(self, cluster: ClusterStores) -> None:
        self._cluster = cluster
        self._devices = cluster.part(DeviceStores)
        self._inventory: Inventory | None = None
        self._changes = 0
        self._devices.slices.observers.append(self._changed)

    async def inventory(self) -> Inventory:
        """Return all devices, without their holders."""
        profile = observed_profile(await self._cluster.kubernetes())[0]
        await self._devices.slices.synced.wait()
        await self._devices.require_content()
        while (found := self._inventory) is None:
            contents = tuple(one.content for one in self._devices.slices.store if one.content)
            changes = self._changes
            # Thousands of devices take a second; reviews and claims must not wait for it.
            found = await surroundings.in_daemon_thread(take, world_of(contents), profile)
            if changes != self._changes:
                return found  # what changed since belongs to the next one
            self._inventory = found
        return found

    def _changed(self, _old: StoredSlice | None, _new: StoredSlice | None) -> None:
        self._inventory = None
        self._changes += 1
