"""The record of a benchmark: what docs/bench/webhook.json holds."""

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import orjson

from tests.bench.claims.record import ROOT, commit, machine

PATH = ROOT / "docs/bench/webhook.json"


@dataclass(slots=True)
class Record:
    """All results, and where they were measured.

    Attributes:
        vendor: The vendor's webhook, with its version.
        when: UTC day and minute of the beginning.
        machine: What it ran on.
        commit: Of dragoman; empty outside of a git checkout.
        load: Load average over 1 minute at the beginning.
        results: Numbers of all rounds by `scenario/competitor`; their names end with units.
    """

    vendor: str
    when: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d %H:%M}")
    machine: str = field(default_factory=machine)
    commit: str = field(default_factory=commit)
    load: float = 0.0
    results: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path = PATH) -> Self:
        """Read a record."""
        document: dict[str, Any] = orjson.loads(path.read_bytes())
        return cls(**document)

    def save(self, path: Path = PATH) -> None:
        """Write the record."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        path.write_bytes(orjson.dumps(asdict(self), option=options))

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
