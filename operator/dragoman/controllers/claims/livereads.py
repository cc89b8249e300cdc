"""Look at objects live that planners ask about."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.claims import WATCH_LAG, Found, LiveRead
from dragoman.controllers.claims.enqueue import Key
from dragoman.kube.client import ApiError
from dragoman.kube.informer import Informer, Informers
from dragoman.kube.singleflight import SingleFlight

LOOKS = 64
"""Live reads at the same time, over all keys: one claim may have 256 consumers to look at."""


@dataclass(slots=True)
class LiveReads:
    """What was seen live while one key is worked on.

    Attributes:
        seen: Answers to looks: the object, or None where there is none.
        failures: Looks that were not answered, and why.
    """

    live: dict[LiveRead, Found] = field(default_factory=dict)
    failures: dict[LiveRead, ApiError] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything: the world has changed."""
        self.live.clear()
        self.failures.clear()

    def check(self) -> None:
        """Raise the error of a look that was not answered, if there is one."""
        for error in self.failures.values():
            raise error


class LiveReader:
    """Answers looks, so many at the same time.

    A template that is missing may be missed by thousands of pods, each of which changes some times
    in its first seconds: they ask together, and each of them once.

    Args:
        mirrors: Where objects are.
    """

    def __init__(self, informers: Informers) -> None:
        self._informers: dict[str, Informer[Any] | None] = {
            "pods": informers.pods,
            "resourceclaims": informers.claims,
            "resourceclaimtemplates": informers.templates,
            "podgroups": informers.groups,
        }
        self._templates = SingleFlight(self._read)
        self._missed: OrderedDict[tuple[Key, LiveRead], float] = OrderedDict()
        self._free = asyncio.Semaphore(LOOKS)

    async def see(self, key: Key, live_reads: Sequence[LiveRead], live: LiveReads) -> None:
        """Put what the API server answers into the sight of a key; who fails delays no other."""
        answers = await asyncio.gather(
            *(self._look(key, read) for read in live_reads), return_exceptions=True
        )
        for read, answer in zip(live_reads, answers, strict=True):
            if isinstance(answer, ApiError):
                live.failures[read] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                live.live[read] = answer

    async def _look(self, key: Key, read: LiveRead) -> Found:
        if read.resource != "resourceclaimtemplates":
            return await self._read(read)
        clock = asyncio.get_running_loop().time
        while self._missed and next(iter(self._missed.values())) < clock() - WATCH_LAG:
            self._missed.popitem(last=False)
        if (key, read) in self._missed:
            return None
        found = await self._templates.ask(read)
        if found is None:
            self._missed[key, read] = clock()
        return found

    async def _read(self, read: LiveRead) -> Found:
        informer = self._informers[read.resource]
        if informer is None:
            return None
        async with self._free:
            found: Found = await informer.read(read.namespace, read.name)
        return found
