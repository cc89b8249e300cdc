"""A pod event visits the rooms that docs/architecture.md names, and no more than six of them."""

import re
import sys
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

from dragoman import handlers
from dragoman.kube.sharedinformer import SharedInformers
from tests.unit.claims.objects import pod
from tests.unit.controllers.claims.scenarios import serving
from tests.unit.controllers.claims.simulation import process
from tests.unit.kube.virtual_time import in_virtual_time

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "operator/dragoman"
PAGE = (ROOT / "docs/architecture.md").read_text()


def section(title: str) -> str:
    """Return a section of the page."""
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def linked(text: str) -> set[str]:
    """Return the files and folders below operator/dragoman that a text links to."""
    return set(re.findall(r"\]\(\.\./operator/dragoman/([^)]+)\)", text))


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
        if event == "call" and path.is_relative_to(SOURCE):
            self.files[str(path.relative_to(SOURCE))] = None


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


def test_a_pod_event_visits_the_rooms_of_the_page_in_their_order() -> None:
    named = rooms("The way of one pod event")
    visited = [name for name in walked() if name in named]
    assert visited == named
    assert len(named) <= 6


def test_a_pod_event_visits_nothing_that_the_page_does_not_name() -> None:
    named = linked(section("The way of one pod event"))
    unnamed = [
        name for name in walked() if name not in named and str(Path(name).parent) not in named
    ]
    assert unnamed == []


def test_every_file_that_the_page_links_to_exists() -> None:
    links = re.findall(r"\]\(\.\./((?:operator|webhooks|tests)/[^)]+)\)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
