"""What the records of all benchmarks have in common: where and when, as JSON in docs/bench."""

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import orjson

ROOT = Path(__file__).parents[2]


def machine() -> str:
    """Describe the machine without names of hosts."""
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


@dataclass(kw_only=True)
class Measurements:
    """Where and when a benchmark ran.

    Attributes:
        PATH: Where the record of this kind is kept.
        when: UTC day and minute of the beginning.
        machine: What it ran on.
        commit: Of dragoman; empty outside of a git checkout.
    """

    PATH: ClassVar[Path]
    when: str = field(default_factory=minute)
    machine: str = field(default_factory=machine)
    commit: str = field(default_factory=commit)

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Read a record."""
        document: dict[str, Any] = orjson.loads((path or cls.PATH).read_bytes())
        return cls(**document)

    def save(self, path: Path | None = None) -> None:
        """Write the record."""
        path = path or self.PATH
        path.parent.mkdir(parents=True, exist_ok=True)
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        path.write_bytes(orjson.dumps(asdict(self), option=options))


@dataclass(kw_only=True)
class Numbers(Measurements):
    """One run: numbers by scenario, or by `scenario/competitor`.

    Attributes:
        load: Load average over 1 minute at the beginning.
        results: The numbers; their names end with units.
    """

    load: float = 0.0
    results: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, key: str, values: Mapping[str, float]) -> None:
        """Add the numbers of a scenario, or of one competitor in it."""
        self.results[key] = {name: round(value, 3) for name, value in values.items()}

    def value(self, key: str, name: str) -> float | None:
        """Return a number, or None where it was not measured."""
        return self.results.get(key, {}).get(name)
