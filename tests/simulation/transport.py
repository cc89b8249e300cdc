"""In place of the product's connections: latency, faults, watches, and API servers that lag."""

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from dragoman.kube.http.request import Request
from dragoman.kube.http.response import ConnectError, HttpError, Response, StatusError
from dragoman.kube.http.stream import Predicate
from dragoman.kube.kubeconfig import Credentials
from tests.simulation.requests import Answer, bookmark, handle, line_of, listed, place
from tests.simulation.rules import Refusal
from tests.simulation.server import Commit

if TYPE_CHECKING:
    from tests.simulation.faults import Fate
    from tests.simulation.replica import Replica
    from tests.simulation.simulation import Simulation

SILENCE = 90.0
"""Seconds without a line after which a watch is dead, as in dragoman.kube.http.pool."""
IN_ORDER = 1e-5
"""Seconds between lines of one watch, which arrive in their order."""
BOOKMARKS = 60.0
"""Seconds between bookmarks."""


class NoCredentials(Credentials):
    """Of a server that asks for none."""

    def __init__(self) -> None:
        self.impersonation = ()

    @property
    def server(self) -> str:
        return "http://model"

    def acting_as(self, _account: str) -> Credentials:
        return self

    async def authorization(self) -> str | None:
        return None

    async def renew(self) -> None: ...


@dataclass(eq=False)
class Instance:
    """One API server: its watch caches lag behind etcd, each resource by its own."""

    sim: "Simulation"
    name: str
    stalled: dict[str, float] = field(default_factory=dict)  # Plural -> until when
    watches: list["Watch"] = field(default_factory=list)
    visible: dict[int, float] = field(default_factory=dict)  # Version -> when it is in the cache
    _due: dict[str, float] = field(default_factory=dict)

    def version(self, plural: str) -> int:
        """Return the version that the watch cache has reached."""
        for commit in reversed(self.sim.server.history.get(plural, ())):
            if self.visible.get(commit.rv, 0.0) <= self.sim.now:
                return commit.rv
        return 0

    def commit(self, commit: Commit) -> None:
        """Let watches have a commit once the watch cache has it."""
        lag = self.sim.profile.lag(self.sim.network)
        due = max(
            self._due.get(commit.plural, 0.0),
            self.sim.now + lag,
            self.stalled.get(commit.plural, 0.0),
        )
        self._due[commit.plural] = self.visible[commit.rv] = due
        for watch in [one for one in self.watches if one.plural == commit.plural]:
            watch.queue(commit, due)

    def roll_back(self, version: int) -> None:
        """Forget newer versions than a restored etcd has."""
        self.visible = {rv: when for rv, when in self.visible.items() if rv <= version}


