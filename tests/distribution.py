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
SLOWEST_FIRST = ("tests/e2e/chart", "tests/e2e/webhook", "tests/e2e/preemption", "tests/e2e")
PLANE = "plane"
THEN = ("tests/docs", "tests/image", "tests/conformance")
"""After the tests that ask for the session's control plane."""


# xdist has no types.
class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a process whole files, or whole folders of `SHARED`.

    One process of several takes them from the end: it computes while the others wait for control
    planes, and starts no control plane for that.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return next((one for one in SHARED if file.startswith(f"{one}/")), file)

    def _assign_work_unit(self, node: Any) -> None:
        if len(self.nodes) > 2 and node is self.nodes[-1]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


class Distribution:
    """The pytest plugin; it acts only where pytest-xdist runs several processes."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> FileScheduling:
        """Schedule by file."""
        return FileScheduling(config, log)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Start with what takes longest, so that no process is left alone with it at the end."""
        needing = {_file(item) for item in items if PLANE in getattr(item, "fixturenames", ())}
        items.sort(key=lambda item: _rank(_file(item), needing))


def _rank(file: str, needing: set[str]) -> int:
    folders = {str(parent) for parent in PurePosixPath(file).parents}
    order = [
        *(folder in folders for folder in SLOWEST_FIRST),
        file in needing,
        *(folder in folders for folder in THEN),
        True,
    ]
    return order.index(True)


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::", 1)[0]
