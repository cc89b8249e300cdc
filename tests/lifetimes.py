"""Ends what a session shares, such as control planes, once no later test can ask for it.

Otherwise each of them lives until the session ends, and costs time while nobody needs it.
"""

from collections.abc import Generator
from typing import Any

import pytest

Fixture = pytest.FixtureDef[Any]
Made = tuple[int, Fixture, Any]
LONG = {"package", "session"}


class Lifetimes:
    """The pytest plugin.

    A process that runs files in another order than that of their collection ends nothing early
    that is used again: it makes what it has ended a second time.
    """

    def __init__(self) -> None:
        self._made: list[Made] = []
        self._positions: dict[pytest.Item, int] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the order of the tests."""
        self._positions = {item: position for position, item in enumerate(session.items)}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: Fixture, request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Note what lives long, and the last test that asks for it."""
        made = yield
        if fixturedef.scope in LONG and fixturedef.baseid:
            self._made.append((self._last(fixturedef), fixturedef, request))
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """End what neither the next file nor a later one has use for, the newest first."""
        done = yield
        if nextitem is not None and nextitem.path != item.path:
            for made in reversed(self._made):
                last, fixture, request = made
                if last < self._positions[nextitem]:
                    self._made.remove(made)
                    fixture.finish(request)
        return done

    def _last(self, fixture: Fixture) -> int:
        asking = (
            position
            for item, position in self._positions.items()
            if item.nodeid.startswith(fixture.baseid)
            and fixture.argname in getattr(item, "fixturenames", ())
        )
        return max(asking, default=len(self._positions))
