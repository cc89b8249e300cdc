"""Differences between Kubernetes and what dragoman knows, by stage and cause."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dragoman_toolkit.replacing import replace_file

SHOWN = 400
"""Characters of an example that the report shows; files hold all of it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the newest Kubernetes does otherwise."""

    cause: str  # What differs, in words that group alike cases
    count: int = 1  # How many cases show it
    example: str = ""  # One of them


@dataclass(frozen=True, slots=True)
class Found:
    """What a stage found."""

    stage: str  # Its name
    compared: str  # What was compared, and how much of it
    differences: tuple[Difference, ...] = ()
    missing: tuple[str, ...] = ()  # What could not be compared, and why


def grouped(cases: Iterable[tuple[str, str]]) -> tuple[Difference, ...]:
    """Return differences from pairs of cause and example; the most frequent first."""
    counts: dict[str, int] = {}
    examples: dict[str, str] = {}
    for cause, example in cases:
        counts[cause] = counts.get(cause, 0) + 1
        if cause not in examples or len(example) < len(examples[cause]):
            examples[cause] = example
    ordered = sorted(counts, key=lambda cause: (-counts[cause], cause))
    return tuple(Difference(cause, counts[cause], examples[cause]) for cause in ordered)


def save(found: Found, file: Path) -> None:
    """Keep what a stage found, so that a run that is started again need not repeat it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, json.dumps(asdict(found), indent=1, ensure_ascii=False).encode())


def load(file: Path) -> Found | None:
    """Return what a stage found before; None where it did not end."""
    if not file.exists():
        return None
    kept = json.loads(file.read_text(encoding="utf-8"))
    differences = tuple(Difference(**one) for one in kept.pop("differences"))
    return Found(**{**kept, "missing": tuple(kept["missing"])}, differences=differences)


def text(title: str, results: Sequence[Found]) -> str:
    """Return the report, in Markdown: an issue's body as it is."""
    total = sum(len(found.differences) for found in results)
    lines = [f"# {title}", "", f"{total} differences by cause.", ""]
    for found in results:
        lines += [f"## {found.stage}: {len(found.differences)}", "", found.compared, ""]
        lines += [f"* **not compared**: {one}" for one in found.missing]
        for one in found.differences:
            times = f" ({one.count} times)" if one.count > 1 else ""
            lines.append(f"* {one.cause}{times}")
            if one.example:
                lines.append(f"  `{_short(one.example)}`")
        lines.append("")
    return "\n".join(lines)


def _short(example: str) -> str:
    plain = " ".join(example.replace("`", "'").split())
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}…"
