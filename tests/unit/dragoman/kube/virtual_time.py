"""An event loop whose clock jumps to the next timer: hours pass in no time, always the same way."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dragoman.surroundings import Surroundings, using

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
EPSILON = 1e-9
BEGIN = 1000.0


class _Selector(selectors.SelectSelector):
    """Lets virtual time pass where others would wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGIN

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits, and nothing will ever happen")
        if not ready and timeout:
            self.now += timeout + EPSILON
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never sleeps; `time` moves only when nothing else is left to do."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the virtual seconds."""
        return self._clock.now


def run(work: Coroutine[Any, Any, Result], loop: VirtualLoop) -> Result:
    """Run to the end, cancel what is left, and close the loop."""
    virtual = using(Surroundings(monotonic=loop.time))
    with virtual, asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(work)


def in_virtual_time(
    work: Callable[Arguments, Coroutine[Any, Any, Result]],
) -> Callable[Arguments, Result]:
    """Make a test of a coroutine function."""

    @wraps(work)
    def test(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return run(work(*args, **kwargs), VirtualLoop())

    return test


def now() -> float:
    """Return the seconds since the running loop began, to the microsecond."""
    return round(asyncio.get_running_loop().time() - BEGIN, 6)


class Clock:
    """A monotonic clock that tests set."""

    def __init__(self) -> None:
        self.seconds = BEGIN

    def __call__(self) -> float:
        return self.seconds
