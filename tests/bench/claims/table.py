"""The table: bars, numbers, ratios and verdicts, in Markdown that also reads well in a terminal."""

from collections.abc import Sequence

from tests.bench.claims.bars import Verdict, judge
from tests.bench.claims.competitors import ALL
from tests.bench.claims.record import Record

HEADER = ("what", "dragoman", "compared with", "ratio", "bar", "verdict")
SIGNS = {">=": "≥", "<=": "≤", "==": "="}
TITLES = {competitor.key: competitor.title for competitor in ALL}


def number(value: float | None, unit: str = "") -> str:
    """Return a number with as many digits as mean something."""
    if value is None:
        return "-"
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def row(verdict: Verdict) -> tuple[str, ...]:
    """Return the cells of one bar."""
    bar = verdict.bar
    other = bar.against or bar.beside
    compared = f"{TITLES[other]}: {number(verdict.other, bar.unit)}" if other else ""
    ratio = f"{number(verdict.reached)} x" if bar.against else ""
    bound = f"{SIGNS[bar.relation]} {number(bar.bound, 'x' if bar.against else bar.unit)}"
    return (bar.what, number(verdict.own, bar.unit), compared, ratio, bound, verdict.says)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are as wide as they need to be."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        + " |"
        for cells in (header, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


def table(record: Record) -> str:
    """Return the table of all bars that the record has numbers for."""
    verdicts = [verdict for verdict in judge(record) if verdict.own is not None]
    return markdown(HEADER, [row(verdict) for verdict in verdicts])


def faults(record: Record) -> list[str]:
    """Return what failed, a line each."""
    return [
        f"{result.scenario}, {TITLES.get(result.competitor, result.competitor)}: {result.fault}"
        for result in record.results
        if result.fault
    ]
