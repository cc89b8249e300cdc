"""The record of the benchmark, docs/bench/explain.json, and the part of a page that shows it."""

from textwrap import fill
from typing import NamedTuple

from tests.bench.claims.table import markdown
from tests.bench.record import ROOT, Numbers

PAGE = ROOT / "docs/toolkit/explain.md"
BEGIN, END = "<!-- explain-bench:begin -->\n", "<!-- explain-bench:end -->"


class Bar(NamedTuple):
    """A demand: a scenario's number is below a bound."""

    scenario: str
    what: str
    value: str
    bound: float

    @property
    def unit(self) -> str:
        """Of the number, as the table shows it."""
        return {"s": "s", "cpu_s": "s of CPU", "mib": "MiB"}[self.value]


BARS = (
    Bar("help", "`--help`", "s", 0.3),
    Bar("top-no-server", "`top`, no API server at the address", "cpu_s", 0.5),
    Bar("top-live-4", "`top`, an API server with 4 nodes x 8 devices", "cpu_s", 0.5),
    Bar("who-live-4", "`who`, the same API server", "cpu_s", 0.5),
    Bar("explain-live-4", "`explain pod`, the same API server", "cpu_s", 0.5),
    Bar("doctor-live-4", "`doctor`, the same API server", "cpu_s", 0.5),
    Bar("top-live-100", "`top`, an API server with 100 nodes x 8 devices", "cpu_s", 0.5),
    Bar("who-live-100", "`who`, the same 100 nodes", "cpu_s", 0.5),
    Bar("explain-live-100", "`explain pod`, the same 100 nodes", "cpu_s", 0.5),
    Bar("doctor-live-100", "`doctor`, the same 100 nodes", "cpu_s", 0.5),
    Bar("explain-100", "`explain pod`, 100 nodes x 8 devices, with start-up", "s", 1.5),
    Bar("explain-1000", "`explain pod`, 1,000 nodes x 8 devices", "s", 3),
    Bar("explain-1000", "the same: memory", "mib", 300),
    Bar("explain-5000", "`explain pod`, 5,000 nodes x 8 devices", "s", 12),
    Bar("top-100", "`top`, 100 nodes x 8 devices, with start-up", "s", 1.5),
    Bar("top-1000", "`top`, 1,000 nodes x 8 devices", "s", 3),
    Bar("top-1000", "the same: memory", "mib", 300),
    Bar("top-5000", "`top`, 5,000 nodes x 8 devices", "s", 12),
    Bar("combination", "`explain pod`, 25 equal requests on 24 devices", "s", 2),
)


class Record(Numbers):
    """All results, by scenario."""

    PATH = ROOT / "docs/bench/explain.json"


def section(record: Record) -> str:
    """Return the table of what was measured, with the bars."""
    rows = [_row(record, bar) for bar in BARS]
    missed = sum(row[-1] == "missed" for row in rows)
    text = (
        f"Measured {record.when} UTC by `make bench-explain` at {record.commit} on "
        f"{record.machine}, load average {record.load:g} before: whole commands, with start-up, on "
        "snapshots unless an API server is named, the fastest runs, the largest memory. Where the "
        "load average exceeds the cores, other work lengthens the time by the clock many times "
        f"over, and processor seconds somewhat. Of {len(rows)} bars, {missed or 'none'} "
        f"{'is' if missed == 1 else 'are'} missed by the clock, or by processor seconds where "
        "these have the bar."
    )
    table = markdown(("what", "measured", "processor", "bar", "verdict"), rows)
    return f"{fill(text, 100)}\n\n{table}"


def _row(record: Record, bar: Bar) -> tuple[str, ...]:
    found = record.results.get(bar.scenario, {}).get(bar.value)
    verdict = "not measured" if found is None else "met" if found < bar.bound else "missed"
    shown = "-" if found is None else f"{found:.3g} {bar.unit}"
    cpu = record.results.get(bar.scenario, {}).get("cpu_s") if bar.value == "s" else None
    return (
        bar.what,
        shown,
        "" if cpu is None else f"{cpu:.3g} s",
        f"< {bar.bound:g} {bar.unit}",
        verdict,
    )


def renewed(page: str, record: Record) -> str:
    """Return the page with the table of the record."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{section(record)}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(), Record.read()))
