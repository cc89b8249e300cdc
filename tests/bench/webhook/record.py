"""The record of a benchmark: what docs/bench/webhook.json holds."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.bench.record import ROOT, Measurements


@dataclass
class Record(Measurements):
    """The numbers of several rounds.

    Attributes:
        vendor: The vendor's webhook, with its version.
        load: Load average over 1 minute at the beginning.
        results: Numbers of all rounds by `scenario/competitor`; their names end with units.
    """

    PATH = ROOT / "docs/bench/webhook.json"
    vendor: str
    load: float = 0.0
    results: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def add(self, scenario: str, competitor: str, values: Mapping[str, float]) -> None:
        """Add the numbers of one round."""
        rounded = {name: round(value, 1) for name, value in values.items()}
        self.results.setdefault(f"{scenario}/{competitor}", []).append(rounded)

    def drop(self, scenario: str) -> None:
        """Forget a scenario, to be measured again."""
        for key in [key for key in self.results if key.startswith(f"{scenario}/")]:
            del self.results[key]

    def value(self, scenario: str, competitor: str, name: str) -> float | None:
        """Return the median of a number over the rounds, or None where it was not measured."""
        rounds = self.results.get(f"{scenario}/{competitor}", [])
        found = [values[name] for values in rounds if name in values]
        return statistics.median(found) if found else None
