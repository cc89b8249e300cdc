"""The real controller on the model of the API server, with watches that lag and answers that fail.

Everything runs in virtual time: an hour of back-offs and full passes takes milliseconds.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.clusterstate import Since
from dragoman.controllers.claims.controller import ClaimController
from dragoman.controllers.claims.mode import ClaimMode
from dragoman.controllers.context import Context
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.resources import Resource
from tests.unit.dragoman.claims.model_server import Event, Place, RefusedError, Server
from tests.unit.dragoman.claims.objects import Json

Fate = Literal["", "unsent", "lost"] | ApiError
"""What becomes of a request: it is answered, never arrives, is done without an answer, refused."""
LATENCY = 0.005

SERVED = Served(
    claims=Resource("resource.k8s.io", "v1", "resourceclaims"),
    templates=Resource("resource.k8s.io", "v1", "resourceclaimtemplates"),
    groups=Resource("scheduling.k8s.io", "v1alpha2", "podgroups"),
)


@dataclass
class ModelApi:
    """What the runtime asks of an Api, answered by the model.

    Attributes:
        server: The model.
        fate: Decides on each request, as `POST resourceclaims`, what becomes of it.
        notes: Notes of Events that were posted.
        drops_admin_access: Whether the feature gate DRAAdminAccess is off.
        dry_runs: How many there were.
        unanswered: Requests without an answer, as the client counts them.
    """

    server: Server
    fate: Callable[[str], Fate] = lambda _: ""
    notes: list[Json] = field(default_factory=list)
    drops_admin_access: bool = False
    dry_runs: int = 0
    unanswered: int = 0

    async def get(self, path: str, **_: str) -> Json:
        place, _rest = located(path)
        if not place.name:
            listed = [
                stored
                for where, stored in self.server.stored.items()
                if where[:2] == (place.plural, place.namespace)
            ]
            return await self._do(f"LIST {place.plural}", lambda: listing(listed))
        return await self._do(f"GET {place.plural}", lambda: self.server.get(place))

    async def post(self, path: str, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        place, _rest = located(path)
        if dry_run:
            self.dry_runs += 1
            return self.without_admin_access(body) if self.drops_admin_access else dict(body)
        if place.plural == "events":
            self.notes.append(dict(body))
            return dict(body)
        return await self._do("POST resourceclaims", lambda: self.server.post(dict(body)))

    @staticmethod
    def without_admin_access(body: Mapping[str, Any]) -> Json:
        """Return a claim as the API server stores it while DRAAdminAccess is off."""
        requests = [
            {**one, "exactly": {k: v for k, v in one["exactly"].items() if k != "adminAccess"}}
            for one in body["spec"]["devices"]["requests"]
        ]
        return {**body, "spec": {"devices": {"requests": requests}}}

    async def patch(self, path: str, body: Mapping[str, Any], kind: str) -> Json:
        place, subresource = located(path)
        assert kind.startswith("application/")
        name = f"PATCH {place.plural}{'/' if subresource else ''}{subresource}"
        return await self._do(name, lambda: self.server.patch(place, dict(body), subresource))

    async def delete(self, path: str, options: Mapping[str, Any]) -> Json:
        place, _rest = located(path)

        def delete() -> Json:
            left = self.server.delete(place, options["preconditions"])
            return left if place in self.server.stored else {"kind": "Status"}

        return await self._do("DELETE resourceclaims", delete)

    async def _do(self, name: str, request: Callable[[], Json]) -> Json:
        fate = self.fate(name)
        await asyncio.sleep(LATENCY)
        if isinstance(fate, ApiError):
            raise fate
        if fate == "unsent":
            raise ApiError(0, "NoAnswer", "connection refused")
        try:
            answer = request()
        except RefusedError as error:
            details = {"causes": error.causes}
            raise ApiError(error.code, error.reason, str(error), details) from error
        await asyncio.sleep(LATENCY)
        if fate == "lost":
            raise ApiError(0, "NoAnswer", "connection reset by peer")
        return answer


def located(path: str) -> tuple[Place, str]:
    """Return the place and subresource of a URL path."""
    _, rest = path.split("/namespaces/")
    namespace, plural, name, subresource, *_ = (*rest.split("/"), "", "")
    return Place(plural, namespace, name), subresource


def listing(items: list[Json]) -> Json:
    """Return a list."""
    return {"items": items, "metadata": {"resourceVersion": "1"}}


class Process:
    """One process of the operator: it knows what it listed, what it wrote and what was delivered.

    Args:
        api: Its line to the server.
        mode: `own` or `assist`.
        workers: Of each lane.
    """

    def __init__(self, api: ModelApi, mode: str = "own", workers: int = 2) -> None:
        clock = asyncio.get_running_loop().time
        self.api = api
        self.leading = True
        recorder = EventRecorder(cast(Client, api))
        self.cluster = ClusterStores(cast(Client, api), SERVED)
        self.controller = ClaimController(
            Context(cast(Client, api), recorder, lambda: self.leading),
            self.cluster,
            ClaimMode(mode, grace=30.0, takeover_after=300.0, clock=clock),
            workers=workers,
        )
        self.controller.state.times = Since(clock)
        for document in api.server.stored.values():
            self.take(Event("ADDED", document))
        self._told = {plural: len(api.server.events) for plural in PLURALS}
        self._tasks = [
            asyncio.create_task(self.controller.run()),
            asyncio.create_task(recorder.run()),
        ]

    def deliver(self, plural: str, most: int | None = None) -> None:
        """Let a watch deliver its next events."""
        events = self.api.server.events
        while self._told[plural] < len(events) and most != 0:
            event = events[self._told[plural]]
            self._told[plural] += 1
            if Place.of(event.document).plural == plural:
                self.take(event)
                most = None if most is None else most - 1

    def deliver_all(self) -> None:
        """Let all watches catch up."""
        for plural in PLURALS:
            self.deliver(plural)

    def take(self, event: Event) -> None:
        """Take in an event as the feed does, which knows own writes again."""
        version = event.document["metadata"]["resourceVersion"].encode()
        if self.cluster.state.own_writes.take(version):
            return
        plural = Place.of(event.document).plural
        informer = next(one for one in self.cluster if one.resource.plural == plural)
        informer.handle({"type": event.kind, "object": event.document})

    async def stop(self) -> None:
        """Stop as on SIGTERM."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def follow(self, seconds: float) -> None:
        """Work for some time with watches that are a second behind."""
        while seconds > 0:
            await asyncio.sleep(1.0)
            seconds -= 1.0
            self.deliver_all()


PLURALS = ("pods", "resourceclaims", "resourceclaimtemplates", "podgroups")


@asynccontextmanager
async def process(api: ModelApi, mode: str = "own", workers: int = 2) -> AsyncIterator[Process]:
    """Run a process."""
    running = Process(api, mode, workers)
    try:
        yield running
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await running.stop()
