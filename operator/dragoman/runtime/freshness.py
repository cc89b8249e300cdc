"""Look at the API server live before acting in another controller's stead."""

import asyncio
from typing import Any

from dragoman.runtime.intake import Key
from dragoman.runtime.mirror import Mirror, Mirrors


class Freshness:
    """Reads into the world what a plan is about, straight from the server.

    Args:
        mirrors: Where from, and where to.
    """

    def __init__(self, mirrors: Mirrors) -> None:
        self._claims = mirrors.claims
        self._mirrors: dict[str, Mirror[Any] | None] = {
            "pod": mirrors.pods,
            "claim": mirrors.claims,
            "podgroup": mirrors.groups,
        }
        self._running: dict[str, asyncio.Task[None]] = {}
        self._next: dict[str, asyncio.Task[None]] = {}

    async def refresh(self, key: Key) -> None:
        """Read the object of a key and, for those that own claims, the namespace's claims."""
        mirror = self._mirrors[key.kind]
        assert mirror is not None, "keys are of what is served"
        looks = [mirror.refresh(key.namespace, key.name)]
        if key.kind != "claim":
            looks.append(self._refresh_claims(key.namespace))
        await asyncio.gather(*looks)

    async def _refresh_claims(self, namespace: str) -> None:
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
            await self._claims.refresh_all(namespace)
        finally:
            if self._running.get(namespace) is running:
                del self._running[namespace]
