"""What the browser has and has not seen yet: parts of the page, each with its revision."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from dragoman_toolkit.dra.output import Report
from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.page import Page


@dataclass(frozen=True, slots=True)
class Feed:
    """A page in parts, and at which revision each of them changed.

    A browser names the revision that it shows; `since` returns what is newer. So a browser that
    was disconnected, however long, catches up with one message.
    """

    title: str  # Name of the cluster
    page: Page  # As last read
    revision: int = 0  # Counts changes, from 1
    explanations: Mapping[str, Report] = field(default_factory=dict)  # What `explain` says, by pod
    stale: frozenset[str] = frozenset()  # Pods whose explanation was made before something changed
    kind: str = render.CLUSTER  # Where the objects come from; see `render.whole`.
    # The page, rendered
    parts: render.PageParts = field(default_factory=lambda: render.PageParts({}, {}, {}, {}))
    # Revision of each part, by its kind and name
    changed: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def first(cls, title: str, page: Page, kind: str = render.CLUSTER) -> Self:
        """Return the feed of the first page."""
        stale = frozenset(one.key for one in page.waiting)
        feed = cls(title, page, stale=stale, kind=kind)
        return feed.showing(render.document(page, {}, live=True))

    def next(self, page: Page) -> Self:
        """Return the feed of the page that was read after this one."""
        there = {one.key for one in page.waiting}
        kept = {key: found for key, found in self.explanations.items() if key in there}
        old = {one.name: one for one in self.page.rows}
        # Most rows stay as they are: only those that do not are rendered.
        fresh = {one.name: one for one in page.rows if old.get(one.name) != one}
        rows, details = dict(self.parts.rows), dict(self.parts.details)
        rows.update({name: render.row(one) for name, one in fresh.items()})
        details.update({name: render.details(one) for name, one in fresh.items()})
        parts = render.PageParts(
            render.sections(page, kept, live=True),
            {one.name: rows[one.name] for one in page.rows},
            {one.name: details[one.name] for one in page.rows},
            {one.name: one.group for one in page.rows},
        )
        moved = _basis(page) != _basis(self.page)
        stale = frozenset(there if moved else self.stale & there)
        return replace(self, page=page, explanations=kept, stale=stale).showing(parts)

    def explained(self, found: Mapping[str, Report]) -> Self:
        """Return the feed with more explanations."""
        known = {**self.explanations, **found}
        parts = replace(self.parts, sections=render.sections(self.page, known, live=True))
        stale = self.stale - found.keys()
        return replace(self, explanations=known, stale=stale).showing(parts)

    def whole(self) -> str:
        """Return the page for a browser that has nothing yet."""
        return render.whole(
            self.parts,
            title=self.title,
            taken=self.page.taken,
            kubernetes=self.page.kubernetes,
            revision=self.revision,
            kind=self.kind,
        )

    def since(self, revision: int) -> str:
        """Return as JSON what a browser at a revision lacks: all of it where that is ahead."""
        known = revision if revision <= self.revision else 0
        rows = self._newer("rows", self.parts.rows, known)
        update: dict[str, Any] = {
            "revision": self.revision,
            "taken": self.page.taken,
            "sections": self._newer("sections", self.parts.sections, known),
            "rows": rows,
            "details": {name: json.loads(self.parts.details[name]) for name in rows},
        }
        if self.changed["order", ""] > known:
            update["order"] = [*self.parts.rows]
        return json.dumps(update, separators=(",", ":"))

    def _newer(self, kind: str, parts: Mapping[str, str], known: int) -> dict[str, str]:
        return {name: html for name, html in parts.items() if self.changed[kind, name] > known}

    def showing(self, parts: render.PageParts) -> Self:
        """Return the feed with other parts, the changed ones at the next revision."""
        old = self.parts
        changed = [("sections", one) for one in _differ(old.sections, parts.sections)]
        # What the panel shows may change where the map looks the same.
        differing = {*_differ(old.rows, parts.rows), *_differ(old.details, parts.details)}
        changed += [("rows", one) for one in differing]
        if not self.revision or [*old.rows] != [*parts.rows]:
            changed.append(("order", ""))
        if not changed:
            return self
        revision = self.revision + 1
        at = {**self.changed, **dict.fromkeys(changed, revision)}
        return replace(self, revision=revision, parts=parts, changed=at)


def _basis(page: Page) -> tuple[object, ...]:
    """Return what explanations may depend on."""
    return page.rows, page.waiting, page.basis


def _differ(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [name for name, html in new.items() if old.get(name) != html]
