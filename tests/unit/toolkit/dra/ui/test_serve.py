"""The page is for readers on this machine who know the token, under its own name only."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer

from dragoman.allocation import profile
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.dra.ui.live import Live
from dragoman_toolkit.dra.ui.serve import STREAMS, application
from tests.support.worlds.inventory import claim, device_class, held, pod, pool, snapshot

TOKEN = "token-of-the-test"
BASE = [device_class(), pool("node-a", ["a"])]
WAITING = [claim("waits", count=2), pod("waits", claims={"gpu": "waits"})]


class Cluster:
    """What is read: manifests, or an error."""

    def __init__(self) -> None:
        self.manifests: list[Any] = [*BASE, *WAITING]
        self.error = ""
        self.readings = 0

    async def read(self) -> Snapshot:
        self.readings += 1
        if self.error:
            raise Unusable(self.error)
        return snapshot(*self.manifests)

    async def changed(self) -> None:
        """Count as changed at all times."""


async def shown(kind: str, namespace: str, name: str) -> str:
    """Return a text for pods, and an error for one of them."""
    if kind != "Pod":
        raise KeyError(kind)
    if name == "secret":
        raise Unusable("pods is forbidden")
    return f"kind: {kind} # <b>{namespace}/{name}</b>"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[TestClient[Any, Any]]:
    live = Live("test", cluster, lambda _: profile("1.36"), 0.02, show=shown)
    await live.start()
    running = asyncio.create_task(live.run())
    async with TestClient(TestServer(application(live, TOKEN))) as found:
        yield found
    running.cancel()


async def event(stream: Any, kind: str) -> Any:
    """Return the data of the next event of a kind."""
    name = ""
    while True:
        line = (await asyncio.wait_for(stream.content.readline(), 30)).decode()
        assert line, "the stream ended"
        field, _, value = line.rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data" and name == kind:
            return json.loads(value)


async def test_the_page_needs_the_token(client: TestClient[Any, Any]) -> None:
    found = await client.get(f"/{TOKEN}/")
    assert (found.status, found.content_type) == (200, "text/html")
    assert "node-a" in await found.text()
    for path in ("/", f"/{TOKEN}x/", "/favicon.ico", f"/{TOKEN[:-1]}/events", "/%ff/"):
        refused = await client.get(path)
        assert refused.status == 403, path
        assert "node-a" not in await refused.text()


OBJECT = "object?kind=Pod&namespace=ns&name=waits"


@pytest.mark.parametrize("path", ["", "events", "explain?pod=ns/waits", OBJECT])
@pytest.mark.parametrize(
    "host", ["attacker.example", "attacker.example:80", "127.0.0.1.nip.io", ""]
)
async def test_other_names_are_refused(client: TestClient[Any, Any], path: str, host: str) -> None:
    found = await client.get(f"/{TOKEN}/{path}", headers={"Host": host})
    assert found.status in (400, 421)
    assert "node-a" not in await found.text()


async def test_a_forwarded_port_is_fine(client: TestClient[Any, Any]) -> None:
    assert (await client.get(f"/{TOKEN}/", headers={"Host": "localhost:9"})).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_nothing_can_be_written(client: TestClient[Any, Any], method: str) -> None:
    assert (await client.request(method, f"/{TOKEN}/")).status == 405


async def test_objects_are_plain_text(client: TestClient[Any, Any]) -> None:
    found = await client.get(f"/{TOKEN}/{OBJECT}")
    assert (found.status, found.content_type) == (200, "text/plain")
    assert await found.text() == "kind: Pod # <b>ns/waits</b>"
    refused = await client.get(f"/{TOKEN}/{OBJECT.replace('waits', 'secret')}")
    assert (refused.status, await refused.text()) == (502, "pods is forbidden\n")
    for query in ("", "?kind=Secret&namespace=ns&name=a"):
        assert (await client.get(f"/{TOKEN}/object{query}")).status == 404


async def test_a_snapshot_has_no_objects_to_ask_for(cluster: Cluster) -> None:
    live = Live("test", cluster, lambda _: profile("1.36"), 0.02)
    async with TestClient(TestServer(application(live, TOKEN))) as found:
        assert (await found.get(f"/{TOKEN}/{OBJECT}")).status == 404


@pytest.mark.parametrize("path", ["", "explain?pod=ns/waits", "explain?pod=no/such", OBJECT, "no"])
async def test_every_answer_has_the_policy(client: TestClient[Any, Any], path: str) -> None:
    found = await client.get(f"/{TOKEN}/{path}")
    assert found.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in found.headers["Content-Security-Policy"]
    assert found.headers["Cache-Control"] == "no-store"
    assert found.headers["Referrer-Policy"] == "no-referrer"
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in found.headers


async def test_events_tell_what_changed(client: TestClient[Any, Any], cluster: Cluster) -> None:
    stream = await client.get(f"/{TOKEN}/events", params={"since": "0"})
    assert stream.content_type == "text/event-stream"
    assert "free" in (await event(stream, "update"))["rows"]["node-a"]
    cluster.manifests.append(held(claim("used"), ("node-a", "a")))
    async with asyncio.timeout(30):
        while "node-a" not in (found := await event(stream, "update"))["rows"]:
            pass
    assert "used by claim ns/used" in found["rows"]["node-a"]


async def test_explanations_follow_by_themselves(client: TestClient[Any, Any]) -> None:
    stream = await client.get(f"/{TOKEN}/events")
    found = ""
    async with asyncio.timeout(30):
        while "fits on none" not in found:
            found = (await event(stream, "update"))["sections"].get("waiting", "")


async def test_a_pod_is_explained_when_it_is_asked_for(client: TestClient[Any, Any]) -> None:
    found = await client.get(f"/{TOKEN}/explain", params={"pod": "ns/waits"})
    assert "fits on none" in await found.text()
    assert (await client.get(f"/{TOKEN}/explain", params={"pod": "no/such"})).status == 404


async def test_an_api_server_that_does_not_answer_is_said(
    client: TestClient[Any, Any], cluster: Cluster
) -> None:
    stream = await client.get(f"/{TOKEN}/events", params={"since": "0"})
    cluster.error = "connection refused"
    assert await event(stream, "trouble") == "connection refused"
    cluster.error = ""
    assert (await event(stream, "update"))["revision"] >= 1


async def test_a_lost_connection_is_said_without_the_words_of_python(
    client: TestClient[Any, Any], cluster: Cluster
) -> None:
    stream = await client.get(f"/{TOKEN}/events", params={"since": "0"})
    cluster.error = "[Errno 111] Connect call failed ('127.0.0.1', 6443)"
    assert await event(stream, "trouble") == "cannot connect to 127.0.0.1:6443"


async def test_nothing_is_read_while_no_browser_follows(
    client: TestClient[Any, Any], cluster: Cluster
) -> None:
    await asyncio.sleep(0.2)
    assert cluster.readings == 1
    stream = await client.get(f"/{TOKEN}/events")
    async with asyncio.timeout(30):
        while cluster.readings < 3:
            await event(stream, "update")


async def test_windows_are_bounded(client: TestClient[Any, Any]) -> None:
    address = client.make_url(f"/{TOKEN}/events")
    async with ClientSession() as session:
        streams = [await session.get(address) for _ in range(STREAMS)]
        assert (await session.get(address)).status == 503
        for stream in streams:
            stream.close()
