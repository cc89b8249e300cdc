"""Renew README's summary and the chart from docs/bench/claims.json.

python -m tests.bench.claims.report
"""

from collections.abc import Sequence
from textwrap import wrap

from docs import generate_measurements
from tests.bench.claims import chart
from tests.bench.claims.bars import Verdict, judge
from tests.bench.claims.record import PATH, Record
from tests.bench.claims.table import faults, row
from tests.bench.record import ROOT

README = ROOT / "README.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def section(record: Record) -> str:
    """Return the summary of a record in README, without the marks."""
    verdicts = [verdict for verdict in judge(record) if verdict.met is not None]
    missed = [verdict for verdict in verdicts if not verdict.met]
    busy = " (busy with other work)" if record.busy else ""
    runs = record.runs[:1].upper() + record.runs[1:]
    text = (
        f"Of {len(verdicts)} targets, set before the measurement alongside the built-in controller "
        f"of Kubernetes {record.kubernetes}, {len(verdicts) - len(missed)} are met{named(missed)}. "
        f"{runs}, on {record.machine}{busy}. [All numbers](docs/comparison.md)"
    )
    lines = [
        f"![Claims per second of each controller]({chart.PATH.relative_to(ROOT)})",
        "",
        *wrap(text, 100, break_long_words=False, break_on_hyphens=False),
    ]
    if record.scale != 1:
        lines += ["", f"The numbers of objects are {record.scale:g} times those of the table."]
    lines += ["", *(f"* failed: {fault}" for fault in faults(record))] if faults(record) else []
    return "\n".join(lines)


def named(missed: Sequence[Verdict]) -> str:
    """Return the targets that are missed, after a colon; nothing without any."""
    what = [
        f"{what} ({ratio or own}, target {bound})"
        for what, own, _, ratio, bound, _ in map(row, missed)
    ]
    return f", {len(what)} missed: {'; '.join(what)}" if what else ""


def renew(readme: str, record: Record) -> str:
    """Return README with the section of this record."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{section(record)}\n{END}{after}"


def main() -> None:
    """Write both."""
    record = Record.read()
    README.write_text(renew(README.read_text(), record))
    chart.draw(record)
    generate_measurements.main()
    print(f"renewed {README.name} and {chart.PATH.relative_to(ROOT)} from {PATH.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
