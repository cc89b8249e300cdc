"""The table of pods and claims, and the line of devices below it, for rich."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tests.demo.overview import Overview, Row, State
from tests.demo.screen import Style, styled

HEADINGS = ("POD", "CLAIM", "DEVICE", "NODE", "STATE")
WIDTHS = (10, 19, 6, 6, 0)
INDENT = "   "
NOTHING = "-"
HELD, FREE = "■", "□"
STYLES = {
    State.NO_TEMPLATE: Style.WAITING,
    State.NO_CLAIM: Style.WAITING,
    State.NO_DEVICE: Style.WAITING,
    State.SCHEDULED: Style.FRESH,
    State.RUNNING: Style.GOOD,
    State.RELEASING: Style.FRESH,
    State.FINISHED: Style.FAINT,
}


def block(overview: Overview) -> Group:
    """Return the whole table and the devices, as they are redrawn in place."""
    parts: list[RenderableType] = ["", table(overview.rows)] if overview.rows else []
    if overview.devices:
        parts += ["", devices(overview)]
    return Group(*parts)


def snapshot(overview: Overview, before: Overview) -> Group:
    """Return what has changed since an earlier overview, for logs."""
    changed = [row for row in overview.rows if row not in before.rows]
    parts: list[RenderableType] = [table(changed)] if changed else []
    return Group(*parts, *([devices(overview)] if overview.devices else []))


def table(rows: Sequence[Row]) -> Padding:
    """Return a heading and a line for each row."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=Style.FAINT)
    for heading, width in zip(HEADINGS, WIDTHS, strict=True):
        drawn.add_column(heading, min_width=width, no_wrap=True)
    shown = ""
    for row in rows:
        pod, shown = "" if row.pod == shown else row.pod, row.pod
        quiet = Style.FAINT if row.state is State.FINISHED else ""
        cells = (pod, row.claim or NOTHING, row.device or NOTHING, row.node or NOTHING)
        drawn.add_row(*(Text(cell, quiet) for cell in cells), Text(state(row), STYLES[row.state]))
    return Padding(drawn, (0, 0, 0, len(INDENT)), expand=False)


def state(row: Row) -> str:
    """Return the words for a row's state."""
    if row.state is State.RUNNING and row.users > 1:
        return f"{row.state.value}, one of {row.users} users"
    return row.state.value


def devices(overview: Overview) -> Text:
    """Return one square for each device, node by node, and the sum."""
    total = len(overview.devices)
    words = f"{overview.held} of {total} devices in use"
    return styled(INDENT, *_squares(overview), (words, Style.FAINT))


def _squares(overview: Overview) -> Iterator[str | tuple[str, str]]:
    for node, owned in groupby(overview.devices, key=lambda device: device.node):
        yield f"{node} ", Style.FAINT
        for device in owned:
            yield (f"{HELD} ", Style.GOOD) if device.held else (f"{FREE} ", Style.FAINT)
        yield "  "
