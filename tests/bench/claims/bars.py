"""The bars: what dragoman must reach, and by how much it does or does not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.bench.claims.record import Record

Relation = Literal[">=", "<=", "=="]


@dataclass(frozen=True, slots=True)
class Bar:
    """One demand.

    Attributes:
        scenario: Where it is measured.
        what: What is demanded, in words; stands in the table before the numbers.
        value: Name of dragoman's number.
        relation: How the number, or its ratio to the other's, relates to `bound`.
        bound: A factor where `against` is set, else a number.
        against: Key of the competitor whose same number it is divided by; None for the number.
        unit: Of the numbers, as the table shows it.
        beside: Key of a competitor whose same number is shown, but not compared with.
    """

    scenario: str
    what: str
    value: str
    relation: Relation
    bound: float
    against: str | None = None
    unit: str = ""
    beside: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar beside what was measured.

    Attributes:
        bar: The demand.
        own: dragoman's number; None where it was not measured.
        other: The other's number; None where there is none.
        reached: What is compared with the bound.
    """

    bar: Bar
    own: float | None
    other: float | None
    reached: float | None

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where it was not measured."""
        if self.reached is None:
            return None
        compare: dict[Relation, Callable[[float, float], bool]] = {
            ">=": float.__ge__,
            "<=": float.__le__,
            "==": float.__eq__,
        }
        return compare[self.bar.relation](float(self.reached), float(self.bar.bound))

    @property
    def says(self) -> str:
        """The verdict in words: met, or missed by how much."""
        if self.met is None or self.reached is None:
            return "not measured"
        if self.met:
            return "met"
        if not self.bar.bound:
            return f"missed by {self.reached:g}"
        return f"missed by {abs(self.reached / self.bar.bound - 1):.0%}"


RATE, EACH = "claims_per_s", "claims/s"
BARS = (
    Bar("catch-up", "catch-up, 3,000 pods", RATE, ">=", 1.5, "stock", EACH),
    Bar("catch-up", "catch-up, 3,000 pods", RATE, ">=", 30, "stock-default", EACH),
    # client-go is the limit: the client in Python is slower than the operator.
    Bar("catch-up", "catch-up, 3,000 pods", RATE, ">=", 0.75, "raw-protobuf", EACH),
    Bar("catch-up", "catch-up, 3,000 pods", RATE, ">=", 0.75, "raw-json", EACH),
    # Not by a rate: the API server's creation of pods caps it for every controller.
    Bar(
        "while-created",
        "while 3,000 pods are created: wait p50",
        "wait_p50_s",
        "<=",
        1,
        "stock",
        "s",
    ),
    Bar(
        "while-created",
        "while 3,000 pods are created: wait p99",
        "wait_p99_s",
        "<=",
        1,
        "stock",
        "s",
    ),
    Bar("four-claims", "750 pods with 4 claims each", RATE, ">=", 1.5, "stock", EACH),
    Bar("writes", "POSTs a claim", "posts_per_claim", "==", 1, beside="stock"),
    Bar("writes", "PATCHes a pod", "patches_per_pod", "==", 1, beside="stock"),
    Bar("writes", "other writes", "other_writes", "==", 0, beside="stock"),
    Bar(
        "finished",
        "2,000 finished pods: deletions a claim",
        "deletions_per_claim",
        "==",
        1,
        beside="stock",
    ),
    Bar("finished", "finished pods: creations", "creations", "==", 0, beside="stock"),
    Bar("finished", "2,000 finished pods stay", "deletions_per_s", ">=", 0.7, "raw", "deletions/s"),
    Bar("life-writes", "full life: writes a claim", "writes_per_claim", "<=", 1, "stock"),
    Bar("life", "full life: devices free (median)", "freed_p50_ms", "<=", 1, "stock", "ms"),
    Bar("life", "full life: all devices free", "all_freed_s", "<=", 1, "stock", "s"),
    Bar("life", "full life: waiting pods placed", "next_all_s", "<=", 1, "stock", "s"),
    Bar("burst", "burst of 10,000, late watch: duplicates", "duplicates", "==", 0, beside="stock"),
    Bar(
        "noise",
        "noise: CPU an irrelevant event",
        "cpu_us_per_event",
        "<=",
        40,
        unit="us",
        beside="stock",
    ),
    Bar("noise", "10,000 + 20,000 pods: memory", "rss_mib", "<=", 300, unit="MiB", beside="stock"),
    Bar("reaction", "reaction, one pod at a time: p99", "p99_ms", "<=", 1.3, "stock", "ms"),
    Bar(
        "neighbours",
        "3,000 pods of one namespace wake: longest wait of another's",
        "wait_max_s",
        "<=",
        1,
        unit="s",
        beside="stock",
    ),
    Bar("restart", "restart, 10,000 settled pods: writes", "writes", "==", 0, beside="stock"),
    Bar("restart", "restart: ready / raw list and parse", "ready_to_list", "<=", 3),
)
DRAGOMAN = "dragoman"


def judge(record: Record) -> list[Verdict]:
    """Hold all bars against a record."""
    return [verdict(record, bar) for bar in BARS]


def verdict(record: Record, bar: Bar) -> Verdict:
    """Hold one bar against a record: medians, but what must hold exactly holds in each run."""
    exact = bar.relation == "=="
    own = (record.worst if exact else record.value)(bar.scenario, DRAGOMAN, bar.value)
    other = record.value(bar.scenario, bar.against or bar.beside or "", bar.value)
    if bar.against is None:
        return Verdict(bar, own, other, own)
    reached = own / other if own is not None and other else None
    return Verdict(bar, own, other, reached)
