"""Live reads: GET requests before a decision, where a watch may lag."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman import surroundings
from dragoman.claims.claimfacts import Found, LiveRead
from dragoman.claims.policies import WATCH_LAG
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.singleflight import SingleFlight

CONCURRENT_READS = 64
"""Live reads at the same time, over all keys: one claim may have 256 consumers to read."""
READS_OF_A_KEY = 16
"""Live reads at the same time for one key: a pod may have thousands of entries."""


@dataclass(slots=True)
class LiveReads:
    """Results of live reads while one key is reconciled."""

    # The object, or None where it does not exist, by what was read
    live: dict[LiveRead, Found] = field(default_factory=dict)
    # The errors of reads that failed
    failures: dict[LiveRead, ApiError] = field(default_factory=dict)

    def clear(self) -> None:
        """Drop all results, because the stored facts have changed."""
        self.live.clear()
        self.failures.clear()

    def check(self) -> None:
        """Raise the error of a read that failed, if there is one."""
        for error in self.failures.values():
            raise error


class LiveReader:
    """Does live reads, a bounded number at the same time.

    Thousands of pods may miss the same template, and each of them changes several times in its
    first seconds: their reads are shared, and each pod causes one read.

    Args:
        cluster: Has the informers of what is read.
    """

    def __init__(self, cluster: ClusterStores) -> None:
        self._informers: dict[str, Informer[Any] | None] = {
            "pods": cluster.pods,
            "resourceclaims": cluster.claims,
            "resourceclaimtemplates": cluster.templates,
            "podgroups": cluster.groups,
            "nodes": cluster.nodes,
        }
        self._by_kind: dict[str, Informer[Any] | None] = {
            "pod": cluster.pods,
            "claim": cluster.claims,
            "podgroup": cluster.groups,
        }
        self._templates = SingleFlight(self._read)
        self._namespaces = SingleFlight(cluster.claims.refresh_namespace)
        self._missed: OrderedDict[tuple[ObjectKey, LiveRead], float] = OrderedDict()
        self._slots = asyncio.Semaphore(CONCURRENT_READS)

    async def read(self, key: ObjectKey, reads: Sequence[LiveRead], live: LiveReads) -> None:
        """Put results into `live`; a read that fails delays no other."""
        for start in range(0, len(reads), READS_OF_A_KEY):
            await self._read_some(key, reads[start : start + READS_OF_A_KEY], live)

    async def _read_some(self, key: ObjectKey, reads: Sequence[LiveRead], live: LiveReads) -> None:
        results = await asyncio.gather(
            *(self._result(key, read) for read in reads), return_exceptions=True
        )
        for read, result in zip(reads, results, strict=True):
            if isinstance(result, ApiError):
                live.failures[read] = result
            elif isinstance(result, BaseException):
                raise result
            else:
                live.live[read] = result

    async def refresh(self, key: ObjectKey) -> None:
        """Read the object of a key and, where it may own claims, the claims of its namespace.

        The stores then hold what the server had, before dragoman acts in place of another
        controller.
        """
        informer = self._by_kind[key.kind]
        assert informer is not None, "keys exist only for served resources"
        reads = [informer.refresh(key.namespace, key.name)]
        if key.kind != "claim":
            reads.append(self._namespaces.do(key.namespace))
        await asyncio.gather(*reads)

    async def _result(self, key: ObjectKey, read: LiveRead) -> Found:
        if read.resource != "resourceclaimtemplates":
            return await self._read(read)
        clock = surroundings.monotonic
        while self._missed and next(iter(self._missed.values())) < clock() - WATCH_LAG:
            self._missed.popitem(last=False)
        if (key, read) in self._missed:
            return None
        found = await self._templates.do(read)
        if found is None:
            self._missed[key, read] = clock()
        return found

    async def _read(self, read: LiveRead) -> Found:
        informer = self._informers[read.resource]
        if informer is None:
            return None
        async with self._slots:
            found: Found = await informer.read(read.namespace, read.name)
        return found
