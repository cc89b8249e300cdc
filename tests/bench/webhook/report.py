"""Renew the measurements in docs/comparison.md and the chart from docs/bench/webhook.json.

python -m tests.bench.webhook.report
"""

from textwrap import fill

from docs import generate_measurements
from tests.bench.claims.chart import OTHER, OWN, STYLE
from tests.bench.claims.table import number
from tests.bench.record import ROOT
from tests.bench.webhook.bars import OWN as DRAGOMAN
from tests.bench.webhook.bars import VENDOR, judge, table
from tests.bench.webhook.record import Record

PAGE = ROOT / "docs" / "comparison.md"
CHART = ROOT / "docs" / "bench" / "webhook.svg"
BEGIN, END = "<!-- webhook-bench:begin -->", "<!-- webhook-bench:end -->"
PANELS = {
    "reviews/s: repeated configs, 1 a claim": ("same-1-32", "per_s", 1.0),
    "reviews/s: repeated configs, 32 a claim": ("same-32-32", "per_s", 1.0),
    "reviews/s: all different configs": ("other-1-32", "per_s", 1.0),
    "milliseconds, 32 at once: p99 of repeated configs": ("same-1-32", "p99_us", 0.001),
}
"""Scenario, value and factor by title."""


def section(record: Record) -> str:
    """Write the part of docs/comparison.md about speed."""
    compared = [held for held in judge(record) if held.compared and held.verdict.own is not None]
    missed = sum(not held.verdict.met for held in compared)
    text = (
        f"Measured {record.when} UTC by `make bench-webhook` at {record.commit}: the webhook of "
        f"{record.vendor} and dragoman with its whole catalog, one process each, on "
        f"{record.machine}, load average {record.load:g} before. Both get the same reviews over "
        "TLS connections that stay open, by HTTP/1.1, from a small Go program on the same cores. "
        '"Repeated" reviews differ in names and uids alone, as claims made from one template do; '
        '"all different" ones also in their config. Numbers are medians of three rounds in turn. '
        f"Of {len(compared)} bars, {missed or 'none'} {'is' if missed == 1 else 'are'} missed; "
        "rows without a bar are there for what a bar does not show."
    )
    chart = f"![Reviews a second of both webhooks](bench/{CHART.name})"
    return "\n".join(
        ["### How fast they answer", "", chart, "", fill(text, 100), "", table(record), ""]
    )


def renewed(page: str, record: Record) -> str:
    """Return the page with the section replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{section(record)}\n{END}{after}"


def draw(record: Record) -> None:
    """Draw the chart."""
    # Only who draws needs matplotlib.
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    names = {VENDOR: record.vendor, DRAGOMAN: "dragoman"}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.27 * 2.9 * len(PANELS)), layout="constrained")
        grid = figure.subplots(len(PANELS), 1, squeeze=False)
        for axes, (title, (scenario, name, factor)) in zip(grid[:, 0], PANELS.items(), strict=True):
            values = [(record.value(scenario, key, name) or 0) * factor for key in names]
            drawn = axes.barh(list(names.values()), values, height=0.62, color=[OTHER, OWN])
            axes.bar_label(drawn, [number(value) for value in values], padding=4)
            axes.set_title(title)
            axes.margins(x=0.12)
            axes.invert_yaxis()
            axes.tick_params(length=0)
            axes.set_xticks([])
            axes.spines[:].set_visible(False)
        figure.savefig(CHART, metadata={"Date": None})


def main() -> None:
    """Write both."""
    record = Record.read()
    PAGE.write_text(renewed(PAGE.read_text(), record))
    draw(record)
    generate_measurements.main()
    print(f"renewed {PAGE.name} and {CHART.name} from {Record.PATH.name}")


if __name__ == "__main__":
    main()
