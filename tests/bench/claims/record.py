"""The record of a benchmark: what docs/bench/claims.json holds."""

import os
import platform
import statistics
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import orjson

ROOT = Path(__file__).parents[3]
PATH = ROOT / "docs/bench/claims.json"
OWN_LOAD = 6.0


def machine() -> str:
    """Say what this runs on, without names of hosts."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores {platform.machine()}, {memory:.0f} GiB, {platform.system()}, "
        f"CPython {platform.python_version()}"
    )


def minute() -> str:
    """Return the UTC day and minute."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M}"


def commit() -> str:
    """Return the short name of the checked-out commit."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


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


@dataclass(slots=True)
class Record:
    """All results of one benchmark, and where they were measured.

    Attributes:
        when: UTC day and minute of the beginning.
        renewed: The same of the latest time when some rows were measured again; empty if never.
        machine: What it ran on.
        commit: Of dragoman, as measured last; empty outside of a git checkout.
        kubernetes: Version of the servers.
        scale: Factor to all numbers of objects.
        concurrency: Of the raw client: the one at which it was fastest.
        tuning: Its claims a second by concurrency, as tried before.
        results: In the order in which they were measured.
    """

    kubernetes: str
    scale: float
    when: str = field(default_factory=minute)
    renewed: str = ""
    machine: str = field(default_factory=machine)
    commit: str = field(default_factory=commit)
    concurrency: int = 0
    tuning: dict[str, float] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path = PATH) -> Self:
        """Read a record."""
        document: dict[str, Any] = orjson.loads(path.read_bytes())
        results = [Result(**item | {"load": tuple(item["load"])}) for item in document["results"]]
        return cls(**document | {"results": results})

    def save(self, path: Path = PATH) -> None:
        """Write the record."""
        path.parent.mkdir(parents=True, exist_ok=True)
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        path.write_bytes(orjson.dumps(asdict(self), option=options))

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
