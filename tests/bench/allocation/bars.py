"""The bars: what dragoman's allocator must reach beside the Go library's."""

from typing import Any

from tests.bench.allocation.record import Record
from tests.bench.claims.bars import Bar, Verdict
from tests.bench.claims.table import SIGNS, markdown, number

OWN, GO = "dragoman", "go"
HEADER = ("what", "dragoman", "Go", "ratio", "bar", "verdict")


def speed(scenario: str, what: str, bound: float) -> Bar:
    """Make a bar on calls a second, as a factor to those of the Go library."""
    return Bar(scenario, what, "calls_per_s", ">=", bound, GO, "calls/s")


BARS = (
    speed("alike", "5,000 nodes x 8 GPUs, every node", 1),
    speed("distinct", "200 nodes x 8 GPUs with serial numbers, every node", 0.1),
    speed("partitions", "one node with 128 partitions", 0.1),
    Bar("backtracking", "25 of 24 equal devices, at most 1,000,000 steps", "s", "<=", 10, unit="s"),
    Bar("update", "one slice of 5,000 changes: p99", "p99_ms", "<=", 1, unit="ms"),
    Bar("update", "the same, and its node is allocated on: p99", "used_p99_ms", "<=", 1, unit="ms"),
    Bar("reasons", "reasons of 1,000 devices and 4 requests, a node", "ms", "<=", 20, unit="ms"),
    Bar("fabric", "2,000 nodes on 200 pools by label, every node", "us", "<=", 1000, unit="µs"),
    Bar("fabric", "the same: memory of the pools", "mib", "<=", 60, unit="MiB"),
    Bar("memory", "5,000 nodes x 8 GPUs", "rss_mib", "<=", 400, unit="MiB"),
    Bar("memory", "import", "import_ms", "<=", 150, unit="ms"),
)


def judge(record: Record) -> list[Verdict]:
    """Hold all bars against a record."""
    return [_verdict(record, bar) for bar in BARS]


def documents(record: Record) -> list[dict[str, Any]]:
    """Return the verdicts as the record keeps them."""
    return [
        {
            "what": verdict.bar.what,
            "relation": verdict.bar.relation,
            "bound": verdict.bar.bound,
            "unit": "x" if verdict.bar.against else verdict.bar.unit,
            "reached": None if verdict.reached is None else round(verdict.reached, 3),
            "met": verdict.met,
        }
        for verdict in judge(record)
    ]


def _verdict(record: Record, bar: Bar) -> Verdict:
    own = record.value(f"{bar.scenario}/{OWN}", bar.value)
    if bar.against is None:
        return Verdict(bar, own, None, own)
    other = record.value(f"{bar.scenario}/{bar.against}", bar.value)
    return Verdict(bar, own, other, own / other if own is not None and other else None)


def table(record: Record) -> str:
    """Return the table of everything that was measured."""
    verdicts = [verdict for verdict in judge(record) if verdict.own is not None]
    return markdown(HEADER, [_row(verdict) for verdict in verdicts])


def _row(verdict: Verdict) -> tuple[str, ...]:
    bar = verdict.bar
    compared = bar.against is not None
    return (
        bar.what,
        number(verdict.own, bar.unit),
        number(verdict.other, bar.unit) if compared else "",
        f"{number(verdict.reached)} x" if compared else "",
        f"{SIGNS[bar.relation]} {number(bar.bound, 'x' if compared else bar.unit)}",
        verdict.says,
    )
