"""One browser for each module: Playwright's event loop must end before other tests start theirs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dragoman.inventory.snapshots.snapshot import dump
from tests.support.worlds import inventory as builders
from tests.ui.browser import DESKTOP, Window, chromium

Open = Callable[..., Page]
expect.set_options(timeout=30_000)


browser = pytest.fixture(chromium, scope="module", name="browser")


@pytest.fixture
def windows(browser: Browser) -> Iterator[Callable[..., Window]]:
    """Open windows; afterwards none of them may have reported an error."""
    opened: list[Window] = []

    def open_window(size: tuple[int, int] = DESKTOP, **more: Any) -> Window:
        opened.append(Window(browser, size, **more))
        return opened[-1]

    yield open_window
    errors = [error for window in opened for error in window.errors]
    for window in opened:
        window.close()
    assert errors == []


def snapshot_file(folder: Path, *manifests: Any) -> Path:
    """Write a snapshot of manifests."""
    file = folder / "cluster.jsonl"
    file.write_bytes(b"".join(dump(builders.snapshot(*manifests), version="test")))
    return file
