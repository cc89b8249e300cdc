"""Renew README's table and the chart from docs/bench/claims.json.

python -m tests.bench.claims.report
"""

from textwrap import wrap

from docs import generate_measurements
from tests.bench.claims import chart
from tests.bench.claims.bars import judge
from tests.bench.claims.competitors import STOCK_DEFAULT
from tests.bench.claims.record import PATH, ROOT, Record
from tests.bench.claims.table import faults, table

README = ROOT / "README.md"
SHARED = "The machine was busy with other work meanwhile: an idle one gives steadier numbers. "
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def section(record: Record) -> str:
    """Return what README says about a record, the marks apart."""
    verdicts = [verdict for verdict in judge(record) if verdict.met is not None]
    missed = sum(not verdict.met for verdict in verdicts)
    last = "last " if record.renewed else ""
    text = (
        f"Measured {record.measured} by `make bench`, "
        f"{last}at {record.commit or 'an unknown commit'}, {record.runs}: "
        f"Kubernetes {record.kubernetes}, each controller alone on a fresh control plane, "
        f"everything on {record.machine}. Load average before the scenarios: {record.load}. "
        f"{SHARED if record.busy else ''}The raw client does the same writes and nothing else "
        f"({record.concurrency} at once, its best); stock is kube-controller-manager with the "
        f"named QPS/burst (20/30, the default, with {STOCK_DEFAULT.most_pods} pods only). "
        f"Of {len(verdicts)} bars, {missed or 'none'} {'is' if missed == 1 else 'are'} missed."
    )
    lines = [
        "## Measured side by side",
        "",
        f"![Claims a second of each controller]({chart.PATH.relative_to(ROOT)})",
        "",
        *wrap(text, 100),
        "",
        table(record),
    ]
    if record.scale != 1:
        lines[4:4] = [f"With {record.scale:g} times the number of objects that the rows name.", ""]
    lines += ["", *(f"* failed: {fault}" for fault in faults(record))] if faults(record) else []
    return "\n".join(lines)


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
