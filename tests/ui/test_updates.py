"""No update of the page takes the focus from what has it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from dragoman_toolkit.dra.output import Report
from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.feed import Feed
from tests.support.worlds import pages
from tests.support.worlds.inventory import claim, device_class, held, pod, pool
from tests.ui.browser import Window

Windows = Callable[..., Window]
Manifests = list[dict[str, Any]]
SECOND = "b: used by ns/user"
FREE = [pool(f"node-f{number:02}", ["a"]) for number in range(10)]


def cluster(*devices: str, users: bool = True, waiting: int = 2, free: int = 2) -> Manifests:
    """Return nodes `node-a` and `node-b`, whose device `b` is in use; and pods that wait."""
    user = pod("user", claims={"gpu": "claim"}, node="node-b")
    used = [user, held(claim(), ("node-b", "b"), pods=[user])]
    return [
        device_class(),
        pool("node-a", ["a"]),
        pool("node-b", devices or ("a", "b", "c")),
        held(claim("first"), ("node-a", "a")),
        *FREE[:free],
        *(used if users else []),
        *(claim(f"waits-{number}", count=9) for number in range(waiting)),
        *(pod(f"waits-{number}", claims={"gpu": f"waits-{number}"}) for number in range(waiting)),
    ]


def explained(feed: Feed) -> Feed:
    """Explain all pods: the page would ask its server for what is missing."""
    return feed.explained(
        {one.key: Report("Explanation", {}, ("fits",)) for one in feed.page.waiting}
    )


class Shown:
    """A page that shows a cluster, and gets updates as the server sends them."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self._feed = explained(Feed.first("test", pages.of(*cluster())))
        file = folder / "page.html"
        # Without a revision the page does not look for its server.
        file.write_text(
            render.whole(
                self._feed.parts,
                title="test",
                taken=pages.of().taken,
                kubernetes="",
                revision=0,
                kind=render.CLUSTER,
            )
        )
        page.goto(file.as_uri())

    def update(self, manifests: Manifests, since: int = 0) -> None:
        """Send what is newer than a revision: all of it by default."""
        self._feed = explained(self._feed.next(pages.of(*manifests)))
        self.page.evaluate(f"apply({self._feed.since(since)})")

    def device(self, name: str) -> Locator:
        """Find a device by its name for screen readers."""
        return self.page.get_by_role("gridcell", name=name, exact=True)


@pytest.fixture
def shown(windows: Windows, tmp_path: Path) -> Shown:
    """Show two used nodes, two free ones and two pods that wait."""
    return Shown(windows().page, tmp_path)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(cluster(waiting=1), id="all is sent again"),
        pytest.param(cluster("a", "b"), id="a device goes"),
        pytest.param(cluster("0", "a", "b", "c"), id="a device comes before it"),
    ],
)
@pytest.mark.parametrize("since", [0, 1])
def test_a_device_keeps_the_focus(shown: Shown, after: Manifests, since: int) -> None:
    shown.device(SECOND).focus()
    shown.update(after, since)
    expect(shown.device(SECOND)).to_be_focused()
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#device")).to_contain_text("node-b/b")


def test_a_device_keeps_the_focus_when_its_row_moves(shown: Shown) -> None:
    shown.device(SECOND).focus()
    shown.update(cluster(users=False), 1)
    expect(shown.device("b: free")).to_be_focused()


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(cluster("a", users=False), id="the device goes"),
        pytest.param(cluster(users=False, free=len(FREE)), id="its row moves into a folded group"),
        pytest.param(cluster()[:2], id="its node goes"),
    ],
)
def test_the_focus_of_a_device_that_is_not_shown_goes_to_another(
    shown: Shown, after: Manifests
) -> None:
    shown.page.evaluate("folded.add('free')")
    shown.device(SECOND).focus()
    shown.update(after, 1)
    expect(shown.page.locator(".dot:focus, #map-title:focus")).to_have_count(1)


@pytest.mark.parametrize("name", ["Close", "Copy"])
def test_buttons_of_the_panel_keep_the_focus(shown: Shown, name: str) -> None:
    shown.device(SECOND).click()
    button = shown.page.locator("#panel").get_by_role("button", name=name)
    button.focus()
    shown.update(cluster("0", "a", "b", "c"), 1)
    expect(button).to_be_focused()
    expect(shown.page.locator("#device")).to_contain_text("node-b/b")


def test_a_pod_that_waits_keeps_the_focus_and_leaves_it_to_the_list(shown: Shown) -> None:
    shown.page.locator("summary", has_text="waits-1").focus()
    shown.update(cluster("a", "b"))
    expect(shown.page.locator("summary:focus")).to_contain_text("waits-1")
    shown.update(cluster(waiting=1))
    expect(shown.page.locator("#waiting :focus")).to_have_count(1)
