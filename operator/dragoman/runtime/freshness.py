"""Look at the API server live before acting in another controller's stead."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from dragoman.model import Claim, Document, Pod, PodGroup
from dragoman.runtime.api import PODS, Api, Resource, find
from dragoman.runtime.discovery import Served
from dragoman.runtime.intake import Intake, Key
from dragoman.runtime.world import Fact, Shelf


@dataclass(frozen=True, slots=True)
class Mirror(Generic[Fact]):
    """One resource: where it is on the server, and how it gets into the world.

    Attributes:
        api: Where to read.
        resource: What to read.
        shelf: The facts as known.
        parse: Makes a fact from an object.
        changed: Takes in an object that is there.
        deleted: Takes in that one is gone.
    """

    api: Api
    resource: Resource
    shelf: Shelf[Fact]
    parse: Callable[[Document], Fact]
    changed: Callable[[Fact], None]
    deleted: Callable[[Fact], None]

    async def refresh(self, namespace: str, name: str) -> None:
        """Read an object from the server into the world, or out of it; raise ApiError.

        Out of it goes only the one that was known when the question was asked: while the answer
        is on its way, another one may be made under the same name.
        """
        known = self.shelf.get(namespace, name)
        found = await find(self.api, self.resource.path(namespace, name))
        if found is not None:
            self.changed(self.parse(found))
        elif known is not None:
            self.deleted(known)


def mirror_of_claims(api: Api, served: Served, intake: Intake) -> Mirror[Claim]:
    """Return the mirror of ResourceClaims."""
    shelf = intake.world.claims
    return Mirror(
        api, served.claims, shelf, Claim.parse, intake.claim_changed, intake.claim_deleted
    )


class Freshness:
    """Reads into the world what a plan is about, straight from the server."""

    def __init__(self, api: Api, served: Served, intake: Intake) -> None:
        self._api = api
        self._served = served
        self._intake = intake
        self._running: dict[str, asyncio.Task[None]] = {}
        self._next: dict[str, asyncio.Task[None]] = {}
        world = intake.world
        pods = Mirror(api, PODS, world.pods, Pod.parse, intake.pod_changed, intake.pod_deleted)
        self._mirrors: dict[str, Mirror[Any]] = {
            "pod": pods,
            "claim": mirror_of_claims(api, served, intake),
        }
        if served.groups is not None:
            group = (intake.group_changed, intake.group_deleted)
            self._mirrors["podgroup"] = Mirror(
                api, served.groups, world.groups, PodGroup.parse, *group
            )

    async def refresh(self, key: Key) -> None:
        """Read the object of a key and, for those that own claims, the namespace's claims."""
        looks = [self._mirrors[key.kind].refresh(key.namespace, key.name)]
        if key.kind != "claim":
            looks.append(self._claims(key.namespace))
        await asyncio.gather(*looks)

    async def _claims(self, namespace: str) -> None:
        """Wait for a list that begins after now; all who ask meanwhile share it."""
        if namespace not in self._next:
            before = self._running.get(namespace)
            self._next[namespace] = asyncio.create_task(self._list(namespace, before))
        await asyncio.shield(self._next[namespace])

    async def _list(self, namespace: str, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        running = self._running[namespace] = self._next.pop(namespace)
        try:
            await self._read_claims(namespace)
        finally:
            if self._running.get(namespace) is running:
                del self._running[namespace]

    async def _read_claims(self, namespace: str) -> None:
        query = {"limit": "500"}
        while True:
            page = await self._api.get(self._served.claims.path(namespace), **query)
            for item in page["items"] or ():
                self._intake.claim_changed(Claim.parse(item))
            if not page["metadata"].get("continue"):
                return
            query["continue"] = page["metadata"]["continue"]
