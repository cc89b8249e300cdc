"""Renew the measured tables of the pages from docs/bench: `make pages`.

`make bench` writes the record; a test compares the pages with it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bench.allocation.record import Record as Allocations
from tests.bench.allocation.report import section
from tests.bench.claims.competitors import STOCK_DEFAULT
from tests.bench.claims.record import Record
from tests.bench.claims.table import faults, markdown, number, table
from tests.bench.scale import record as large
from tests.bench.webhook.record import Record as Reviews

DOCS = Path(__file__).parent
OWN = "dragoman"

SIZES = (
    ("noise", "rss_mib", "MiB", "memory with 10,000 pods that have claims, 20,000 without"),
    ("noise", "cpu_us_per_event", "µs", "CPU of an irrelevant pod event"),
    ("catch-up", "competitor_cpu_us_per_claim", "µs", "CPU of creating and publishing a claim"),
    ("catch-up", "apiserver_cpu_us_per_claim", "µs", "CPU of the API server for these two writes"),
    (
        "catch-up",
        "claims_per_s",
        "per second",
        "claims created for 3,000 pods that existed before the start",
    ),
    ("finished", "deletions_per_s", "per second", "claims deleted when 2,000 pods finish"),
    (
        "reaction",
        "p50_ms",
        "ms",
        "from a pod's creation to its published claim, one at a time: median",
    ),
    ("reaction", "p99_ms", "ms", "the same: 99th percentile"),
    ("restart", "ready_s", "s", "restart with 10,000 reconciled pods, until ready"),
    ("restart", "writes", "", "writes after such a restart"),
)
"""Scenario, value, unit and words of each row of the operator."""

REVIEWS = (
    ("same-1-32", "per_s", "per second", "reviews of claims from one template, 32 in flight"),
    ("other-1-32", "per_s", "per second", "reviews of different claims, 32 in flight"),
    ("other-1", "p99_us", "µs", "a review of different claims, one at a time: 99th percentile"),
    ("hostile", "worst_ms", "ms", "a review by the most expensive schema that is accepted"),
)
"""The same of the webhook."""


def sizing(record: Record) -> str:
    """Return the table of operations.md, with the webhook's numbers from their own record."""
    reviews = Reviews.read()
    measured = [(words, record.value(name, OWN, value), unit) for name, value, unit, words in SIZES]
    measured += [
        (words, reviews.value(name, OWN, value), unit) for name, value, unit, words in REVIEWS
    ]
    rows = [(words, number(value, unit)) for words, value, unit in measured]
    busy = ", which was busy with other work" if record.busy else ""
    where = (
        f"Measured {record.measured} (operator, by `make bench`) on {record.machine}{busy}, and "
        f"{reviews.when} UTC (webhook, by `make bench-webhook`), one process each:"
    )
    return f"{where}\n\n{markdown(('what', 'measured'), rows)}"


def comparison(record: Record) -> str:
    """Return the table of comparison.md."""
    last = "last " if record.renewed else ""
    busy = ", which was busy with other work" if record.busy else ""
    where = (
        f"Measured {record.measured} by `make bench`, {last}at "
        f"{record.commit or 'an unknown commit'}, {record.runs}: Kubernetes {record.kubernetes}, "
        f"everything on {record.machine}{busy}. Load average before the scenarios: {record.load}. "
        "The raw client sends the same writes and nothing else "
        f"({record.concurrency} in flight, its best); stock is kube-controller-manager with the "
        "named QPS/burst (20/30, the default, with "
        f"{STOCK_DEFAULT.most_pods} pods only)."
    )
    failed = "".join(f"\n* failed: {fault}" for fault in faults(record))
    return f"{where}\n\n{table(record)}{failed}"


def allocation(_: Record) -> str:
    """Return the table of evidence.md, whose numbers have their own record."""
    return section(Allocations.read())


def scale(_: Record) -> str:
    """Return the table of large clusters of operations.md, whose numbers have their own record."""
    return large.section(large.recorded())


PAGES: Mapping[str, Mapping[str, Callable[[Record], str]]] = {
    "operations.md": {"sizing": sizing, "scale": scale},
    "comparison.md": {"measured": comparison},
    "evidence.md": {"allocation-bench": allocation},
}


def renewed(page: str, record: Record) -> str:
    """Return the text of a page with the numbers of a record."""
    text = (DOCS / page).read_text()
    for mark, written in PAGES[page].items():
        begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{written(record)}\n{end}{after}"
    return text


def main() -> None:
    """Write the pages."""
    record = Record.read()
    for page in PAGES:
        (DOCS / page).write_text(renewed(page, record))


if __name__ == "__main__":
    main()
