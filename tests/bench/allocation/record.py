"""The record of the benchmark: what docs/bench/allocation.json holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import orjson

from tests.bench.claims.record import ROOT, commit, machine, minute

PATH = ROOT / "docs/bench/allocation.json"


@dataclass(slots=True)
class Record:
    """All results, and where they were measured.

    Attributes:
        library: The Go library beside dragoman's, with its version.
        when: UTC day and minute of the beginning.
        machine: What it ran on.
        commit: Of dragoman; empty outside of a git checkout.
        load: Load average over 1 minute at the beginning.
        results: Numbers by `scenario/competitor`; their names end with units.
        verdicts: What was demanded, what was reached, and whether that is enough.
    """

    library: str = "k8s.io/dynamic-resource-allocation v0.36.3"
    when: str = field(default_factory=minute)
    machine: str = field(default_factory=machine)
    commit: str = field(default_factory=commit)
    load: float = 0.0
    results: dict[str, dict[str, float]] = field(default_factory=dict)
    verdicts: list[dict[str, Any]] = field(default_factory=list)

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
        """Add the numbers of a competitor."""
        rounded = {name: round(value, 3) for name, value in values.items()}
        self.results[f"{scenario}/{competitor}"] = rounded

    def value(self, scenario: str, competitor: str, name: str) -> float | None:
        """Return a number, or None where it was not measured."""
        return self.results.get(f"{scenario}/{competitor}", {}).get(name)
