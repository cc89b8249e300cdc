"""Output of 80 columns, line by line: no column is cut away, and the terminal wraps no row."""

import io
import sys

import pytest

from dragoman_toolkit.dra.output import Report, Table, show
from dragoman_toolkit.dra.tables import Cell, Screen, table_lines, text_lines

CLASSES = Table(
    ("CLASS", "DRIVER", "DEVICES", "FREE", "USED", "TAINTED", "HELD", "LOST", "PENDING"),
    (("gpu.nvidia.com", "gpu.nvidia.com", "40", "17", "20", "1", "1", "0", "3"),),
    spare=("DRIVER",),
)
WHY = Table(
    ("NODES", "WHY", "DEVICES"),
    (
        ("node-1, node-2", "the selector of request gpu is false: productName is A100", "16"),
        ("node-10", "1 of 2 devices free; 1 is used by ml/trainer-0, 1 is tainted by XID 79", "2"),
    ),
)
FINDINGS = Table(
    ("SEV", "FINDING", "OBJECT", "SINCE", "WHAT IS WRONG, AND -> WHAT TO DO"),
    (
        (
            Cell("error", "red"),
            "DeviceLost",
            "ml/eval-gpu",
            "3h",
            (
                "gpu-5 of gpu.nvidia.com/node-2 is in no slice of the pool, which is complete now\n"
                "-> kubectl delete pod -n ml eval"
            ),
        ),
    ),
    stack_below=120,
)
SHOTS = {
    "classes": (
        CLASSES,
        """\
CLASS            DEVICES   FREE   USED   TAINTED   HELD   LOST   PENDING
gpu.nvidia.com   40        17     20     1         1      0      3
""",
    ),
    "why": (
        WHY,
        """\
NODES           WHY                                                      DEVICES
node-1, node-2  the selector of request gpu is false: productName is     16
                A100
node-10         1 of 2 devices free; 1 is used by ml/trainer-0, 1 is     2
                tainted by XID 79
""",
    ),
    "findings": (
        FINDINGS,
        """\
error   DeviceLost   ml/eval-gpu   3h
  gpu-5 of gpu.nvidia.com/node-2 is in no slice of the pool, which is complete
  now
  -> kubectl delete pod -n ml eval
""",
    ),
}


class Terminal(io.StringIO):
    """Standard output of a user at a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, table: Table) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setattr(sys, "stdout", stream)
    show(Report("Shot", {}, (table,)), "table")
    return stream.getvalue()


@pytest.mark.parametrize("name", SHOTS)
def test_eighty_columns(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    table, expected = SHOTS[name]
    printed = shown(monkeypatch, Terminal(), table)
    assert printed == expected
    assert max(map(len, printed.splitlines())) <= 80


def test_a_file_has_every_column_and_one_line_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = shown(monkeypatch, io.StringIO(), CLASSES).splitlines()
    assert printed[0].split() == list(CLASSES.headers)
    assert len(printed) == 2


@pytest.mark.parametrize(
    ("forced", "no_color", "terminal", "colored"),
    [
        ("", "", True, True),
        ("", "", False, False),
        ("1", "", False, True),
        ("0", "", False, False),
        ("1", "1", True, False),
        ("", "1", True, False),
    ],
)
def test_colors_are_forced_and_forbidden_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, forced: str, no_color: str, *, terminal: bool, colored: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", forced)
    monkeypatch.setenv("NO_COLOR", no_color)
    printed = shown(monkeypatch, Terminal() if terminal else io.StringIO(), FINDINGS)
    assert ("\x1b[31m" in printed) == colored


def test_wide_letters_take_two_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    table = Table(("NAME", "FREE"), (("装置", "1"), ("abcd", "2")))
    lines = shown(monkeypatch, Terminal(), table).splitlines()
    assert lines[1] == "装置   1"
    assert lines[2] == "abcd   2"


def test_a_long_name_is_cut_where_its_parts_end() -> None:
    names = ("gpu.nvidia.com/node-4/gpu-3", "ml/trainer-0-gpu-h7x2c", "degraded:NoneOfTheEffects")
    table = Table(("DEVICE", "CLAIM", "TAINT", "REASON"), ((*names, "one two three " * 2),))
    assert "\n".join(table_lines(table, Screen(width=60))) == (
        "DEVICE         CLAIM          TAINT          REASON\n"
        "gpu.nvidia.    ml/trainer-0-  degraded:      one two three\n"
        "com/node-4/    gpu-h7x2c      NoneOfTheEffe  one two three\n"
        "gpu-3                         cts"
    )


def test_a_wrapped_line_goes_on_behind_its_mark() -> None:
    text = "* node-b when pool a is complete\n! pool b is incomplete\n  -> kubectl dra hold node-b"
    assert [*text_lines(text, Screen(width=20))] == [
        "* node-b when pool a",
        "  is complete",
        "! pool b is",
        "  incomplete",
        "  -> kubectl dra",
        "     hold node-b",
    ]
