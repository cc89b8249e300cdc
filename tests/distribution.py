"""How `make test` spreads the tests over processes: whole files, the slowest folders first."""

from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARED = (
    *("tests/charts", "tests/e2e/chart", "tests/e2e/conformance", "tests/e2e/evictions"),
    *("tests/e2e/preemption", "tests/e2e/webhook", "tests/image"),
)
"""Folders whose files share a slow fixture or rendered charts: one process runs all of a folder."""
SLOWEST_FIRST = ("tests/e2e/chart", "tests/e2e", "tests/image", "tests/conformance")


# xdist has no types.
class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a process whole files, or whole folders of `SHARED`."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return next((one for one in SHARED if file.startswith(f"{one}/")), file)


class Distribution:
    """The pytest plugin; it acts only where pytest-xdist runs several processes."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> FileScheduling:
        """Schedule by file."""
        return FileScheduling(config, log)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Start with what takes longest, so that no process is left alone with it at the end."""
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    path = PurePosixPath(item.nodeid.split("::", 1)[0])
    parents = {str(parent) for parent in path.parents}
    ranks = (rank for rank, folder in enumerate(SLOWEST_FIRST) if folder in parents)
    return next(ranks, len(SLOWEST_FIRST))
