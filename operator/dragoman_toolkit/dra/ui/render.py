"""HTML of the page: one document without any address in it, and the parts that change."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dragoman.cli.terminal import plain
from dragoman_toolkit.dra.output import Cell, Report, Table
from dragoman_toolkit.dra.ui.nodemap import GROUPS, MapRow
from dragoman_toolkit.dra.ui.page import MEANING, Page, WaitingPod
from dragoman_toolkit.dra.ui.problems import NAMED, kinds, typed
from dragoman_toolkit.dra.ui.reasons import reason

_PACKAGE = "dragoman_toolkit.dra.ui"
SECTIONS = (
    "notes",
    "problems",
    "classes",
    "namespaces",
    "queues",
    "waiting",
    "legend",
    "choices",
    "empty",
)
"""Parts of the page beside the rows of the map, each a template of its name."""
OPEN = 3
"""Waiting pods whose explanations are open from the beginning."""
ITEM = "* "
"""How an item of a list begins in a text for the terminal."""
SNAPSHOT = "snapshot"
CLUSTER = "cluster"
Explanations = Mapping[str, Report]
"""What `explain` says, by pod."""


@dataclass(frozen=True, slots=True)
class PageParts:
    """The page as parts."""

    sections: Mapping[str, str]  # HTML by name of the section
    rows: Mapping[str, str]  # HTML by name of the row, in the order of the page
    details: Mapping[str, str]  # JSON by name of the row
    groups: Mapping[str, str]  # In which group of the map each row stands


def document(page: Page, explanations: Explanations, *, live: bool) -> PageParts:
    """Render all parts of a page."""
    return PageParts(
        sections(page, explanations, live=live),
        {one.name: row(one) for one in page.rows},
        {one.name: details(one) for one in page.rows},
        {one.name: one.group for one in page.rows},
    )


def sections(page: Page, explanations: Explanations, *, live: bool) -> dict[str, str]:
    """Render what is beside the map."""
    words = {
        "page": page,
        "explanations": explanations,
        "live": live,
        "meaning": MEANING,
        "kinds": kinds(page.problems),
        "named": NAMED,
        "open": page.waiting_count <= OPEN,
    }
    return {name: _template(name).render(words) for name in SECTIONS}


def row(one: MapRow) -> str:
    """Render one node of the map."""
    return _template("row").render(row=one)


def details(one: MapRow) -> str:
    """Return what the panel shows for the devices of a row, as JSON."""
    return _json(one.details)


def report(found: Report) -> str:
    """Render an answer of `explain`."""
    return _template("report").render(report=found)


def whole(  # noqa: PLR0913 — what the head of the page says
    parts: PageParts, *, title: str, taken: str, kubernetes: str, revision: int, kind: str
) -> str:
    """Return the whole page; a revision from 1 makes it follow the server's events.

    Args:
        parts: Of the page.
        title: Name of the cluster, or of the file.
        taken: When it was read.
        kubernetes: The server's version.
        revision: Of the parts; 0 where nothing follows.
        kind: CLUSTER or SNAPSHOT.
    """
    style, script = _asset("page.css"), _asset("page.js")
    listed = ",".join(f"{_json(name)}:{found}" for name, found in parts.details.items())
    return _template("page").render(
        policy=policy(live=revision > 0),
        style=Markup(style),  # noqa: S704 — a file of this package
        script=Markup(script),  # noqa: S704 — a file of this package
        sections={name: Markup(found) for name, found in parts.sections.items()},  # noqa: S704
        groups=[(key, text, _rows(parts, key)) for key, text in GROUPS.items()],
        kind=kind,
        details=Markup(f"{{{listed}}}"),  # noqa: S704 — has no `<`
        title=title,
        taken=taken,
        kubernetes=kubernetes,
        revision=revision,
    )


def _rows(parts: PageParts, group: str) -> list[Markup]:
    """Return the rows of a group of the map."""
    return [
        Markup(found)  # noqa: S704 — rendered above
        for name, found in parts.rows.items()
        if parts.groups[name] == group
    ]


def policy(*, live: bool) -> str:
    """Return the Content-Security-Policy: this style, this script, no other address at all."""
    script, style = _hash(_asset("page.js")), _hash(_asset("page.css"))
    connect = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src '{script}'; style-src '{style}'; "
        f"connect-src {connect}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> str:
    """Return JSON that cannot end a `<script>` element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _asset(name: str) -> str:
    return (files(_PACKAGE) / "static" / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.html.j2")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["text"] = lambda cell: cell.text if isinstance(cell, Cell) else cell
    made.filters["style"] = lambda cell: cell.style if isinstance(cell, Cell) else ""
    made.filters["paragraphs"] = _paragraphs
    made.filters["item"] = lambda line: line.removeprefix(ITEM)
    made.filters["reason"] = reason
    made.filters["command"] = _command
    made.filters["typed"] = typed
    made.filters["rendered"] = lambda found: Markup(report(found))  # noqa: S704 — rendered below
    return made


def _finalize(value: Any) -> Any:
    """Spell out control characters: some of them turn the direction of the text around."""
    return plain(value) if type(value) is str else value


def _paragraphs(blocks: Iterable[Table | str | Cell]) -> Iterator[tuple[str, list[Any]]]:
    """Yield runs of blocks of one kind: `table`, `items` of a list, or lines of a `text`."""
    for kind, run in groupby(blocks, _kind):
        if kind:
            yield kind, [*run]


def _kind(block: Table | str | Cell) -> str:
    if isinstance(block, Table):
        return "table"
    text = block.text if isinstance(block, Cell) else block
    return ("items" if text.startswith(ITEM) else "text") if text else ""


def _command(pod: WaitingPod) -> str:
    """Return the command that explains a pod."""
    return f"kubectl dra explain pod {pod.key.rpartition('/')[2]} -n {pod.namespace}"
