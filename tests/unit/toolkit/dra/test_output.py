"""Reports that follow each other: redrawn in place on a terminal, below each other elsewhere."""

import io
import json
import re
import sys

import pytest

from dragoman_toolkit.dra.output import Exit, ProgressLine, Report, Table, show, watch

REPORTS = [
    Report(
        "TopClasses", {"free": free}, (Table(("CLASS", "FREE"), (("gpu", str(free)),)),), Exit.CLEAR
    )
    for free in (11, 22)
]


class Terminal(io.StringIO):
    """Standard output of a user at a terminal."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, output: str = "table") -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    watch(REPORTS, output)
    return stream.getvalue()


def test_a_terminal_shows_the_last_table_in_the_place_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    first, _, rest = watched(monkeypatch, Terminal()).partition("11")
    between = rest[: rest.index("22")]
    assert "CLASS" in first
    assert "\x1b[2K" in between  # the lines of the first table are erased
    assert "\x1b[1A" in between  # from below


def test_a_file_has_one_table_below_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = watched(monkeypatch, io.StringIO())
    assert printed.index("11") < printed.index("22")
    assert "\x1b" not in printed
    assert printed.count("CLASS") == 2


def test_programs_get_one_document_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = watched(monkeypatch, io.StringIO(), "json")
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(printed)
    second, _ = decoder.raw_decode(printed[end:].lstrip())
    assert [first["free"], second["free"]] == [11, 22]


ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
WIDE = Report(
    "Explanation",
    {},
    (
        Table(
            ("NODES", "WHY", "DEVICES", "FREE"),
            (("node-1, node-2", "the selector of request gpu is false: model is A100", "16", "7"),),
        ),
    ),
)


@pytest.mark.parametrize("columns", [200, 80, 60, 40, 20, 5])
def test_no_column_is_cut_however_narrow_the_terminal_is(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    show(WIDE, "table")
    lines = ESCAPES.sub("", terminal.getvalue()).splitlines()
    said = "".join("".join(lines).split())
    for word in ("node-1,", "node-2", "selector", "false:", "A100", "16", "7", "DEVICES", "FREE"):
        assert word in said
    assert max(map(len, lines)) <= columns
    if columns >= 60:
        assert lines[0].split() == ["NODES", "WHY", "DEVICES", "FREE"]
        assert lines[1].split()[-2:] == ["16", "7"]


@pytest.mark.parametrize(
    ("stream", "seconds", "expected"),
    [
        pytest.param(Terminal(), 0.1, "", id="short"),
        pytest.param(Terminal(), 0.6, "\rreading: resourceclaimtemplat\x1b[K\r\x1b[K", id="long"),
        pytest.param(io.StringIO(), 0.6, "", id="pipe"),
    ],
)
def test_long_work_shows_a_terminal_how_far_it_is_in_one_line(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float, expected: str
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    times = iter([0.0, seconds, seconds])
    with ProgressLine(clock=lambda: next(times)) as progress:
        progress("resourceclaimtemplates", 4)
        progress("pods", 11)
    assert stream.getvalue() == expected