class Watch:
    """One watch connection."""

    def __init__(
        self,
        pool: "SimulatedPool",
        plural: str,
        namespace: str,
        query: dict[str, str],
        predicate: Predicate,
    ) -> None:
        self.pool, self.sim, self.loop = pool, pool.sim, pool.sim.loop
        self.plural, self.namespace, self.query = plural, namespace, query
        self.predicate = predicate
        self.inbox: deque[bytes] = deque()
        self.lines: list[bytes] = []
        self.waiter: asyncio.Future[None] | None = None
        self.error: HttpError | None = None
        self.ended, self.open = False, True
        self.from_rv, self.due, self.touched = 0, 0.0, 0.0
        self._context = contextvars.copy_context()

    def queue(self, commit: Commit, due: float) -> None:
        """Send a commit once it is due, or break the connection before it."""
        sim = self.sim
        if commit.rv <= self.from_rv or not self.open:
            return
        if sim.faults.misses(commit):  # the connection breaks, and cannot continue there
            sim.server.compact(self.plural)
            self.cut(HttpError("connection lost"))
            return
        due = max(due, sim.now, sim.faults.held(self)) + sim.profile.latency(sim.network)
        self.due = max(due, self.due + IN_ORDER)
        self.loop.world_later(self.due - sim.now, self._arrive, commit)

    def feed(self, lines: Iterable[bytes]) -> None:
        """Let the client have lines."""
        self.inbox.extend(lines)
        self.loop.call_soon(self._readable, context=self._context.copy())

    def cut(self, error: HttpError | None = None) -> None:
        """End the stream, with an error or in order."""
        if self.open:
            self.error, self.ended, self.open = error, error is None, False
            self.loop.call_soon(self._wake, context=self._context.copy())
            self.sim.forget_watch(self)

    def expire(self) -> None:
        """Break the connection where it has been silent for too long."""
        if not self.open or self.lines:
            return
        left = self.touched + SILENCE - self.sim.now
        if left > 0.001:
            self.loop.call_later(left, self.expire)
        else:
            self.cut(HttpError("no line for 90 s"))

    def tick(self) -> None:
        """Send a bookmark each minute, of a version of which everything was sent.

        A watch from a version that the server has not issued yet gets none: process() in
        storage/cacher/cache_watcher.go of k8s.io/apiserver drops what is older.
        """
        if not self.open:
            return
        sim = self.sim
        known = self.from_rv <= sim.server.rv
        if known and self.due <= sim.now and sim.faults.held(self) <= sim.now:
            history = sim.server.history.get(self.plural)
            if not history or history[-1].time < sim.now - 1.0:
                version = max(self.from_rv, history[-1].rv if history else 0)
                self.feed([bookmark(self.plural, version)])
        self.loop.world_later(BOOKMARKS, self.tick)

    def _arrive(self, commit: Commit) -> None:
        if not self.open or self.error:
            return
        line = line_of(commit, self.namespace, self.query)
        if line is not None:
            self.feed([line])

    def _readable(self) -> None:
        while self.inbox:
            line = self.inbox.popleft()
            if self.predicate(line):
                self.lines.append(line)
        self.touched = self.sim.now
        if self.lines:
            self._wake()

    def _wake(self) -> None:
        if self.inbox:
            self._readable()
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class SimulatedPool:
    """Carries the requests of one process to the model."""

    def __init__(self, sim: "Simulation", replica: "Replica") -> None:
        self.sim, self.replica, self.loop = sim, replica, sim.loop
        self.users = 0  # Clients that are open
        self.watches: dict[Watch, None] = {}

    @property
    def closed(self) -> bool:
        return not self.users

    def reload_tls(self) -> None:
        self.users += 1  # each client begins with this

    async def close(self) -> None:
        self.users -= 1
        if self.users:
            return
        for watch in list(self.watches):
            watch.cut(HttpError("closed"))

    async def send(self, request: Request) -> Response:
        sim, replica, loop = self.sim, self.replica, self.loop
        if self.closed:
            raise ConnectError("closed")
        sent, fate = sim.now, sim.faults.request(replica, request)
        if fate.kill == "before":
            sim.kill(replica)
            await loop.create_future()
        if fate.refused:
            await self._pass(sim.profile.latency(sim.network))
            raise ConnectError("connection refused")
        sim.invariants.sent(replica, request)
        if fate.zombie:
            loop.world_later(fate.zombie, self._do_late, request, sent)
            await self._pass(0.01)
            raise HttpError("the connection broke")
        answer: asyncio.Future[Answer | None] = loop.create_future()
        early = sim.profile.latency(sim.network) + fate.early
        loop.world_later(early, self._arrive, request, fate, answer, sent)
        result = await answer
        if result is None:
            raise HttpError("the connection broke")
        status, body, retry_after = result
        sim.invariants.answered(replica, request, status, body)
        return Response(status, retry_after, body)

    async def stream(
        self, request: Request, predicate: Predicate
    ) -> AsyncGenerator[list[bytes], None]:
        self.replica.observe_informers()
        url = urlsplit(request.target)
        if url.path == "/metrics":
            raise StatusError(Response(403, None, b"{}"))
        plural, namespace, _, _ = place(url.path)
        watch = Watch(self, plural, namespace, dict(parse_qsl(url.query)), predicate)
        opened: asyncio.Future[Response | HttpError | None] = self.loop.create_future()
        refused = self.sim.faults.watch(self.replica)
        latency = self.sim.profile.latency(self.sim.network)
        self.loop.world_later(latency, self._open, watch, opened, refused, self.sim.now)
        self.watches[watch] = None
        try:
            outcome = await opened
            if isinstance(outcome, Response):
                raise StatusError(outcome)
            if outcome is not None:
                raise outcome
            async for lines in _batches(watch):
                yield lines
        finally:
            watch.open = False
            self.sim.forget_watch(watch)
            self.watches.pop(watch, None)

    def _arrive(
        self, request: Request, fate: "Fate", answer: "asyncio.Future[Answer | None]", sent: float
    ) -> None:
        """Do what the request asks for, and send the answer on its way."""
        sim = self.sim
        if self._is_broken(sent):
            _answer(answer, None)
            return
        result = fate.status or self._do(request)
        if fate.kill == "after":
            sim.kill(self.replica)
        if fate.lost:
            self.loop.world_later(fate.lost, _answer, answer, None)
        else:
            late = sim.profile.latency(sim.network) + fate.late
            result = fate.status_after or result
            self.loop.world_later(late, self._answered, answer, result, sent)

    def _answered(
        self, answer: "asyncio.Future[Answer | None]", result: Answer, sent: float
    ) -> None:
        _answer(answer, None if self._is_broken(sent) else result)

    def _is_broken(self, sent: float) -> bool:
        """Whether API servers were restarted since a request was sent, or are down."""
        return sent <= self.sim.restored or self.sim.now < self.sim.down_until

    def _do_late(self, request: Request, sent: float) -> None:
        if not self._is_broken(sent):
            self._do(request)

    def _do(self, request: Request) -> Answer:
        return handle(
            self.sim.server,
            self.replica.name,
            request.method,
            request.target,
            request.body,
            request.content_type,
            self.replica.instance,
        )

    async def _pass(self, seconds: float) -> None:
        passed: asyncio.Future[None] = self.loop.create_future()
        self.loop.call_later(seconds, settled, passed)
        await passed

    def _open(
        self,
        watch: Watch,
        opened: "asyncio.Future[Any]",
        refused: Response | HttpError | None,
        sent: float,
    ) -> None:
        sim, server = self.sim, self.sim.server
        if opened.done():
            return
        if self._is_broken(sent):
            refused = HttpError("connection reset")
        opened.set_result(refused)
        if refused is not None:
            return
        plural, query, instance = watch.plural, watch.query, self.replica.instance
        if query.get("sendInitialEvents") == "true":
            watch.from_rv = self._send_list(watch)
        else:
            start = int(query.get("resourceVersion") or server.rv)
            if start < server.compacted.get(plural, 0):
                status = Refusal(410, "Expired", f"too old resource version: {start}").body()
                watch.feed([b'{"type":"ERROR","object":%s}' % status])
                sim.loop.world_later(0.001, watch.cut, None)
                return
            watch.from_rv = start
        for commit in server.since(plural, watch.from_rv):
            watch.queue(commit, instance.visible.get(commit.rv, 0.0))
        if not watch.open:
            return
        instance.watches.append(watch)
        sim.loop.world_later(float(query.get("timeoutSeconds") or 300), watch.cut, None)
        sim.loop.world_later(BOOKMARKS, watch.tick)
        life = sim.faults.lifetime()
        if life:
            sim.loop.world_later(life, watch.cut, HttpError("connection lost"))

    def _send_list(self, watch: Watch) -> int:
        """Send a streaming list (KEP-3157), and return its version.

        It is consistent: the watch cache is at least as new as etcd was at the request. With
        resourceVersion=0 it is what the cache happens to have.
        """
        server, plural = self.sim.server, watch.plural
        version = server.rv
        if watch.query.get("resourceVersion") == "0":
            version = min(version, self.replica.instance.version(plural))
        watch.feed(listed(server, plural, version, watch.namespace, watch.query))
        return version


async def _batches(watch: Watch) -> AsyncGenerator[list[bytes], None]:
    while True:
        while not watch.lines and watch.error is None and not watch.ended:
            watch.waiter = watch.loop.create_future()
            timer = watch.loop.call_later(SILENCE, watch.expire)
            try:
                await watch.waiter
            finally:
                timer.cancel()
        if watch.lines:
            lines, watch.lines = watch.lines, []
            yield lines
        elif watch.error is not None:
            raise watch.error
        else:
            return


def _answer(future: "asyncio.Future[Answer | None]", result: Answer | None) -> None:
    if not future.done():
        future.set_result(result)


def settled(future: "asyncio.Future[None]") -> None:
    """End a wait, unless it has ended."""
    if not future.done():
        future.set_result(None)
