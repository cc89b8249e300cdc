"""The devices of the cluster as the webhook needs them: how many a target matches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from dragoman.allocation.features import profile
from dragoman.inventory.documents import reduced
from dragoman.inventory.factparser import parse
from dragoman.inventory.inventory import Inventory, take
from dragoman.inventory.snapshot import Snapshot
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client, pages
from dragoman.kube.discovery import NotServedError, discover
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.maintenance.targets import Target, TargetError, select
from dragoman_webhooks.targets import Matches

DEFAULT_VERSION: Final = "1.36"
"""Profile of the CEL environment for a server of an unknown version."""
INTERVAL: Final = 15.0
"""Seconds between two lists of ResourceSlices."""

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
        try:
            found = select(inventory, [Target(*parts)])
        except TargetError as error:
            return Matches(0, published, str(error))
        problem = found.failures[0] if found.failures else ""
        return Matches(len(found.devices), published, problem)


async def published(client: Client, slices: Resource) -> Inventory:
    """List all devices, without their holders; raise ApiError."""
    version = str((await client.get("/version")).get("gitVersion") or DEFAULT_VERSION)
    found = [
        reduced("resourceslices", item)
        async for page in pages(client, slices.path())
        for item in page["items"] or ()
    ]
    # Thousands of devices take a second; reviews and claims must not wait for it.
    return await asyncio.to_thread(_inventory, found, version)


def _inventory(slices: list[dict[str, Any]], version: str) -> Inventory:
    world = parse(Snapshot("", objects={"resourceslices": tuple(slices)}))
    try:
        return take(world, profile(version))
    except ValueError:
        return take(world, profile(DEFAULT_VERSION))
