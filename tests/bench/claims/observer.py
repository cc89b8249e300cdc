"""See from outside what a controller does: watches that look at bytes and clock, nothing more."""

import http.client
import ssl
import threading
import time
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import orjson

from tests.bench.claims import objects
from tests.bench.claims.traffic import Server

CHUNK = 1 << 18
NAME, PUBLISHED = b'"name":"', b'"resourceClaimName":"'
FREE = b'"allocation":{'


class Watch(threading.Thread):
    """Watch one collection from now on, in a thread; a context manager.

    Attributes:
        events: How many events of each kind came: ADDED, MODIFIED, DELETED.
        last: When the last event came, by the monotonic clock; when it began before the first.
    """

    def __init__(self, server: Server, path: str) -> None:
        super().__init__(daemon=True)
        self.events: Counter[str] = Counter()
        self.last = time.monotonic()
        self._path = path
        self._headers = {"Authorization": f"Bearer {server.token}"}
        context = ssl.create_default_context(cafile=str(server.authority))
        host = urlsplit(server.url).netloc
        self._connection = http.client.HTTPSConnection(host, context=context, timeout=600)
        self._fault: Exception | None = None
        self._ending = False
        self._version = ""

    def __enter__(self) -> Self:
        """Begin; what is changed after this is seen."""
        listed = orjson.loads(self._get(f"{self._path}?limit=1").read())
        self._version = listed["metadata"]["resourceVersion"]
        self._watch(self._version)
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._ending = True
        with suppress(OSError):
            if self._connection.sock is not None:
                self._connection.sock.shutdown(2)
        self.join(10)
        self._connection.close()

    def check(self) -> None:
        """Raise RuntimeError where the watch is over: what it counted is not everything."""
        if self._fault is not None or not self.is_alive():
            raise RuntimeError(f"the watch of {self._path} ended: {self._fault}")

    def quiet(self) -> float:
        """Return for how many seconds nothing has come."""
        return time.monotonic() - self.last

    def run(self) -> None:
        """Read lines until the end.

        The server ends the watch of a reader that falls behind: it goes on where it ended.
        """
        version = self._version
        try:
            while not self._ending:
                if line := self._read():
                    version = orjson.loads(line)["object"]["metadata"]["resourceVersion"]
                if not self._ending:
                    self._watch(version)
        except (OSError, ValueError, http.client.HTTPException, RuntimeError) as error:
            if not self._ending:
                self._fault = error

    def _read(self) -> bytes:
        """Read one watch to its end; return its last line."""
        rest, last = b"", b""
        while chunk := self._response.read1(CHUNK):
            now = time.monotonic()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(line, now)
                last = line
        return last

    def _take(self, line: bytes, now: float) -> None:
        kind = line[9 : line.index(b'"', 9)].decode()
        start = line.index(NAME) + len(NAME)
        name = line[start : line.index(b'"', start)].decode()
        self.events[kind] += 1
        self.last = now
        self.saw(kind, name, line, now)

    def saw(self, kind: str, name: str, line: bytes, now: float) -> None:
        """Take note of an event; other watches look closer here."""

    def _watch(self, version: str) -> None:
        self._response = self._get(f"{self._path}?watch=true&resourceVersion={version}")

    def _get(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"GET {path}: {response.status} {response.read()[:300]!r}")
        return response


class PodWatch(Watch):
    """When each pod came, had all its claims published, got a node, and finished.

    Args:
        server: Whose pods.
        namespace: Which of them.
        entries: How many claims each pod shall have.
    """

    def __init__(self, server: Server, namespace: str, entries: int = 1) -> None:
        super().__init__(server, objects.pods_path(namespace))
        self.created: dict[str, float] = {}
        self.published: dict[str, float] = {}
        self.placed: dict[str, float] = {}
        self.finished: dict[str, float] = {}
        self._entries = entries

    def saw(self, kind: str, name: str, line: bytes, now: float) -> None:
        """Note each first time."""
        if kind == "ADDED":
            self.created[name] = now
        if line.count(PUBLISHED) >= self._entries:
            self.published.setdefault(name, now)
        if b'"nodeName":"' in line:
            self.placed.setdefault(name, now)
        if b'"phase":"Succeeded"' in line:
            self.finished.setdefault(name, now)


class ClaimWatch(Watch):
    """When each claim was deleted, and when its devices came free."""

    def __init__(self, server: Server, namespace: str) -> None:
        super().__init__(server, objects.claims_path(namespace))
        self.allocated: dict[str, float] = {}
        self.freed: dict[str, float] = {}
        self.deleted: dict[str, float] = {}

    def saw(self, kind: str, name: str, line: bytes, now: float) -> None:
        """Note each first time."""
        if kind == "DELETED":
            self.deleted.setdefault(name, now)
        if kind != "DELETED" and FREE in line:
            self.allocated.setdefault(name, now)
        elif name in self.allocated:
            self.freed.setdefault(name, now)
