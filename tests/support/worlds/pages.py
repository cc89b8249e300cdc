"""Pages of small clusters, and what a browser would find in them."""

from html.parser import HTMLParser
from typing import Any

from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.explanations import Explainer
from dragoman_toolkit.dra.ui.page import Page, page
from tests.support.worlds import inventory as builders


class Found(HTMLParser):
    """Elements with their attributes, and the text of the page.

    Args:
        html: The page.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]


def of(*manifests: Any) -> Page:
    """Compute the page of a cluster."""
    return page(builders.inventory(*manifests), builders.snapshot(*manifests))


def html(*manifests: Any, live: bool = False) -> str:
    """Render the page of a cluster, all pods explained."""
    inventory = builders.inventory(*manifests)
    snapshot = builders.snapshot(*manifests)
    found = page(inventory, snapshot)
    explained = dict(Explainer(inventory, snapshot).each((one.key for one in found.waiting), 60))
    parts = render.document(found, explained, live=live)
    return render.whole(
        parts,
        title="test",
        taken=found.taken,
        kubernetes="",
        revision=int(live),
        kind=render.SNAPSHOT,
    )
