"""Events and reviews visit the rooms that docs/architecture.md names, at most six of them."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import kopf
import pytest

from dragoman.cli.server import without_events
from dragoman.process.operator import Operator
from dragoman.settings import Settings
from tests.support.worlds.reviews import DENIED
from tests.unit.dragoman.claims.objects import Object, claim, pod
from tests.unit.dragoman.controllers.claims.scenarios import serving
from tests.unit.dragoman.controllers.claims.simulation import ModelApi, process
from tests.unit.dragoman.kube.virtual_time import in_virtual_time
from tests.unit.webhooks.harness import serving as serving_webhook

ROOT = Path(__file__).parents[3]
SOURCES = (ROOT / "operator", ROOT / "webhooks")
PAGE = (ROOT / "docs/architecture.md").read_text()
END_OF_LIST = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}'
)


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


@dataclass
class Watched(ModelApi):
    """A model whose watches report what a test puts into `lines_left`.

    Attributes:
        lines_left: Watch lines that were not read yet.
    """

    lines_left: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)

    async def lines(
        self, _: str, query: dict[str, str], wanted: Callable[[bytes], bool]
    ) -> AsyncIterator[bytes]:
        """Yield lines of a watch; a streaming list is empty."""
        if "sendInitialEvents" in query:
            yield END_OF_LIST
        while True:
            line = await self.lines_left.get()
            if wanted(line):
                yield line


async def followed(api: Watched, kind: str, added: Object) -> list[str]:
    """Let an object come in by a reflector, and follow it until everything is settled.

    Args:
        api: The model, which has what was there before.
        kind: The informer of the object.
        added: The object.
    """
    walk = Walk()
    _, watching = without_events(kopf.get_default_registry())
    operator = Operator(Settings(), watching)
    manager = operator._manager
    manager.memo = SimpleNamespace(operator=operator)
    async with process(api) as running:
        manager.watch(getattr(running.cluster, kind))
        await asyncio.sleep(1.0)
        api.server.add(added)
        event = {"type": "ADDED", "object": api.server.events[-1].document}
        sys.setprofile(walk)
        try:
            api.lines_left.put_nowait(json.dumps(event, separators=(",", ":")).encode())
            await running.follow(5.0)
        finally:
            sys.setprofile(None)
            await operator.stop()
    return list(walk.files)


@in_virtual_time
async def pod_walked() -> list[str]:
    """Follow a new pod until its claim is published."""
    api = Watched(serving().server)
    files = await followed(api, "pods", pod("walker").using("gpu", template="my-template"))
    assert api.server.writes == ["POST resourceclaims", "PATCH pods/status"]
    return files


@in_virtual_time
async def claim_walked() -> list[str]:
    """Follow a claim that is reserved for a deleted pod until its devices are free."""
    api = Watched(serving().server)
    used = claim("used").allocated().reserved_for(pod("deleted"))
    files = await followed(api, "claims", used)
    assert api.server.writes == ["PATCH resourceclaims/status", "PATCH resourceclaims"]
    return files


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
    "Path of a pod event": pod_walked,
    "Path of a claim event": claim_walked,
    "Path of a review": lambda: asyncio.run(reviewed()),
}


@pytest.mark.parametrize("title", WAYS)
def test_it_visits_the_rooms_of_the_page_in_their_order_and_nothing_unnamed(title: str) -> None:
    files, named = WAYS[title](), rooms(title)
    assert [name for name in files if name in named] == named
    assert len(named) <= 6
    # A claim event shares its leaves with a pod event.
    all_named = linked(section(title)) | linked(section("Path of a pod event"))
    unnamed = [one for one in files if not {one, str(Path(one).parent)} & all_named]
    assert unnamed == []


def test_every_file_that_the_page_links_to_exists() -> None:
    links = re.findall(r"\]\(\.\./((?:operator|webhooks|tests)/[^)]+)\)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
