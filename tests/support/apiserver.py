"""An API server inside the process: the model of the simulations, as the product's client sees it.

What the client sends arrives as bytes; failures come on demand.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.http.request import Request
from dragoman.kube.http.response import Response
from dragoman.kube.http.stream import Predicate
from tests.simulation.loop import EPOCH
from tests.simulation.objects import API_OF, KIND_OF, Json
from tests.simulation.requests import handle, line_of, listed, place
from tests.simulation.rules import Refusal
from tests.simulation.server import Commit, Server
from tests.simulation.transport import NoCredentials

CREATED = "2026-01-01T00:00:00Z"
PLURALS = {kind: plural for plural, kind in KIND_OF.items()}
NAMESPACED = frozenset(
    {"pods", "resourceclaims", "resourceclaimtemplates", "devicepreemptions", "events", "leases"}
    | {"poddisruptionbudgets", "resourcequotas", "secrets", "configmaps"}
)
WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})


class Place(NamedTuple):
    """Where an object is; `name` is empty for a collection, `namespace` for all of them."""

    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def place_of(path: str) -> Place:
    """Return what a URL path names; raise ApiError for none that is served."""
    try:
        return Place(*place(path))
    except Refusal as refusal:
        raise ApiError(refusal.code, refusal.reason, path) from refusal


class ApiServer(Client):
    """A client whose server is the model.

    Attributes:
        model: The server.
        requests: How often each was asked, as `LIST pods`; watches with their first list are
            `WATCH pods`, others `CONTINUE pods`.
        written: Method and place of each write that was asked for, Events left out.
        fail: Returns the error of a request, from `GET pods` and the place; None lets it through.
        discoveries: How often it was asked which groups it serves.
    """

    def __init__(self) -> None:
        self._pool, self._prefix = _Pool(self), ""
        super().__init__(NoCredentials(), transport=self._pool)
        created = datetime.fromisoformat(CREATED).timestamp()
        self.model = Server(random.Random(1), lambda: created - EPOCH)
        self.requests: Counter[str] = Counter()
        self.written: list[tuple[str, Place]] = []
        self.fail: Callable[[str, Place], ApiError | None] = lambda *_: None
        self.discoveries = 0

    def store(self, *documents: Mapping[str, Any]) -> Json:
        """Store objects as a user would, and tell the watches; return the last as it is stored."""
        stored: Json = {}
        for document in documents:
            plural, metadata = PLURALS[str(document["kind"])], document["metadata"]
            namespace = metadata.get("namespace", "default") if plural in NAMESPACED else ""
            uid = f"uid-of-{plural}-{namespace}-{metadata['name']}"
            made = {"uid": uid, "creationTimestamp": CREATED}
            if namespace:
                made["namespace"] = namespace
            body = {"apiVersion": API_OF[plural], **document, "metadata": {**made, **metadata}}
            stored = self.model.keep(plural, (namespace, metadata["name"]), body)
        return stored

    @property
    def objects(self) -> dict[Place, Json]:
        """The stored objects by place."""
        return {
            Place(plural, *key): one
            for plural, found in self.model.objects.items()
            for key, one in found.items()
        }

    def of(self, plural: str) -> list[Json]:
        """Return the stored objects of a resource, the oldest first."""
        return [*self.model.of(plural).values()]

    def remove(self, where: Place) -> Json:
        """Delete an object, and tell the watches."""
        return self.model.drop(where.plural, (where.namespace, where.name))

    def ask(self, verb: str, where: Place) -> None:
        """Count a request; raise ApiError where it is to fail."""
        name = f"{verb} {where.plural}"
        self.requests[name] += 1
        if verb in WRITES and where.plural != "events":
            self.written.append((verb, where))
        error = self.fail(name, where)
        if error is not None:
            raise error


class _Pool:
    """Carries requests to the model."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def reload_tls(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, request: Request) -> Response:
        server = self._server
        path = request.target.partition("?")[0]
        server.discoveries += path == "/apis"
        if where := _asked(path, request.body):
            reads = "GET" if where.name else "LIST"
            server.ask(reads if request.method == "GET" else request.method, where)
        answer = handle(
            server.model,
            "user",
            request.method,
            request.target,
            request.body,
            request.content_type,
        )
        code, body, retry_after = answer
        return Response(code, retry_after, body)

    async def stream(
        self, request: Request, predicate: Predicate
    ) -> AsyncGenerator[list[bytes], None]:
        server, model = self._server, self._server.model
        url = urlsplit(request.target)
        where, query = place_of(url.path), dict(parse_qsl(url.query))
        plural, namespace = where.plural, where.namespace
        streaming = query.get("sendInitialEvents") == "true"
        server.ask("WATCH" if streaming else "CONTINUE", where)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        def told(commit: Commit) -> None:
            if commit.plural == plural:
                queue.put_nowait(line_of(commit, namespace, query))

        if streaming:
            for line in listed(model, plural, model.rv, namespace, query):
                queue.put_nowait(line)
        else:
            for commit in model.since(plural, int(query.get("resourceVersion") or model.rv)):
                told(commit)
        model.observers.append(told)
        try:
            while True:
                found = await queue.get()
                if found is not None and predicate(found):
                    yield [found]
        finally:
            model.observers.remove(told)


def _asked(path: str, body: bytes | None) -> Place | None:
    """Return the object or collection of a request; None for discovery."""
    try:
        where = place_of(path)
    except ApiError:
        return None
    named = orjson.loads(body).get("metadata") if body and not where.name else None
    return where._replace(name=named.get("name", "")) if named else where
