"""The devices of the cluster as the webhook needs them: how many a target matches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from dragoman.allocation.requests.expressions import load_engine
from dragoman.cel.budget import StepBudget
from dragoman.controllers.worker import in_daemon_thread
from dragoman.inventory.facts.objects import world_of
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.profiles import observed_profile
from dragoman.inventory.inventory import Inventory, take
from dragoman.inventory.snapshots.documents import reduced
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client, pages
from dragoman.kube.discovery import NotServedError, discover
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.maintenance.targets import Target, TargetError, extent, select
from dragoman.model.deviceid import DeviceID
from dragoman_webhooks.targets import Matches

if TYPE_CHECKING:
    from dragoman.controllers.devices.informers import DeviceInformers
    from dragoman.inventory.facts.stored import StoredSlice

INTERVAL: Final = 15.0
"""Seconds between two lists of ResourceSlices."""
REVIEW_SECONDS: Final = 0.2
"""Longest processor time for the expression of a target in a review."""
REVIEW_STEPS: Final = 400_000
"""The same in steps, so that no single evaluation takes longer; a step is half a microsecond."""
PASS_SECONDS: Final = 20.0
"""The same in a pass of the controller, which runs beside all other work of the operator."""

log = logger("dragoman.webhook")


class PublishedDevices:
    """Keeps a list of all devices.

    Args:
        client: Where ResourceSlices are listed.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inventory: Inventory | None = None

    async def run(self) -> None:
        """List until cancelled; the last complete list counts while the server fails."""
        backoff = Backoff()
        while True:
            try:
                served = await discover(self._client, "off")
                self._inventory = await published(self._client, served.slices)
                delay = INTERVAL
            except (ApiError, NotServedError) as error:
                delay = backoff.next(getattr(error, "retry_after", None))
                log.warning("Cannot list ResourceSlices", error=str(error))
            await asyncio.sleep(delay)

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
        late = late_after(REVIEW_SECONDS, time.thread_time)
        try:
            found = extent(inventory, Target(*parts), StepBudget(REVIEW_STEPS), late)
        except TargetError as error:
            return Matches(some=False, every=False, published=published, problem=str(error))
        return Matches(found.some, found.some and not found.others, published, found.failure)


def late_after(seconds: float, clock: Callable[[], float] = time.monotonic) -> Callable[[], bool]:
    """Return a function that says whether these seconds have passed."""
    end = clock() + seconds
    return lambda: clock() > end


async def selected(inventory: Inventory, target: Target) -> tuple[DeviceID, ...]:
    """Return the devices that meet a target; raise TargetError."""
    # In a thread: an expression may take milliseconds on each of thousands of devices.
    late = late_after(PASS_SECONDS)
    return (await in_daemon_thread(select, inventory, [target], late)).ids


class Published(Protocol):
    """Where the published devices come from."""

    async def inventory(self) -> Inventory:
        """Return all devices, without their holders; raise ApiError."""


class StoredDevices:
    """The devices of stored ResourceSlices, computed once for each change.

    Args:
        devices: Stores slices; their content is stored from the first use on.
        kubernetes: The server's version.
    """

    def __init__(self, devices: DeviceInformers, kubernetes: str) -> None:
        self._devices = devices
        self._profile = observed_profile(kubernetes)[0]
        self._inventory: Inventory | None = None
        self._changes = 0
        devices.slice_observers.append(self._changed)

    async def inventory(self) -> Inventory:
        """Return all devices, without their holders."""
        await self._devices.slices.synced.wait()
        await self._devices.require_content()
        while (found := self._inventory) is None:
            contents = tuple(one.content for one in self._devices.slices.store if one.content)
            changes = self._changes
            # Thousands of devices take a second; claims must not wait for it.
            found = await in_daemon_thread(take, world_of(contents), self._profile)
            if changes != self._changes:
                return found  # what changed since belongs to the next one
            self._inventory = found
        return found

    def _changed(self, _old: StoredSlice | None, _new: StoredSlice | None) -> None:
        self._inventory = None
        self._changes += 1


async def published(client: Client, slices: Resource) -> Inventory:
    """List all devices, without their holders; raise ApiError."""
    version = str((await client.get("/version")).get("gitVersion") or "")
    found = [
        reduced("resourceslices", item)
        async for page in pages(client, slices.path())
        for item in page["items"] or ()
    ]
    # Thousands of devices take a second; reviews and claims must not wait for it.
    return await in_daemon_thread(_inventory, found, version)


def _inventory(slices: list[dict[str, Any]], version: str) -> Inventory:
    world = parse(Snapshot("", objects={"resourceslices": tuple(slices)}))
    return take(world, observed_profile(version)[0])
