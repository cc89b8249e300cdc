"""The bars: what dragoman's webhook must reach beside the vendor's."""

from dataclasses import dataclass

from tests.bench.claims.bars import Bar, Verdict
from tests.bench.claims.table import SIGNS, markdown, number
from tests.bench.webhook.record import Record

OWN, VENDOR = "dragoman", "example"
HEADER = ("what", "dragoman", "vendor's webhook", "ratio", "bar", "verdict")


@dataclass(frozen=True, slots=True)
class Held:
    """A bar held against a record; without a bar, only the numbers."""

    verdict: Verdict
    compared: bool


def most(scenario: str, what: str, value: str, bound: float = 0) -> Bar:
    """Make a bar on microseconds, as a factor to those of the vendor's webhook."""
    return Bar(scenario, what, value, "<=", bound, VENDOR, "us")


def least(scenario: str, what: str, bound: float) -> Bar:
    """Make a bar on reviews a second, as a factor to those of the vendor's webhook."""
    return Bar(scenario, what, "per_s", ">=", bound, VENDOR, "reviews/s")


BARS = (
    most("same-1", "repeated, 1 entry, one at a time: p50", "p50_us", 2),
    most("same-1", "repeated, 1 entry, one at a time: p99", "p99_us", 2),
    most("same-1-32", "repeated, 1 entry, 32 at once: p99", "p99_us", 2),
    least("same-1-32", "repeated, 1 entry, 32 at once", 0.5),
    least("same-32-32", "repeated, 32 entries, 32 at once", 1),
    least("other-1-32", "all different, 1 entry, 32 at once", 0.25),
    Bar("pure", "verdict alone, all different, nothing remembered", "us", "<=", 150, unit="us"),
    Bar(
        "hostile",
        "most expensive schema, 32 entries: longest",
        "worst_ms",
        "<=",
        1000,
        unit="ms",
    ),
    Bar("hostile", "other reviews at the same time: p99", "others_p99_ms", "<=", 100, unit="ms"),
    Bar("memory", "50 schemas, 1,000,000 reviews: memory", "rss_mib", "<=", 150, unit="MiB"),
    Bar("memory", "memory, second half: growth", "growth_percent", "<=", 2, unit="%"),
)
BESIDE = (
    most("other-1", "all different, 1 entry, one at a time: p50", "p50_us"),
    most("other-1", "all different, 1 entry, one at a time: p99", "p99_us"),
    most("same-32", "repeated, 32 entries, one at a time: p50", "p50_us"),
    most("same-32-32", "repeated, 32 entries, 32 at once: p99", "p99_us"),
    most("other-1-32", "all different, 1 entry, 32 at once: p99", "p99_us"),
)
"""Numbers that nothing is demanded of."""


def judge(record: Record) -> list[Held]:
    """Hold all bars against a record."""
    return [
        Held(_verdict(record, one), compared)
        for bars, compared in ((BARS, True), (BESIDE, False))
        for one in bars
    ]


def _verdict(record: Record, one: Bar) -> Verdict:
    own = record.value(one.scenario, OWN, one.value)
    if one.against is None:
        return Verdict(one, own, None, own)
    other = record.value(one.scenario, one.against, one.value)
    return Verdict(one, own, other, own / other if own is not None and other else None)


def table(record: Record) -> str:
    """Return the table of everything that was measured."""
    return markdown(HEADER, [_row(held) for held in judge(record) if held.verdict.own is not None])


def _row(held: Held) -> tuple[str, ...]:
    verdict, one = held.verdict, held.verdict.bar
    ratio = f"{number(verdict.reached)} x" if one.against else ""
    bound = f"{SIGNS[one.relation]} {number(one.bound, 'x' if one.against else one.unit)}"
    return (
        one.what,
        number(verdict.own, one.unit),
        number(verdict.other, one.unit) if one.against else "",
        ratio,
        bound if held.compared else "",
        verdict.says if held.compared else "",
    )
