"""The bar chart: claims a second of each competitor, dragoman in colour."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.claims.competitors import DRAGOMAN, RAW, STOCK, STOCK_DEFAULT, Competitor
from tests.bench.claims.record import Record
from tests.bench.claims.table import number
from tests.bench.record import ROOT

PATH = ROOT / "docs/bench/claims.svg"
OWN, OTHER, INK = "#2f6f8f", "#c3c9cf", "#3c4248"
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "ytick.color": INK,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    # Text stays text: small, selectable, and a test can read it.
    "svg.fonttype": "none",
    "svg.hashsalt": "dragoman",
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One group of bars: the same number of several competitors."""

    title: str
    scenario: str
    value: str
    competitors: tuple[Competitor, ...]

    def bars(self, record: Record) -> list[tuple[Competitor, float]]:
        """Return who was measured, and the numbers."""
        found = [
            (one, record.value(self.scenario, one.key, self.value)) for one in self.competitors
        ]
        return [(one, value) for one, value in found if value is not None]


EACH = "claims_per_s"
PANELS = (
    Panel("claims/s: catch-up", "catch-up", EACH, (STOCK_DEFAULT, STOCK, DRAGOMAN, RAW)),
    Panel("claims/s: while pods are created", "while-created", EACH, (STOCK, DRAGOMAN)),
    Panel("claims/s: 4 claims a pod", "four-claims", EACH, (STOCK, DRAGOMAN, RAW)),
    Panel("deletions/s: finished pods", "finished", "deletions_per_s", (DRAGOMAN, RAW)),
)


def labels(record: Record) -> list[str]:
    """Return every number that the chart shows, as it shows it."""
    return [number(value) for panel in PANELS for _, value in panel.bars(record)]


def draw(record: Record, path: Path = PATH) -> None:
    """Draw the chart."""
    # Only who draws needs matplotlib.
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    panels = [(panel, panel.bars(record)) for panel in PANELS if panel.bars(record)]
    with mpl.rc_context(STYLE):
        heights = [len(bars) + 0.9 for _, bars in panels]
        figure = Figure(figsize=(7.2, 0.27 * sum(heights)), layout="constrained")
        grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
        for axes, (panel, bars) in zip(grid[:, 0], panels, strict=True):
            drawn = axes.barh(
                [competitor.title for competitor, _ in bars],
                [value for _, value in bars],
                height=0.62,
                color=[OWN if competitor == DRAGOMAN else OTHER for competitor, _ in bars],
            )
            axes.bar_label(drawn, [number(value) for _, value in bars], padding=4)
            axes.set_title(panel.title)
            axes.margins(x=0.12)
            axes.set_ylim(len(bars) - 0.5, -0.5)
            axes.tick_params(length=0)
            axes.set_xticks([])
            axes.spines[:].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
