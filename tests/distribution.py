"""How `make test` spreads the tests over processes: whole files, the slowest folders first.

Tests of real processes mostly wait, unit tests compute: files of both kinds run side by side.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARED = (
    *("tests/charts", "tests/e2e/chart", "tests/e2e/conformance", "tests/e2e/evictions"),
    *("tests/e2e/preemption", "tests/e2e/webhook", "tests/image"),
)
"""Folders whose files share a slow fixture or rendered charts: one process runs all of a folder."""
WAITING = ("tests/e2e/", "tests/ui/", "tests/image", "tests/support/")
BESIDE = 2
"""Files of other tests behind each file of tests that wait; the rest of them comes last."""
SLOWEST_FIRST = ("tests/e2e/chart", "tests/e2e", "tests/image", "tests/conformance")


def scope(nodeid: str) -> str:
    """Return the file of a test, or its folder of `SHARED`: what one process runs."""
    file = nodeid.split("::", 1)[0]
    return next((one for one in SHARED if file.startswith(f"{one}/")), file)


# xdist has no types.
class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a process whole files, or whole folders of `SHARED`."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


class Distribution:
    """The pytest plugin; it acts only where pytest-xdist runs several processes."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> FileScheduling:
        """Schedule by file."""
        return FileScheduling(config, log)

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Start with what takes longest, so that no process is left alone with it at the end."""
        items.sort(key=_rank)
        if hasattr(config, "workerinput"):
            items[:] = _side_by_side(items)


def _side_by_side(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    scopes: dict[str, list[pytest.Item]] = {}
    for item in items:
        scopes.setdefault(scope(item.nodeid), []).append(item)
    computing = (tests for name, tests in scopes.items() if not f"{name}/".startswith(WAITING))
    for name, tests in scopes.items():
        if f"{name}/".startswith(WAITING):
            yield from tests
            yield from chain.from_iterable(islice(computing, BESIDE))
    yield from chain.from_iterable(computing)


def _rank(item: pytest.Item) -> int:
    path = PurePosixPath(item.nodeid.split("::", 1)[0])
    parents = {str(parent) for parent in path.parents}
    ranks = (rank for rank, folder in enumerate(SLOWEST_FIRST) if folder in parents)
    return next(ranks, len(SLOWEST_FIRST))
