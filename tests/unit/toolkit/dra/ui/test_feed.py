"""A browser is sent what is newer than what it has, and that alone."""

import json
from typing import Any

from dragoman_toolkit.dra.output import Report
from dragoman_toolkit.dra.ui.feed import Feed
from tests.support import manifests as objects
from tests.support.worlds import pages
from tests.support.worlds.inventory import claim, device_class, held, pod, pool


def cluster(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [device_class(), pool("node-a", ["a"]), pool("node-b", ["a"]), *more]


WAITING = [claim("waits"), pod("waits", claims={"gpu": "waits"})]


def lacks(feed: Feed, revision: int) -> Any:
    return json.loads(feed.since(revision))


def test_a_browser_without_anything_gets_everything() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    found = lacks(feed, 0)
    assert [*found["rows"]] == found["order"] == ["node-a", "node-b"]
    assert {"classes", "waiting", "legend"} <= found["sections"].keys()


def test_the_same_page_again_is_no_change() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    again = feed.next(pages.of(*cluster()))
    assert again.revision == feed.revision
    found = lacks(again, feed.revision)
    assert (found["rows"], found["sections"], "order" in found) == ({}, {}, False)


def test_only_the_changed_row_is_sent() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    changed = feed.next(pages.of(*cluster(held(claim(), ("node-b", "a")))))
    found = lacks(changed, feed.revision)
    assert [*found["rows"]] == [*found["details"]] == ["node-b"]
    assert "used" in found["rows"]["node-b"]
    assert {"classes", "legend"} <= found["sections"].keys()
    assert found["order"] == ["node-b", "node-a"]  # it is in use now


def test_a_change_that_only_the_panel_shows_is_sent() -> None:
    first = pool("node-a", [{"name": "a", "attributes": {"model": {"string": "x"}}}])
    second = pool("node-a", [{"name": "a", "attributes": {"model": {"string": "y"}}}])
    feed = Feed.first("test", pages.of(device_class(), first))
    found = lacks(feed.next(pages.of(device_class(), second)), feed.revision)
    assert found["details"]["node-a"][0]["attributes"] == {"model": "y"}


def test_a_pod_is_explained_again_when_a_node_is_cordoned() -> None:
    node = objects.node("node-a")
    feed = Feed.first("test", pages.of(*cluster(*WAITING, node)))
    feed = feed.explained({"ns/waits": Report("Explanation", {}, ("fits",))})
    assert feed.next(pages.of(*cluster(*WAITING, node))).stale == frozenset()
    cordoned = node | {"spec": {"unschedulable": True}}
    assert feed.next(pages.of(*cluster(*WAITING, cordoned))).stale == {"ns/waits"}


def test_nodes_that_come_and_go_send_the_order() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    more = feed.next(pages.of(*cluster(pool("node-aa", ["a"]))))
    found = lacks(more, feed.revision)
    assert found["order"] == ["node-a", "node-aa", "node-b"]
    assert [*found["rows"]] == ["node-aa"]
    less = more.next(pages.of(device_class(), pool("node-b", ["a"])))
    assert lacks(less, more.revision)["order"] == ["node-b"]
    assert lacks(less, more.revision)["rows"] == {}


def test_a_browser_that_missed_changes_catches_up_at_once() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    second = feed.next(pages.of(*cluster(held(claim("one"), ("node-a", "a")))))
    both = held(claim("two"), ("node-b", "a"))
    third = second.next(pages.of(*cluster(held(claim("one"), ("node-a", "a")), both)))
    assert {*lacks(third, feed.revision)["rows"]} == {"node-a", "node-b"}
    assert {*lacks(third, second.revision)["rows"]} == {"node-b"}


def test_a_revision_of_another_server_is_not_trusted() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    assert [*lacks(feed, 10_000)["rows"]] == ["node-a", "node-b"]


def test_explanations_arrive_later_and_are_forgotten_with_their_pod() -> None:
    feed = Feed.first("test", pages.of(*cluster(*WAITING)))
    assert feed.stale == {"ns/waits"}
    known = feed.explained({"ns/waits": Report("Explanation", {}, ("It does not fit.",))})
    assert known.stale == frozenset()
    assert "It does not fit." in lacks(known, feed.revision)["sections"]["waiting"]
    assert known.next(pages.of(*cluster())).explanations == {}


def test_explanations_are_stale_once_devices_change() -> None:
    feed = Feed.first("test", pages.of(*cluster(*WAITING)))
    known = feed.explained({"ns/waits": Report("Explanation", {}, ("It does not fit.",))})
    assert known.next(pages.of(*cluster(*WAITING))).stale == frozenset()
    changed = known.next(pages.of(*cluster(*WAITING, held(claim(), ("node-a", "a")))))
    assert changed.stale == {"ns/waits"}
    assert changed.explanations.keys() == {"ns/waits"}


def test_the_whole_page_says_its_revision() -> None:
    feed = Feed.first("test", pages.of(*cluster()))
    assert f'data-revision="{feed.revision}"' in feed.whole()
