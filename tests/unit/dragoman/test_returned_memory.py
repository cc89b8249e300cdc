"""Memory that lies between live objects goes back to the system."""

import asyncio
import ctypes
import os
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman.process import operator

if not hasattr(ctypes.CDLL(None), "malloc_trim"):
    pytest.skip("this C library returns memory in its own way", allow_module_level=True)

MEBIBYTE = 1 << 20


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def test_what_lies_between_live_objects_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [bytes(4000) + b"x" for _ in range(10_000)]  # 38 MiB of the heap
    live = blocks[::100]
    del blocks
    before = resident()
    waits = iter((None, asyncio.CancelledError))

    async def sleep(_: float) -> None:
        if (ended := next(waits)) is not None:
            raise ended

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with suppress(asyncio.CancelledError):
        await operator.return_memory()
    assert before - resident() > 20 * MEBIBYTE
    assert len(live) == 100
