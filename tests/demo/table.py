"""The table of pods and claims, and the line of devices below it. Pure."""

from collections.abc import Sequence
from itertools import groupby

from tests.demo.picture import Device, Picture, Row, State
from tests.demo.terminal import Line, Span, Tone, plain

HEADINGS = ("POD", "CLAIM", "DEVICE", "NODE", "STATE")
WIDTHS = (10, 19, 6, 6)
INDENT, GAP = "   ", "  "
NOTHING = "-"
HELD, FREE = "■", "□"
TONES = {
    State.NO_TEMPLATE: Tone.WAITING,
    State.NO_CLAIM: Tone.WAITING,
    State.NO_DEVICE: Tone.WAITING,
    State.SCHEDULED: Tone.FRESH,
    State.RUNNING: Tone.GOOD,
    State.RELEASING: Tone.FRESH,
    State.FINISHED: Tone.FAINT,
}


def block(picture: Picture) -> list[Line]:
    """Return the whole table and the devices, as they are redrawn in place."""
    rows = [plain(""), *table(picture.rows)] if picture.rows else []
    return [*rows, plain(""), devices(picture)] if picture.devices else rows


def snapshot(picture: Picture, before: Picture) -> list[Line]:
    """Return what has changed since an earlier picture, for those who read a log."""
    changed = [row for row in picture.rows if row not in before.rows]
    return [*table(changed), devices(picture)]


def table(rows: Sequence[Row]) -> list[Line]:
    """Return a heading and a line for each row; nothing for no rows."""
    if not rows:
        return []
    return [(Span(INDENT + columns(HEADINGS), Tone.FAINT),), *map(line, rows)]


def line(row: Row) -> Line:
    """Return one row, its state in the state's colour."""
    tone = TONES[row.state]
    quiet = Tone.FAINT if tone is Tone.FAINT else Tone.PLAIN
    cells = (row.pod, row.claim or NOTHING, row.device or NOTHING, row.node or NOTHING, "")
    return (Span(INDENT + columns(cells), quiet), Span(state(row), tone))


def state(row: Row) -> str:
    """Return the words for a row's state."""
    if row.state is State.RUNNING and row.users > 1:
        return f"{row.state.value}, one of {row.users} users"
    return row.state.value


def columns(cells: Sequence[str]) -> str:
    """Align cells; the last one takes the rest of the line."""
    *aligned, last = cells
    padded = [cell.ljust(width) for cell, width in zip(aligned, WIDTHS, strict=True)]
    return GAP.join([*padded, last])


def devices(picture: Picture) -> Line:
    """Return one square for each device, node by node, and the sum."""
    spans = [Span(INDENT)]
    for node, owned in groupby(picture.devices, key=lambda device: device.node):
        spans += [Span(f"{node} ", Tone.FAINT), *map(square, owned), Span(GAP)]
    total = len(picture.devices)
    return (*spans, Span(f"{picture.held} of {total} devices in use", Tone.FAINT))


def square(device: Device) -> Span:
    """Return the square of a device."""
    return Span(f"{HELD} ", Tone.GOOD) if device.held else Span(f"{FREE} ", Tone.FAINT)
