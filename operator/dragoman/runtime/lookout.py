"""Look at objects live that planners ask about."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.claims import Look
from dragoman.model import Claim, Pod, PodGroup
from dragoman.runtime.api import ApiError
from dragoman.runtime.mirror import Mirror, Mirrors

LOOKS = 64
"""Live reads at the same time, over all keys: one claim may have 256 consumers to look at."""

Seen = Pod | Claim | PodGroup | None


@dataclass(slots=True)
class Sight:
    """What was seen live while one key is worked on.

    Attributes:
        seen: Answers to looks: the object, or None where there is none.
        failures: Looks that were not answered, and why.
    """

    seen: dict[Look, Seen] = field(default_factory=dict)
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

    Args:
        mirrors: Where objects are.
    """

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors: dict[str, Mirror[Any] | None] = {
            "pods": mirrors.pods,
            "resourceclaims": mirrors.claims,
            "podgroups": mirrors.groups,
        }
        self._free = asyncio.Semaphore(LOOKS)

    async def see(self, looks: Sequence[Look], sight: Sight) -> None:
        """Put what the API server answers into a sight; a look that fails delays no other."""
        answers = await asyncio.gather(
            *(self._look(look) for look in looks), return_exceptions=True
        )
        for look, answer in zip(looks, answers, strict=True):
            if isinstance(answer, ApiError):
                sight.failures[look] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                sight.seen[look] = answer

    async def _look(self, look: Look) -> Seen:
        mirror = self._mirrors[look.resource]
        if mirror is None:
            return None
        async with self._free:
            found: Seen = await mirror.read(look.namespace, look.name)
        return found
