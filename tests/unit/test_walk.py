"""Events and reviews visit the rooms that docs/architecture.md names, at most six of them."""

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from dragoman import handlers
from dragoman.kube.sharedinformer import SharedInformers
from tests.unit.claims.objects import pod
from tests.unit.controllers.claims.scenarios import serving
from tests.unit.controllers.claims.simulation import process
from tests.unit.kube.virtual_time import in_virtual_time
from tests.unit.webhooks.builders import DENIED
from tests.unit.webhooks.harness import serving as serving_webhook

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "operator/dragoman", ROOT / "webhooks/dragoman_webhooks")
PAGE = (ROOT / "docs/architecture.md").read_text()


def section(title: str) -> str:
    """Return a section of the page."""
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def linked(text: str) -> set[str]:
    """Return the files and folders of the product that a text links to."""
    return set(re.findall(r"\]\(\.\./((?:operator|webhooks)/[^)]+)\)", text))


def rooms(title: str) -> list[str]:
    """Return the files of the section's table, in their order."""
    rows = [line for line in section(title).splitlines() if line.startswith("| [")]
    return [name for row in rows for name in linked(row.split("|")[1])]


class Walk:
    """Notes which of our files run, in the order of their first call."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and any(path.is_relative_to(source) for source in SOURCES):
            self.files[str(path.relative_to(ROOT))] = None


@in_virtual_time
async def walked() -> list[str]:
    """Let a pod event come in by the handler, and follow it until its claim is published."""
    api = serving()
    walk = Walk()
    async with process(api) as running:
        user = pod("walker").using("gpu", template="my-template")
        api.server.add(user)
        informers = SharedInformers()
        informers.add(running.controller.informers.pods)
        memo = SimpleNamespace(operator=SimpleNamespace(informers=informers))
        sys.setprofile(walk)
        try:
            event: Any = {"type": "ADDED", "object": user.document}
            handle: Any = handlers.pod_event
            await handle(event=event, memo=memo)
            await running.follow(5.0)
        finally:
            sys.setprofile(None)
    assert api.server.writes == ["POST resourceclaims", "PATCH pods/status"]
    return list(walk.files)


async def reviewed() -> list[str]:
    """Let a review come in by the webhook's socket, and follow it until it is answered."""
    walk = Walk()
    async with serving_webhook() as client:
        sys.setprofile(walk)
        try:
            status, text = await client.post(DENIED)
        finally:
            sys.setprofile(None)
    assert status == 200
    assert '"allowed":false' in text
    return list(walk.files)


WAYS: dict[str, Callable[[], list[str]]] = {
    "The way of one pod event": walked,
    "The way of one review": lambda: asyncio.run(reviewed()),
}


@pytest.mark.parametrize("title", WAYS)
def test_it_visits_the_rooms_of_the_page_in_their_order_and_nothing_unnamed(title: str) -> None:
    files, named = WAYS[title](), rooms(title)
    assert [name for name in files if name in named] == named
    assert len(named) <= 6
    all_named = linked(section(title))
    unnamed = [one for one in files if not {one, str(Path(one).parent)} & all_named]
    assert unnamed == []


def test_every_file_that_the_page_links_to_exists() -> None:
    links = re.findall(r"\]\(\.\./((?:operator|webhooks|tests)/[^)]+)\)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
