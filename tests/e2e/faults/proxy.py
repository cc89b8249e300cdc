"""A proxy between the operator and the API server that refuses, delays, cuts and loses.

It ends TLS on loopback with a certificate of the same authority, passes tokens on, and runs in a
thread of its own. Rules are looked at for every request; watches that are open already can be
ended in any way.
"""

import asyncio
import random
import ssl
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

from tests.e2e.faults.streams import Ending, Stream
from tests.support.controlplane.credentials import Credentials
from tests.support.controlplane.process import free_ports

PASSED_ON = ("Authorization", "Content-Type", "Accept", "User-Agent")
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Call:
    """A request, as rules see it."""

    method: str
    path: str
    query: dict[str, str]
    token: str

    @property
    def watches(self) -> bool:
        """Whether it is a watch, a streaming list included."""
        return self.query.get("watch") == "true"

    @property
    def writes(self) -> bool:
        """Whether it changes something other than the Lease or Events."""
        return self.method in WRITES and "/leases" not in self.path and "/events" not in self.path

    def is_about(self, *plurals: str) -> bool:
        """Whether it concerns one of these resources."""
        return any(f"/{plural}" in self.path for plural in plurals)


class Loss(Enum):
    """Where a connection breaks: before the server has done anything, or before it answers."""

    BEFORE = "before"
    AFTER = "after"


@dataclass
class Rule:
    """What happens to some of the requests.

    Attributes:
        applies: To which requests.
        code: Answer with this HTTP status; 0 for none.
        reason: Of that answer.
        retry_after: Seconds in its Retry-After header.
        loss: Break the connection.
        delay: Seconds before the request goes on.
        hangs: Never answer.
        lag: Seconds by which each line of a watch comes late.
        rewrite: Query parameters to replace.
        share: How many of these requests it befalls: 1 for all.
        times: After so many it is over; None for never.
        hits: How many it has befallen.
    """

    applies: Callable[[Call], bool] = lambda _: True
    code: int = 0
    reason: str = "InternalError"
    retry_after: int | None = None
    loss: Loss | None = None
    delay: float = 0.0
    hangs: bool = False
    lag: float = 0.0
    rewrite: dict[str, str] | None = None
    share: float = 1.0
    times: int | None = None
    hits: int = 0


class FaultProxy:
    """Stands between one user and the API server.

    Args:
        credentials: Of the control plane.
        chance: Decides whom rules befall that hold for a share of requests.
    """

    def __init__(self, credentials: Credentials, chance: random.Random) -> None:
        self._upstream = credentials.server
        self._chance = chance
        self._pair = credentials.authority.serving("fault-proxy")
        self._trust = ssl.create_default_context(cafile=str(credentials.keys.authority))
        (self._port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{self._port}"
        self._rules: list[Rule] = []
        self._streams: set[Stream] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        self._run(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close everything."""
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    # Faults -----------------------------------------------------------------------------------

    def add(self, *rules: Rule) -> Rule:
        """Let rules hold from now on; returns the first of them."""
        self._rules = [*self._rules, *rules]
        return rules[0]

    def heal(self) -> None:
        """Let all rules end, and break what hangs."""
        self._rules = []
        self.end_watches(Ending.RESET, only_stalled=True)

    def end_watches(self, how: Ending, *plurals: str, only_stalled: bool = False) -> int:
        """End the watches that are open now; returns how many there were."""

        async def end() -> int:
            ended = [
                stream
                for stream in self._streams
                if (not plurals or stream.plural in plurals)
                and (stream.stalled or not only_stalled)
            ]
            for stream in ended:
                stream.end(how)
            return len(ended)

        ended: int = self._run(end())
        return ended

    # Inner parts ------------------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _start(self) -> None:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._trust),
            timeout=aiohttp.ClientTimeout(total=None, connect=5),
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
        )
        application = web.Application(client_max_size=64 << 20)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(self._pair.certificate, self._pair.key)
        await web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=serving).start()

    async def _stop(self) -> None:
        for stream in list(self._streams):
            stream.end(Ending.RESET)
        await self._runner.cleanup()
        await self._client.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # Transports close one after the other, each in a later turn of the loop.
        await asyncio.sleep(0.2)

    def _befalling(self, call: Call) -> list[Rule]:
        found = []
        for rule in self._rules:
            over = rule.times is not None and rule.hits >= rule.times
            if not over and rule.applies(call) and self._chance.random() < rule.share:
                rule.hits += 1
                found.append(rule)
        return found

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        call = Call(request.method, request.path, dict(request.query), token)
        rules = self._befalling(call)
        for rule in rules:
            await asyncio.sleep(3600 if rule.hangs else rule.delay)
            if rule.code:
                return _refusal(rule)
            if rule.loss is Loss.BEFORE:
                return _broken(request)
        try:
            return await self._forward(request, call, rules)
        except (aiohttp.ClientError, OSError):
            return _broken(request)

    async def _forward(
        self, request: web.Request, call: Call, rules: list[Rule]
    ) -> web.StreamResponse:
        query = dict(call.query)
        for rule in rules:
            query |= {key: new for key, new in (rule.rewrite or {}).items() if key in query}
        async with self._client.request(
            call.method,
            self._upstream + call.path,
            params=query,
            data=await request.read() or None,
            headers={key: request.headers[key] for key in PASSED_ON if key in request.headers},
        ) as answer:
            if call.watches and answer.status == 200:
                return await self._relay(
                    request, call, answer, max((r.lag for r in rules), default=0)
                )
            body = await answer.read()
            if any(rule.loss is Loss.AFTER for rule in rules):
                return _broken(request)
            kept = {key: answer.headers[key] for key in ("Retry-After",) if key in answer.headers}
            kind = answer.headers.get("Content-Type", "application/json")
            return web.Response(
                body=body, status=answer.status, headers={**kept, "Content-Type": kind}
            )

    async def _relay(
        self, request: web.Request, call: Call, answer: aiohttp.ClientResponse, lag: float
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        stream = Stream(request, response, answer, call.path.rpartition("/")[2], lag)
        self._streams.add(stream)
        try:
            with suppress(ConnectionError):
                await stream.relay()
        finally:
            self._streams.discard(stream)
        return response


def _refusal(rule: Rule) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": rule.reason,
        "message": f"{rule.reason}, says the proxy",
        "code": rule.code,
    }
    headers = {} if rule.retry_after is None else {"Retry-After": str(rule.retry_after)}
    return web.json_response(status, status=rule.code, headers=headers)


def _broken(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)
