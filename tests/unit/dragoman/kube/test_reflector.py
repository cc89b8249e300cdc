"""The own list-and-watch on a scripted server: after every fault the facts are the server's."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

from dragoman.cluster.cluster import uses_claims
from dragoman.cluster.clusterstate import ClusterState
from dragoman.kube import backoff
from dragoman.kube.http import pool
from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.resources import PODS
from dragoman.kube.store import StoredObject
from dragoman.metrics import REGISTRY
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from tests.support.scriptedserver import (
    Answer,
    Json,
    bookmark,
    error,
    event,
    eventually,
    page,
    plain,
    refused,
    streamed,
    told,
    torn,
)
from tests.unit.dragoman.kube.harness import claim, fed


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.001)


def pod(name: str, spec: Json, version: int = 1) -> Json:
    return {**claim(name, version), "spec": spec}


ADDED_LATER = event("ADDED", claim("later", 7))
BEFORE = streamed(claim("stays"), claim("vanishes"), version=10)
AFTER = streamed(claim("stays"), claim("new", 25), version=30)


@pytest.mark.parametrize(
    "fault",
    [
        refused(410, "Expired"),
        told(error(410, "Expired"), ends=True),
        told(b"<html>a proxy speaks</html>\n", ends=True),
        told(b'{"type":"MODIFIED","object":{}}\n', ends=True),
        told(b'{"type":"MODIFIED"}\n', ends=True),
        told(b"[1]\n", ends=True),
        told(b'{"type":"MODIFIED","object":[]}\n', ends=True),
        told(b'{"type":"ERROR","object":null}\n', ends=True),
        told(b'{"type":"BOOKMARK","object":{"metadata":"none"}}\n', ends=True),
    ],
    ids=[
        "410 at the start of the watch",
        "ERROR 410 in the stream",
        "a line that is no JSON",
        "an event without metadata",
        "an event without an object",
        "JSON that is no event",
        "an event about a list",
        "an ERROR without an object",
        "a bookmark whose metadata is a word",
    ],
)
async def test_a_watch_that_cannot_go_on_is_listed_anew_and_what_vanished_is_deleted(
    fault: Answer,
) -> None:
    async with fed(BEFORE, fault, AFTER) as feed:
        await feed.knows("stays", "new")
        assert feed.deleted == ["vanishes"]


ADDED = event("ADDED", claim("new", 25))


@pytest.mark.parametrize(
    "fault",
    [
        refused(500, "InternalError"),
        refused(503, "ServiceUnavailable"),
        refused(429, "TooManyRequests"),
        torn(),
        torn(ADDED[: len(ADDED) // 2]),
        told(ADDED[: len(ADDED) // 2], ends=True),
        told(ends=True),
        told(error(500, "InternalError"), ends=True),
        told(error(429, "TooManyRequests"), ends=True),
    ],
    ids=[
        "500",
        "503",
        "429",
        "a reset before the first line",
        "a line cut by a reset",
        "a line cut by a clean end",
        "an empty answer",
        "ERROR 500 in the stream",
        "ERROR 429 in the stream",
    ],
)
async def test_a_watch_that_only_broke_goes_on_where_it_was(fault: Answer) -> None:
    async with fed(BEFORE, told(bookmark(20), ends=True), fault, told(ADDED)) as feed:
        await feed.knows("stays", "vanishes", "new")
        assert feed.deleted == []
        assert len(feed.server.lists) == 1
        versions = [one.get("resourceVersion") for one in feed.server.requests[1:]]
        assert versions[:2] == ["10", "20"]
        assert versions[2:] in (["1"], ["20"])  # the newest object, or the bookmark after it


async def test_a_server_that_fails_twice_at_one_version_is_listed_again() -> None:
    failure = told(error(500, "InternalError"), ends=True)
    async with fed(BEFORE, failure, told(error(500, "InternalError"), ends=True), AFTER) as feed:
        await feed.knows("stays", "new")
        assert feed.deleted == ["vanishes"]
        assert [one.get("resourceVersion") for one in feed.server.requests[1:3]] == ["10", "10"]


async def test_a_storm_of_errors_is_outlasted() -> None:
    storm = [refused(503, "ServiceUnavailable") for _ in range(5)]
    async with fed(BEFORE, *storm, told(ADDED)) as feed:
        await feed.knows("stays", "vanishes", "new")
        assert len(feed.server.requests) == 7


async def test_retry_after_is_obeyed() -> None:
    loop = asyncio.get_running_loop()
    busy = refused(429, "TooManyRequests", Retry_After="1")
    async with fed(busy, BEFORE) as feed:
        began = loop.time()
        await feed.knows("stays", "vanishes")
        assert loop.time() - began >= 0.9
        assert len(feed.server.requests) <= 3


async def test_a_silent_stall_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "STREAM_TIMEOUT", 0.3)
    async with fed(BEFORE, told(bookmark(20)), told(ADDED)) as feed:
        await feed.knows("stays", "vanishes", "new")
        assert feed.server.requests[2]["resourceVersion"] in ("1", "20")


@pytest.mark.parametrize("code", [400, 422])
async def test_a_server_without_streaming_lists_is_read_in_pages(code: int) -> None:
    pages = (
        page([claim("first")], 10, more="token"),
        page([claim("second")], 10),
    )
    relist = (refused(410, "Expired"), page([claim("second")], 12))
    async with fed(refused(code, "Invalid"), *pages, *relist) as feed:
        await feed.knows("second")
        assert feed.deleted == ["first"]
        asked = [(one.get("limit"), one.get("continue")) for one in feed.server.requests]
        assert asked[1:3] == [("500", None), ("500", "token")]
        assert sum("sendInitialEvents" in one for one in feed.server.requests) == 1


async def test_an_expired_continue_token_starts_the_list_again() -> None:
    async with fed(
        refused(422, "Invalid"),
        page([claim("first")], 10, more="token"),
        refused(410, "Expired"),
        page([claim("second")], 20),
    ) as feed:
        await eventually(lambda: len(feed.server.requests) == 5)
        assert (feed.names, feed.deleted) == ({"second"}, ["first"])
        assert feed.server.requests[-1]["resourceVersion"] == "20"


@pytest.mark.parametrize(
    "garbled",
    [
        pytest.param(plain(200, {"items": [], "metadata": "none"}), id="whose metadata is a word"),
        pytest.param(plain(200, {"items": [[]], "metadata": {}}), id="of lists"),
        pytest.param(plain(200, {"items": 7, "metadata": {}}), id="that is a number"),
    ],
)
async def test_a_list_is_asked_for_again_after_one(garbled: Answer) -> None:
    async with fed(refused(422), garbled, page([claim("new")], 10)) as feed:
        await feed.knows("new")


async def test_a_page_may_be_null() -> None:
    async with fed(refused(422), page(None, 10), told(ADDED)) as feed:
        await feed.knows("new")


async def test_a_streaming_list_that_breaks_off_deletes_nothing() -> None:
    half = torn(event("ADDED", claim("stays")))
    async with fed(BEFORE, refused(410), half, AFTER) as feed:
        await feed.knows("stays", "new")
        assert feed.deleted == ["vanishes"]
        assert len(feed.server.lists) == 3


async def test_a_rotated_token_is_read_again_after_401() -> None:
    async with fed(BEFORE, refused(401, "Unauthorized"), told(ADDED)) as feed:
        await feed.knows("stays", "vanishes", "new")
        tokens = [one["token"] for one in feed.server.requests]
        assert tokens == ["Bearer first", "Bearer first", "Bearer second"]
        assert feed.deleted == []


async def test_an_own_write_during_a_relist_is_no_vanished_object() -> None:
    going = asyncio.Event()
    wrote = asyncio.Event()

    async def slow(request: Any) -> Any:
        going.set()
        await wrote.wait()
        return await streamed(claim("stays"), version=30)(request)

    async with fed(BEFORE, refused(410), slow) as feed:
        await going.wait()
        feed.world.claims.put(Claim.parse(claim("ours", 31)))
        wrote.set()
        await feed.knows("stays", "ours")
        assert feed.deleted == ["vanishes"]


async def test_deletions_and_changes_arrive_in_order_and_old_news_changes_nothing() -> None:
    lines = (
        event("MODIFIED", {**claim("stays", 12), "status": {"allocation": {}}}),
        event("DELETED", claim("vanishes", 13)),
        event("MODIFIED", claim("stays", 11)),
        ADDED,
    )
    async with fed(BEFORE, told(*lines)) as feed:
        await feed.knows("stays", "new")
        stored = feed.world.claims.get("ns", "stays")
        assert stored is not None
        assert stored.allocated


async def test_an_unreadable_object_is_passed_over_and_what_was_known_of_it_stays() -> None:
    broken = {**claim("stays"), "status": {"reservedFor": "everybody"}}
    relisted = streamed(broken, claim("new", 25), version=30)
    async with fed(
        BEFORE, told(event("MODIFIED", broken), error(410, "Expired")), relisted
    ) as feed:
        await feed.knows("stays", "new")
        assert feed.deleted == ["vanishes"]


PLAIN: Json = {"containers": []}
USING: Json = {"resourceClaims": [{"name": "a", "resourceClaimName": "c"}]}


@pytest.mark.parametrize(
    "script",
    [
        lambda items: (streamed(*items, version=10),),
        lambda items: (refused(422), page(items, 10)),
        lambda items: (
            streamed(version=9),
            told(*(event("ADDED", item) for item in items), bookmark(10)),
        ),
    ],
    ids=["a streaming list", "a paged list", "a watch"],
)
async def test_pods_without_claims_are_never_parsed(
    script: Callable[[list[Json]], tuple[Answer, ...]],
) -> None:
    items = [pod(f"plain-{number}", PLAIN) for number in range(50)]
    items.insert(20, pod("using", USING))
    extended = {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}}
    items.append({**pod("extended", PLAIN), **extended})
    parsed: list[str] = []

    def parse(body: Any) -> Pod:
        parsed.append(body["metadata"]["name"])
        return Pod.parse(body)

    world = ClusterState()

    async with fed(*script(items), runs=False) as feed:
        informer = Informer(
            feed.api,
            PODS,
            parse,
            store=world.pods,
            predicate=uses_claims,
        )

        async def handle(event: Any) -> None:
            informer.handle(event)

        pods = Reflector(informer, handle)
        task = asyncio.create_task(pods.run())
        await eventually(lambda: len(world.pods) == 2)
        task.cancel()
        await asyncio.wait({task})
    assert parsed == ["using", "extended"]


async def test_the_watchs_account_of_own_writes_is_not_read_again() -> None:
    async with fed(streamed(version=10), runs=False) as feed:
        feed.world.own_writes.add("25")
        feed.server.script += [told(ADDED, event("ADDED", claim("others", 26)))]
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("others")
        task.cancel()
        await asyncio.wait({task})


def tainted(version: int, *taints: str) -> Json:
    return {**claim("a", version), "taints": list(taints)}


async def test_a_change_that_arrives_together_with_its_end_does_not_stay() -> None:
    seen = []

    def note(_: StoredObject | None, new: StoredObject | None) -> None:
        assert new is not None
        seen.append((new.metadata.name, new.document.get("taints")))

    def is_unchanged(line: bytes) -> bool:
        item = orjson.loads(line)["object"]
        known = informer.store.get("ns", item["metadata"]["name"])
        return known is not None and known.document.get("taints") == item.get("taints")

    together = (tainted(11, "broken"), tainted(12), tainted(13), claim("later", 14))
    lines = b"".join(event("MODIFIED", one) for one in together)
    async with fed(streamed(tainted(5), version=10), told(lines), runs=False) as feed:
        informer = Informer(feed.api, PODS, StoredObject.parse, [note], is_unchanged=is_unchanged)

        async def handle(event: Any) -> None:
            informer.handle(event)

        task = asyncio.create_task(Reflector(informer, handle).run())
        await eventually(lambda: ("later", None) in seen)
        task.cancel()
        await asyncio.wait({task})
    assert seen == [("a", []), ("a", ["broken"]), ("a", []), ("later", None)]


@pytest.mark.parametrize("in_list", [True, False], ids=["list", "watch"])
async def test_a_change_of_interest_that_arrives_together_with_its_end_does_not_stay(
    in_list: bool,
) -> None:
    """As a pod that is refused, and bound before the refusal is handled."""
    refused_pod = {**claim("a", 11), "status": {"reason": "Unschedulable"}}
    lines = [
        event("ADDED", refused_pod),
        event("MODIFIED", claim("a", 12)),
        event("MODIFIED", {**claim("later", 13), "status": {"reason": "Unschedulable"}}),
    ]
    ended = bookmark(14, {"k8s.io/initial-events-end": "true"})
    script = (
        [told(b"".join([*lines, ended]))]
        if in_list
        else [streamed(version=10), told(b"".join(lines))]
    )
    async with fed(*script, runs=False) as feed:
        informer = Informer(
            feed.api,
            PODS,
            StoredObject.parse,
            predicate=lambda line: b"Unschedulable" in line,
            keeps=lambda one: "status" in one.document,
        )

        async def handle(event: Any) -> None:
            informer.handle(event)

        task = asyncio.create_task(Reflector(informer, handle).run())
        await eventually(lambda: informer.store.get("ns", "later") is not None)
        task.cancel()
        await asyncio.wait({task})
    assert [one.metadata.name for one in informer.store] == ["later"]


async def test_restarts_are_counted_by_cause() -> None:
    def count() -> float:
        labels = {"cause": "expired"}
        return REGISTRY.get_sample_value("dragoman_watch_restarts_total", labels) or 0.0

    before = count()
    async with fed(BEFORE, told(error(410, "Expired"), ends=True), AFTER) as feed:
        await feed.knows("stays", "new")
    assert count() == before + 1


async def test_what_cannot_be_read_any_more_when_it_is_deleted_is_let_go_all_the_same() -> None:
    broken = {**claim("vanishes", 12), "status": {"reservedFor": "everybody"}}
    async with fed(BEFORE, told(event("DELETED", broken))) as feed:
        await feed.knows("stays")
        assert feed.deleted == ["vanishes"]


async def test_the_deletion_of_a_predecessor_that_cannot_be_read_leaves_the_successor() -> None:
    broken = {**claim("stays", 12), "status": {"reservedFor": "everybody"}}
    broken["metadata"]["uid"] = "of the predecessor"
    async with fed(BEFORE, told(event("DELETED", broken), ADDED)) as feed:
        await feed.knows("stays", "vanishes", "new")
        assert feed.deleted == []


async def test_credentials_that_are_missing_for_a_moment_are_waited_for() -> None:
    async with fed(BEFORE, runs=False) as feed:
        feed.token.missing = 2
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "vanishes")
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})


RESTORED = streamed(claim("stays", 4), claim("revived", 5), version=6)


async def test_after_a_restore_from_a_backup_the_server_is_believed_again() -> None:
    before = streamed({**claim("stays", 9), "status": {"allocation": {}}}, version=10)
    lines = (event("DELETED", claim("revived", 11)), event("ADDED", claim("new", 12)))
    async with fed(before, torn(*lines), RESTORED, told(ADDED_LATER), runs=False) as feed:
        feed.server.version = 6
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "revived", "later")
        stored = feed.world.claims.get("ns", "stays")
        assert stored is not None
        assert not stored.allocated
        task.cancel()
        await asyncio.wait({task})


async def test_a_restored_server_that_refuses_at_first_is_found_out_all_the_same() -> None:
    begun = torn(event("ADDED", claim("new", 12)))
    script = (BEFORE, begun, RESTORED, told(ADDED_LATER))
    async with fed(*script, runs=False) as feed:
        feed.server.version, feed.server.refusals = 6, 2
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "revived", "later")
        task.cancel()
        await asyncio.wait({task})


async def test_a_server_that_broke_off_but_kept_its_place_is_not_listed_again() -> None:
    async with fed(BEFORE, torn(bookmark(20)), told(ADDED), runs=False) as feed:
        feed.server.version = 20
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "vanishes", "new")
        assert len(feed.server.lists) == 1
        task.cancel()
        await asyncio.wait({task})


async def test_after_a_deletion_that_the_watch_told_of_nothing_is_listed_again() -> None:
    gone = torn(event("DELETED", claim("vanishes", 15)))
    async with fed(BEFORE, gone, told(ADDED), runs=False) as feed:
        feed.server.version = 20
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "new")
        assert len(feed.server.lists) == 1
        assert feed.server.requests[-1]["resourceVersion"] == "15"
        task.cancel()
        await asyncio.wait({task})


async def test_a_label_that_is_named_like_the_version_is_none() -> None:
    """Custom resources have their labels before it."""
    labelled = claim("new", 25)
    labels = {"labels": {"resourceVersion": "900"}}
    labelled["metadata"] = labels | labelled["metadata"]
    async with fed(BEFORE, torn(event("ADDED", labelled)), told(ADDED_LATER)) as feed:
        await feed.knows("stays", "vanishes", "new", "later")
        assert len(feed.server.lists) == 1
        assert feed.server.requests[-1]["resourceVersion"] == "25"


async def test_an_object_that_a_restored_etcd_has_again_shows_in_the_number_of_all() -> None:
    """It was deleted after the backup, before the first list; versions have caught up since."""
    revived = streamed(claim("stays"), claim("vanishes"), claim("revived", 5), version=30)
    async with fed(BEFORE, torn(bookmark(20)), revived, runs=False) as feed:
        feed.server.version, feed.server.count = 30, 3
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "vanishes", "revived")
        assert len(feed.server.lists) == 2
        task.cancel()
        await asyncio.wait({task})


async def test_what_a_restored_etcd_has_again_shows_where_not_every_object_is_stored() -> None:
    revived = streamed(claim("stays"), claim("vanishes"), claim("revived", 5), version=30)
    async with fed(BEFORE, torn(bookmark(20)), revived, runs=False) as feed:
        feed.server.version, feed.server.count = 30, 3
        reflector = feed.reflector()
        feed.informer.predicate = lambda line: b"vanishes" not in line
        task = asyncio.create_task(reflector.run())
        await feed.knows("stays", "revived")
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
async def test_a_restored_etcd_does_not_have_the_last_event_of_an_object_of_no_interest(
    kind: str,
) -> None:
    last = torn(event(kind, claim("other", 15)), bookmark(20))
    async with fed(BEFORE, last, AFTER, runs=False) as feed:
        feed.server.version, feed.server.lost = 30, {"other"}
        reflector = feed.reflector()
        feed.informer.predicate = lambda line: b"other" not in line
        task = asyncio.create_task(reflector.run())
        await feed.knows("stays", "new")
        task.cancel()
        await asyncio.wait({task})


async def test_after_an_outage_a_watch_continues_at_the_last_event_not_at_a_bookmark() -> None:
    """What another history has had in between would be missed otherwise."""
    async with fed(BEFORE, torn(ADDED, bookmark(40)), told(ADDED_LATER)) as feed:
        await feed.knows("stays", "vanishes", "new", "later")
        assert len(feed.server.lists) == 1
        assert feed.server.requests[-1]["resourceVersion"] == "25"


async def test_a_restore_is_looked_for_where_a_proxy_answered_for_the_server() -> None:
    async with fed(BEFORE, refused(503), RESTORED, runs=False) as feed:
        feed.server.version = 6
        task = asyncio.create_task(feed.reflector().run())
        await feed.knows("stays", "revived")
        task.cancel()
        await asyncio.wait({task})


async def test_a_bookmark_from_before_a_restore_is_no_place_to_go_on_from() -> None:
    """The restored server has not come as far: a watch there would hear nothing."""

    async def restored(request: web.Request) -> web.StreamResponse:
        feed.server.version = 6
        return await torn()(request)

    again = streamed(claim("stays", 4), claim("revived", 5), claim("later", 7), version=8)
    script = (BEFORE, torn(bookmark(40)), restored, RESTORED, refused(410, "Expired"), again)
    async with fed(*script) as feed:
        await feed.knows("stays", "revived", "later")
        assert len(feed.server.lists) == 3
        assert "40" not in [one.get("resourceVersion") for one in feed.server.requests]
