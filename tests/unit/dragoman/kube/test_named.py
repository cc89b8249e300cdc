"""One object by its name: what the watch and own writes say of it, and who is woken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dragoman.kube.client import Client
from dragoman.kube.named import NamedObject
from tests.support.scriptedserver import Answer, ScriptedServer, event, eventually, streamed, told
from tests.unit.dragoman.kube.harness import CLAIMS, Token, claim


@asynccontextmanager
async def kept(*script: Answer) -> AsyncIterator[tuple[NamedObject, asyncio.Event, ScriptedServer]]:
    """Keep the claim `mine` of a server with this script."""
    async with (
        ScriptedServer([*script]).serving() as server,
        Client(Token(server.url)) as client,  # type: ignore[arg-type]  # all it needs
    ):
        changed = asyncio.Event()
        named = NamedObject(client, CLAIMS, "mine", "ns", changed=changed)
        task = asyncio.create_task(named.run())
        yield named, changed, server
        assert not task.done(), "it runs until it is cancelled"
        task.cancel()
        await asyncio.wait({task})


async def test_only_this_object_is_listed_and_watched_and_each_change_is_noted() -> None:
    changes = told(event("MODIFIED", claim("mine", 12)), event("DELETED", claim("mine", 13)))
    async with kept(streamed(claim("mine"), version=10), changes) as (named, changed, server):
        await eventually(lambda: named.synced and named.document is None)
        assert changed.is_set()
        assert {one["fieldSelector"] for one in server.requests} == {"metadata.name=mine"}
        assert named.path.endswith("/namespaces/ns/resourceclaims/mine")


async def test_the_watch_does_not_undo_an_own_write() -> None:
    late = told(event("MODIFIED", claim("mine", 12)))
    async with kept(streamed(claim("mine"), version=10), late) as (named, changed, _):
        await eventually(lambda: named.synced)
        named.put(claim("mine", 20))
        changed.clear()
        noted = named.since
        await asyncio.sleep(0.05)
        assert named.document == claim("mine", 20)
        assert named.since == noted
        assert not changed.is_set()


async def test_an_object_that_does_not_exist_is_none_once_it_is_listed() -> None:
    async with kept(streamed(version=10)) as (named, changed, _):
        assert not named.synced
        await eventually(lambda: named.synced)
        assert named.document is None
        assert not changed.is_set()
