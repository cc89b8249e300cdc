"""One open watch, passed on line by line, and the ways in which it can end."""

import asyncio
from enum import Enum
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.scriptedserver import error


class Ending(Enum):
    """How a watch ends, or why nothing comes any more."""

    EXPIRED = "ERROR 410 in the stream"
    FAILED = "ERROR 500 in the stream"
    BUSY = "ERROR 429 in the stream"
    GARBLED = "a line that is no JSON"
    CLEAN = "a clean end"
    RESET = "a reset"
    CUT_AND_RESET = "half a line, then a reset"
    CUT_AND_CLEAN = "half a line, then a clean end"
    STALL = "silence"


LAST_WORDS = {
    Ending.EXPIRED: error(410, "Expired"),
    Ending.FAILED: error(500, "InternalError"),
    Ending.BUSY: error(429, "TooManyRequests"),
    Ending.GARBLED: b"upstream connect error\n",
    Ending.CUT_AND_RESET: b'{"type":"ADDED","object":{"metada',
    Ending.CUT_AND_CLEAN: b'{"type":"ADDED","object":{"metada',
}


class Stream:
    """Passes the lines of a watch on until it is told to end it.

    Args:
        request: Of the operator.
        response: To it.
        answer: Of the API server.
        plural: What is watched.
        lag: Seconds by which lines come late.
    """

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        answer: aiohttp.ClientResponse,
        plural: str,
        lag: float,
    ) -> None:
        self.plural = plural
        self.stalled = False
        self._request = request
        self._response = response
        self._answer = answer
        self._lag = lag
        self._ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, how: Ending) -> None:
        """End it soon; a stalled one can be ended again."""
        if self._ending.done():
            self._ending = asyncio.get_running_loop().create_future()
            self._break()
        else:
            self._ending.set_result(how)

    async def relay(self) -> None:
        """Pass lines on until the server or somebody here ends it."""
        lines: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        tasks = [asyncio.create_task(self._read(lines)), asyncio.create_task(self._write(lines))]
        try:
            waits: set[asyncio.Future[Any]] = {tasks[1], self._ending}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if self._ending.done():
            await self._end(self._ending.result())

    async def _read(self, lines: "asyncio.Queue[tuple[float, bytes] | None]") -> None:
        clock = asyncio.get_running_loop().time
        rest = b""
        try:
            async for chunk in self._answer.content.iter_any():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    lines.put_nowait((clock() + self._lag, line + b"\n"))
        except (aiohttp.ClientError, OSError):
            self._break()
        finally:
            lines.put_nowait(None)

    async def _write(self, lines: "asyncio.Queue[tuple[float, bytes] | None]") -> None:
        clock = asyncio.get_running_loop().time
        while (item := await lines.get()) is not None:
            due, line = item
            if due > clock():
                await asyncio.sleep(due - clock())
            await self._response.write(line)

    async def _end(self, how: Ending) -> None:
        if how is Ending.STALL:
            self.stalled = True
            await asyncio.sleep(3600)
        if how in LAST_WORDS:
            await self._response.write(LAST_WORDS[how])
        if how in {Ending.RESET, Ending.CUT_AND_RESET}:
            self._break()

    def _break(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()
