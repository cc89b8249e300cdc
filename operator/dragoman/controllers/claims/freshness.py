"""Look at the API server live before acting in another controller's stead."""

import asyncio
from typing import Any

from dragoman.controllers.claims.enqueue import Key
from dragoman.kube.informer import Informer, Informers
from dragoman.kube.singleflight import SingleFlight


class Freshness:
    """Reads into the world what a plan is about, straight from the server.

    Args:
        mirrors: Where from, and where to.
    """

    def __init__(self, informers: Informers) -> None:
        self._lists = SingleFlight(informers.claims.refresh_all)
        self._informers: dict[str, Informer[Any] | None] = {
            "pod": informers.pods,
            "claim": informers.claims,
            "podgroup": informers.groups,
        }

    async def refresh(self, key: Key) -> None:
        """Read the object of a key and, for those that own claims, the namespace's claims."""
        informer = self._informers[key.kind]
        assert informer is not None, "keys are of what is served"
        live_reads = [informer.refresh(key.namespace, key.name)]
        if key.kind != "claim":
            live_reads.append(self._lists.ask(key.namespace))
        await asyncio.gather(*live_reads)
