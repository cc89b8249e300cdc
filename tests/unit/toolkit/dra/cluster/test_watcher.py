"""A cluster is listed once and watched from then on; without a watch it is listed again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman_toolkit.dra.cluster.watcher import Watcher
from tests.support.worlds.inventory import pool
from tests.unit.dragoman.kube.harness import Token

Json = dict[str, Any]
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
FORBIDDEN: Json = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no watch"}


class FakeServer:
    """An API server that has ResourceSlices alone.

    Args:
        watches: Whether it lets users watch.
    """

    def __init__(self, *, watches: bool = True) -> None:
        self.objects: dict[str, Json] = {}
        self.lists = 0
        self.broken = False
        self._watches = watches
        self._version = 1
        self._streams: set[asyncio.Queue[Json]] = set()

    def put(self, node: str, devices: int = 1) -> None:
        """Create or change the slice of a node."""
        self._version += 1
        item = pool(node, devices)
        item["metadata"] |= {"uid": f"uid-{node}", "resourceVersion": str(self._version)}
        kind = "MODIFIED" if node in self.objects else "ADDED"
        self.objects[node] = item
        self._send({"type": kind, "object": item})

    def touch(self, node: str) -> None:
        """Change what the toolkit does not read."""
        self._version += 1
        item = self.objects[node]
        item["metadata"] |= {"resourceVersion": str(self._version), "generateName": "b"}
        self._send({"type": "MODIFIED", "object": item})

    def delete(self, node: str) -> None:
        """Delete the slice of a node."""
        self._version += 1
        self._send({"type": "DELETED", "object": self.objects.pop(node)})

    def application(self) -> web.Application:
        """Return what answers."""
        app = web.Application()
        app.router.add_get(SLICES, self._slices)
        app.router.add_get("/{path:.*}", self._other)
        return app

    def _send(self, event: Json) -> None:
        for stream in self._streams:
            stream.put_nowait(event)

    async def _other(self, request: web.Request) -> web.Response:
        versions = [{"version": "v1"}]
        return web.json_response(
            {
                "/version": {"gitVersion": "v1.36.3"},
                "/apis": {"groups": [{"name": "resource.k8s.io", "versions": versions}]},
                "/apis/resource.k8s.io/v1": {"resources": [{"name": "resourceslices"}]},
            }[request.path]
        )

    async def _slices(self, request: web.Request) -> web.StreamResponse:
        metadata = {"resourceVersion": str(self._version)}
        if self.broken:
            return web.json_response({**FORBIDDEN, "code": 500, "reason": "Broken"}, status=500)
        if "watch" not in request.query:
            self.lists += 1
            return web.json_response({"metadata": metadata, "items": [*self.objects.values()]})
        if not self._watches:
            return web.json_response(FORBIDDEN, status=403)
        stream = web.StreamResponse()
        await stream.prepare(request)
        queue: asyncio.Queue[Json] = asyncio.Queue()
        self._streams.add(queue)
        if "sendInitialEvents" in request.query:
            for item in self.objects.values():
                queue.put_nowait({"type": "ADDED", "object": item})
            end = {**metadata, "annotations": {"k8s.io/initial-events-end": "true"}}
            queue.put_nowait({"type": "BOOKMARK", "object": {"metadata": end}})
        try:
            while True:
                event = await queue.get()
                await stream.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        finally:
            self._streams.discard(queue)


@asynccontextmanager
async def watched(server: FakeServer, interval: float = 0.05) -> AsyncIterator[Watcher]:
    """Yield a watcher of a server's slices."""
    async with TestServer(server.application()) as running:
        token = Token(str(running.make_url("")).rstrip("/"))
        async with (
            Client(token) as client,  # type: ignore[arg-type]  # all that Client needs of it
            Watcher(client, "", ("resourceslices",), interval).watching() as watcher,
        ):
            yield watcher


def nodes(snapshot: Snapshot) -> list[str]:
    return [item["spec"]["nodeName"] for item in snapshot.of("resourceslices")]


async def read_until(watcher: Watcher, expected: list[str]) -> Snapshot:
    """Read after each change until the slices are those of these nodes."""
    async with asyncio.timeout(20):
        while nodes(found := await watcher.read()) != expected:
            await watcher.changed()
    return found


async def test_changes_are_read_without_lists() -> None:
    server = FakeServer()
    server.put("b")
    async with watched(server) as watcher:
        assert nodes(await watcher.read()) == ["b"]
        await watcher.changed()
        first = await read_until(watcher, ["b"])
        await settled(watcher, server)
        lists = server.lists
        server.put("a")
        await read_until(watcher, ["a", "b"])
        server.put("b", 3)
        async with asyncio.timeout(20):
            while len((await watcher.read()).of("resourceslices")[1]["spec"]["devices"]) < 3:
                await watcher.changed()
        server.delete("b")
        last = await read_until(watcher, ["a"])
        assert server.lists == lists
        assert (last.kubernetes, last.unseen) == (first.kubernetes, ())


async def settled(watcher: Watcher, server: FakeServer) -> None:
    """Wait until reading costs no list."""
    async with asyncio.timeout(20):
        while True:
            lists = server.lists
            await watcher.read()
            if server.lists == lists:
                return
            await asyncio.sleep(0.02)


async def test_what_the_toolkit_does_not_read_is_no_change() -> None:
    server = FakeServer()
    server.put("a")
    async with watched(server, interval=0.5) as watcher:
        await watcher.read()
        await watcher.changed()
        await settled(watcher, server)
        waiting = asyncio.create_task(watcher.changed())
        server.touch("a")
        await asyncio.sleep(0.2)
        assert not waiting.done()
        server.put("a", 2)
        await asyncio.wait_for(waiting, 20)


async def test_without_the_right_to_watch_the_cluster_is_listed_again() -> None:
    server = FakeServer(watches=False)
    server.put("a")
    async with watched(server) as watcher:
        assert nodes(await watcher.read()) == ["a"]
        await watcher.changed()
        server.put("b")
        await read_until(watcher, ["a", "b"])
        assert server.lists >= 2


async def test_a_server_that_fails_is_an_error_and_then_read_again() -> None:
    server = FakeServer()
    server.put("a")
    async with watched(server) as watcher:
        server.broken = True
        with pytest.raises(ApiError):
            await watcher.read()
        server.broken = False
        await read_until(watcher, ["a"])
