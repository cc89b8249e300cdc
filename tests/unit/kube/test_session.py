"""The session that kopf watches through: each fault becomes something that kopf survives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson
import pytest

from dragoman.kube.feed import session as sessions
from dragoman.kube.feed.kopf_feed import uses_claims
from dragoman.kube.feed.session import Listing, Session
from tests.unit.kube.fed import Token, claim
from tests.unit.kube.scripted import (
    Answer,
    Json,
    ScriptedServer,
    bookmark,
    error,
    event,
    page,
    plain,
    refused,
    told,
    torn,
)

PATH = "/apis/resource.k8s.io/v1/resourceclaims"
EXPIRED = {"type": "ERROR", "object": {"code": 410}}


@dataclass
class Watcher:
    """Lists and watches as kopf does."""

    http: aiohttp.ClientSession
    server: ScriptedServer
    listing: Listing
    token: Token

    async def listed(self) -> list[str]:
        """Return the names of one list, page by page."""
        names: list[str] = []
        more = ""
        while True:
            query = {"limit": "500"} | ({"continue": more} if more else {})
            async with self.http.get(self.server.url + PATH, params=query) as response:
                document = await response.json()
            names += [item["metadata"]["name"] for item in document["items"]]
            more = document["metadata"].get("continue") or ""
            if not more:
                return names

    async def watched(self) -> list[Json]:
        """Return the events of one watch, until its end or a broken connection."""
        content = b""
        async with self.http.get(self.server.url + PATH, params={"watch": "true"}) as response:
            assert response.status == 200
            with suppress(aiohttp.ClientPayloadError):
                async for chunk in response.content.iter_chunked(64):
                    content += chunk
        return [orjson.loads(line) for line in content.splitlines()]

    async def brief(self) -> list[str]:
        """Return the events of one watch in words."""
        return [
            f"{one['type']} {(one['object'].get('metadata') or {}).get('name', '')}".strip()
            for one in await self.watched()
        ]


@asynccontextmanager
async def watching(*script: Answer, **settings: Any) -> AsyncIterator[Watcher]:
    """Give a watcher of claims on a server with this script."""
    async with ScriptedServer([*script]).serving() as server:
        listing = Listing(**settings)
        token = Token(server.url)
        session = Session(token, {PATH: listing})  # type: ignore[arg-type]  # all that it asks
        async with session.open() as http:
            yield Watcher(http, server, listing, token)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "Pauses", lambda: SimpleNamespace(next=lambda: 0.0))


ITEMS = page([claim("a"), claim("b")], 10)
ADDED = event("ADDED", claim("c", 11))


async def test_what_is_listed_and_watched_comes_through() -> None:
    script = (ITEMS, told(ADDED, event("DELETED", claim("a", 12)), bookmark(20), ends=True))
    async with watching(*script) as watcher:
        assert await watcher.listed() == ["a", "b"]
        assert await watcher.brief() == ["ADDED c", "DELETED a", "BOOKMARK"]


async def test_a_line_without_an_end_breaks_the_watch_and_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "LINE_LIMIT", 100_000)
    endless = told(ADDED, *[b"y" * 10_000] * 1000)
    async with asyncio.timeout(20), watching(ITEMS, endless) as watcher:
        assert await watcher.listed() == ["a", "b"]
        assert await watcher.brief() == ["ADDED c"]
        assert watcher.listing.broken, "whatever speaks there is to be listed anew"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(refused(410, "Expired"), id="a 410 instead of a watch"),
        pytest.param(told(error(410, "Expired"), ends=True), id="an ERROR 410 in the watch"),
        pytest.param(told(error(500, "InternalError"), ends=True), id="an ERROR of another code"),
        pytest.param(told(error(429, "TooManyRequests"), ends=True), id="an ERROR 429"),
    ],
)
async def test_every_error_of_a_watch_is_the_expiry_that_kopf_lists_anew_for(fault: Answer) -> None:
    async with watching(ITEMS, fault) as watcher:
        await watcher.listed()
        (only,) = await watcher.watched()
    assert only["type"] == EXPIRED["type"]
    assert only["object"]["code"] == 410


@pytest.mark.parametrize("rest", [b'{"type":"ADDED","obj', b"{", b'{"type":"BOOKMARK"'])
@pytest.mark.parametrize("broken", [torn, told], ids=["a reset", "a clean end"])
async def test_a_cut_line_is_not_told(broken: Any, rest: bytes) -> None:
    answer = broken(ADDED, rest, ends=True) if broken is told else broken(ADDED, rest)
    async with watching(ITEMS, answer) as watcher:
        await watcher.listed()
        assert await watcher.brief() == ["ADDED c"]


async def test_an_event_that_comes_in_pieces_is_told_whole() -> None:
    pieces = [ADDED[index : index + 7] for index in range(0, len(ADDED), 7)]
    async with watching(ITEMS, told(*pieces, ends=True)) as watcher:
        await watcher.listed()
        assert await watcher.brief() == ["ADDED c"]


async def test_what_vanished_during_an_outage_is_told_as_deleted_once() -> None:
    after = page([claim("b"), claim("d")], 30)
    script = (ITEMS, told(ADDED, ends=True), after, told(ends=True), told(ends=True))
    async with watching(*script) as watcher:
        await watcher.listed()
        await watcher.watched()
        assert await watcher.listed() == ["b", "d"]
        events = await watcher.watched()
        again = await watcher.watched()
    assert sorted(one["object"]["metadata"]["name"] for one in events) == ["a", "c"]
    assert {one["type"] for one in events} == {"DELETED"}
    assert {one["object"]["metadata"]["uid"] for one in events} == {"uid-a", "uid-c"}
    assert again == []


async def test_what_was_told_as_deleted_is_not_told_again_after_a_relist() -> None:
    gone = told(event("DELETED", claim("a", 12)), ends=True)
    async with watching(ITEMS, gone, page([claim("b")], 30), told(ends=True)) as watcher:
        await watcher.listed()
        await watcher.watched()
        await watcher.listed()
        assert await watcher.watched() == []


async def test_a_list_of_several_pages_is_one_list() -> None:
    first, second = page([claim("a")], 10, more="x"), page([claim("b")], 10)
    async with watching(first, second, ITEMS, told(ends=True)) as watcher:
        assert await watcher.listed() == ["a", "b"]
        await watcher.listed()
        assert await watcher.watched() == []


async def test_a_list_that_broke_off_deletes_nothing() -> None:
    half = page([claim("a")], 30, more="x")
    expired = refused(410, "Expired")
    async with watching(ITEMS, half, expired, ITEMS, told(ends=True)) as watcher:
        await watcher.listed()
        with pytest.raises(aiohttp.ClientPayloadError):
            await watcher.listed()
        await watcher.listed()
        assert await watcher.watched() == []


async def test_what_a_list_told_before_it_broke_off_is_told_as_deleted_when_it_has_gone() -> None:
    script = (page([claim("a"), claim("x")], 10, more="t"), refused(410, "Expired"))
    async with watching(*script, page([claim("a")], 30), told(ends=True)) as watcher:
        with pytest.raises(aiohttp.ClientPayloadError):
            await watcher.listed()
        await watcher.listed()
        assert await watcher.brief() == ["DELETED x"]


async def test_a_watch_after_a_break_is_begun_with_a_list() -> None:
    cut = torn(event("ADDED", claim("new", 12)))
    async with watching(ITEMS, cut, told(bookmark(20)), ITEMS, told(ends=True)) as watcher:
        await watcher.listed()
        await watcher.watched()
        (only,) = await watcher.watched()
        assert only["object"]["code"] == 410
        await watcher.listed()
        assert await watcher.brief() == ["DELETED new"]


async def test_a_list_that_is_older_than_what_was_told_is_a_restore_from_a_backup() -> None:
    told_of: list[str] = []
    script = (ITEMS, told(event("ADDED", claim("new", 12)), ends=True), page([claim("a")], 11))
    async with watching(*script, rewound=lambda: told_of.append("rewound")) as watcher:
        await watcher.listed()
        await watcher.watched()
        assert told_of == []
        await watcher.listed()
        assert told_of == ["rewound"]


async def test_it_is_alive_and_well_as_long_as_something_comes_in() -> None:
    script = (refused(503), refused(503), ITEMS, torn(bookmark(20)), told(bookmark(21), ends=True))
    async with watching(*script) as watcher:
        pulse = watcher.listing.pulse
        for _ in range(2):
            with pytest.raises(KeyError):
                await watcher.listed()
        assert pulse.failing_for() > 0
        await watcher.listed()
        assert pulse.failing_for() == 0
        await watcher.watched()
        assert pulse._failed_first is not None
        await watcher.watched()
        assert pulse._failed_first is None


async def test_without_credentials_it_looks_like_a_broken_line_which_kopf_tries_again() -> None:
    async with watching(ITEMS) as watcher:
        watcher.token.missing = 1
        with pytest.raises(aiohttp.ClientConnectionError, match="the token file is empty"):
            await watcher.listed()
        assert await watcher.listed() == ["a", "b"]


async def test_an_empty_list_may_be_null() -> None:
    async with watching(page(None, 10)) as watcher:
        assert await watcher.listed() == []
        assert watcher.listing.synced.is_set()


def pod(name: str, spec: Json) -> Json:
    return {**claim(name), "spec": spec}


CLAIMING = pod("claiming", {"resourceClaims": [{"name": "gpu"}]})
PLAIN = pod("plain", {"containers": [{"resources": {"claims": []}}]})


async def test_pods_without_claims_are_dropped_before_anybody_parses_them() -> None:
    lines = (event("ADDED", PLAIN), event("ADDED", CLAIMING), bookmark(9), error(500, "x"))
    async with watching(page([PLAIN, CLAIMING], 5), told(*lines, ends=True), keep=uses_claims) as w:
        assert await w.listed() == ["claiming"]
        assert await w.brief() == ["ADDED claiming", "BOOKMARK", "ERROR"]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(CLAIMING, True, id="a claim"),
        pytest.param(
            {**PLAIN, "status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}},
            True,
            id="an extended resource",
        ),
        pytest.param(PLAIN, False, id="no claim"),
        pytest.param(
            pod("x", {"note": '{"resourceClaims":[{"name":"gpu"}]}'}), False, id="a claim in a text"
        ),
    ],
)
def test_which_pods_use_claims(body: Json, wanted: bool) -> None:
    assert uses_claims(orjson.dumps(body)) is wanted


async def test_it_is_synced_when_everything_of_the_first_list_was_seen() -> None:
    async with watching(page([claim("a")], 10, more="x"), page([claim("b")], 10)) as watcher:
        watcher.listing.delivered("uid-a")
        await watcher.listed()
        assert not watcher.listing.synced.is_set()
        watcher.listing.delivered("uid-b")
        assert watcher.listing.synced.is_set()


async def test_a_token_that_has_expired_is_read_again() -> None:
    async with watching(refused(401, "Unauthorized"), ITEMS) as watcher:
        assert await watcher.listed() == ["a", "b"]
        tokens = [one["token"] for one in watcher.server.requests]
        assert tokens == ["Bearer first", "Bearer second"]


async def test_what_is_not_watched_passes_untouched() -> None:
    async with watching(plain(200, {"items": None, "other": 1})) as watcher:
        url = watcher.server.url + "/api/v1/nodes"
        async with watcher.http.get(url) as response:
            assert await response.json() == {"items": None, "other": 1}


async def test_other_refusals_are_kopf_s_to_see() -> None:
    async with watching(refused(403, "Forbidden"), refused(503, "Unavailable")) as watcher:
        for query, code in (({"watch": "true"}, 403), ({}, 503)):
            async with watcher.http.get(watcher.server.url + PATH, params=query) as response:
                assert response.status == code
