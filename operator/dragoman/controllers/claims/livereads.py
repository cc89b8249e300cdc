"""Look at objects live that planners ask about."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.claims import WATCH_LAG, Found, Look
from dragoman.controllers.claims.enqueue import Key
from dragoman.kube.client import ApiError
from dragoman.kube.informer import Mirror, Mirrors
from dragoman.kube.singleflight import Shared

LOOKS = 64
"""Live reads at the same time, over all keys: one claim may have 256 consumers to look at."""


@dataclass(slots=True)
class Sight:
    """What was seen live while one key is worked on.

    Attributes:
        seen: Answers to looks: the object, or None where there is none.
        failures: Looks that were not answered, and why.
    """

    seen: dict[Look, Found] = field(default_factory=dict)
    failures: dict[Look, ApiError] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything: the world has changed."""
        self.seen.clear()
        self.failures.clear()

    def check(self) -> None:
        """Raise the error of a look that was not answered, if there is one."""
        for error in self.failures.values():
            raise error


class Lookout:
    """Answers looks, so many at the same time.

    A template that is missing may be missed by thousands of pods, each of which changes some times
    in its first seconds: they ask together, and each of them once.

    Args:
        mirrors: Where objects are.
    """

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors: dict[str, Mirror[Any] | None] = {
            "pods": mirrors.pods,
            "resourceclaims": mirrors.claims,
            "resourceclaimtemplates": mirrors.templates,
            "podgroups": mirrors.groups,
        }
        self._templates = Shared(self._read)
        self._missed: OrderedDict[tuple[Key, Look], float] = OrderedDict()
        self._free = asyncio.Semaphore(LOOKS)

    async def see(self, key: Key, looks: Sequence[Look], sight: Sight) -> None:
        """Put what the API server answers into the sight of a key; who fails delays no other."""
        answers = await asyncio.gather(
            *(self._look(key, look) for look in looks), return_exceptions=True
        )
        for look, answer in zip(looks, answers, strict=True):
            if isinstance(answer, ApiError):
                sight.failures[look] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                sight.seen[look] = answer

    async def _look(self, key: Key, look: Look) -> Found:
        if look.resource != "resourceclaimtemplates":
            return await self._read(look)
        clock = asyncio.get_running_loop().time
        while self._missed and next(iter(self._missed.values())) < clock() - WATCH_LAG:
            self._missed.popitem(last=False)
        if (key, look) in self._missed:
            return None
        found = await self._templates.ask(look)
        if found is None:
            self._missed[key, look] = clock()
        return found

    async def _read(self, look: Look) -> Found:
        mirror = self._mirrors[look.resource]
        if mirror is None:
            return None
        async with self._free:
            found: Found = await mirror.read(look.namespace, look.name)
        return found
