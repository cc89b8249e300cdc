"""The record of a benchmark: what docs/bench/claims.json holds."""

import statistics
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.bench.record import ROOT, Measurements, commit, minute

PATH = ROOT / "docs/bench/claims.json"
OWN_LOAD = 6.0


@dataclass(frozen=True, slots=True)
class Result:
    """What one competitor did in one scenario, once.

    Attributes:
        scenario: Key of the scenario.
        competitor: Key of the competitor.
        values: Numbers by name; a name ends with its unit.
        load: Load averages of the machine over 1 minute, before and after.
        fault: What was wrong, where it failed; its values are empty then.
    """

    scenario: str
    competitor: str
    values: dict[str, float]
    load: tuple[float, float]
    fault: str = ""


@dataclass
class Record(Measurements):
    """All results of one benchmark, and where they were measured.

    Attributes:
        renewed: UTC day and minute of the latest time when some rows were measured again; empty if
            never.
        kubernetes: Version of the servers.
        scale: Factor to all numbers of objects.
        concurrency: Of the raw client: the one at which it was fastest.
        tuning: Its claims a second by concurrency, as tried before.
        results: In the order in which they were measured.
    """

    PATH = PATH
    kubernetes: str
    scale: float
    renewed: str = ""
    concurrency: int = 0
    tuning: dict[str, float] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Read a record."""
        record = super().read(path)
        found: list[Any] = record.results  # still as the JSON has them
        record.results = [Result(**item | {"load": tuple(item["load"])}) for item in found]
        return record

    def drop(self, scenarios: Collection[str], competitors: Collection[str]) -> None:
        """Forget what some competitors did in some scenarios, to be measured again."""
        self.renewed, self.commit = minute(), commit()
        self.results = [
            result
            for result in self.results
            if result.scenario not in scenarios or result.competitor not in competitors
        ]

    def value(self, scenario: str, competitor: str, name: str) -> float | None:
        """Return the median of a number, or None where it was not measured."""
        found = [
            result.values[name] for result in self.of(scenario, competitor) if name in result.values
        ]
        return statistics.median(found) if found else None

    def worst(self, scenario: str, competitor: str, name: str) -> float | None:
        """Return the largest of a number over all runs: what must hold exactly holds each time."""
        found = [r.values[name] for r in self.of(scenario, competitor) if name in r.values]
        return max(found, default=None)

    def of(self, scenario: str, competitor: str) -> Iterable[Result]:
        """Return the results of one competitor in one scenario."""
        return [
            result
            for result in self.results
            if (result.scenario, result.competitor) == (scenario, competitor)
        ]

    @property
    def runs(self) -> str:
        """How often it was measured, in words: not all rows need have been so equally often."""
        counts = Counter((result.scenario, result.competitor) for result in self.results).values()
        least, most = min(counts, default=1), max(counts, default=1)
        if most == 1:
            return "one run"
        return f"medians of {least if least == most else f'{least} to {most}'} runs"

    @property
    def measured(self) -> str:
        """When it was measured, in words."""
        return f"{self.when} to {self.renewed} UTC" if self.renewed else f"{self.when} UTC"

    @property
    def load(self) -> str:
        """The load averages before the measurements, from the least to the most."""
        loads = [result.load[0] for result in self.results]
        return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"

    @property
    def busy(self) -> bool:
        """Whether the machine did much else: the benchmark itself keeps the load average below."""
        loads = [result.load[0] for result in self.results]
        return bool(loads) and statistics.median(loads) > OWN_LOAD
