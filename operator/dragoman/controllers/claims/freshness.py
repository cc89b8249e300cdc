"""Look at the API server live before acting in another controller's stead."""

import asyncio
from typing import Any

from dragoman.controllers.claims.enqueue import Key
from dragoman.kube.informer import Mirror, Mirrors
from dragoman.kube.singleflight import Shared


class Freshness:
    """Reads into the world what a plan is about, straight from the server.

    Args:
        mirrors: Where from, and where to.
    """

    def __init__(self, mirrors: Mirrors) -> None:
        self._lists = Shared(mirrors.claims.refresh_all)
        self._mirrors: dict[str, Mirror[Any] | None] = {
            "pod": mirrors.pods,
            "claim": mirrors.claims,
            "podgroup": mirrors.groups,
        }

    async def refresh(self, key: Key) -> None:
        """Read the object of a key and, for those that own claims, the namespace's claims."""
        mirror = self._mirrors[key.kind]
        assert mirror is not None, "keys are of what is served"
        looks = [mirror.refresh(key.namespace, key.name)]
        if key.kind != "claim":
            looks.append(self._lists.ask(key.namespace))
        await asyncio.gather(*looks)
