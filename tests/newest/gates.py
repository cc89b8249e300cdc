"""Compare feature gates: stages of those of DRA, and which gates are gone."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.generate_faults import FEATURES, Specs, module, specs
from docs.generate_faults import stage as word
from dragoman.allocation import gates
from dragoman.allocation.gates import STAGES
from dragoman.doctor.removedgates import GATES_REMOVED_IN
from dragoman_base import versions
from dragoman_base.versions import Version
from tests.newest.published import Release
from tests.newest.report import Difference, Found

PRODUCT = Path(__file__).parents[2] / "operator"


def compare(release: Release, known: Version, sources: Path) -> Found:
    """Compare the list of a release with what a version is known for."""
    new, old = specs(sources), specs(module(FEATURES[known]))
    named = _named()
    found = [
        *stages(new, release.minor, known),
        *others(new, old, named, (known, release.minor)),
        *gone(new, old, known),
    ]
    return Found(
        "gates",
        f"{len(new)} gates of {release.tag}; stages of those of DRA, and of {len(named)} names in "
        "the product's sources",
        tuple(found),
    )


def stage(rows: list[Mapping[str, Any]], minor: Version) -> str:
    """Return the stage of a gate in a version; empty before its first one."""
    name = word(rows, minor)
    return str(getattr(gates, name, name.lower()))


def stages(new: Specs, minor: Version, known: Version) -> Iterator[Difference]:
    """Yield gates of the table whose stage is another one."""
    column = known[1] - versions.OLDEST[1]
    for gate, row in STAGES.items():
        now = stage(new.get(gate, []), minor)
        if now != row[column]:
            yield Difference(
                f"feature gate {gate}: {now or 'gone'}; known as {row[column] or 'gone'}"
            )


def others(
    new: Specs, old: Specs, named: frozenset[str], span: tuple[Version, Version]
) -> Iterator[Difference]:
    """Yield gates outside of the table that DRA has, or the product names, and that changed."""
    known, minor = span
    for gate, rows in sorted(new.items()):
        if gate in STAGES or not (gate.startswith("DRA") or gate in named):
            continue
        before, now = stage(old.get(gate, []), known), stage(rows, minor)
        if before != now:
            yield Difference(f"feature gate {gate}: {now}; before {before or 'absent'}")


def gone(new: Specs, old: Specs, known: Version) -> Iterator[Difference]:
    """Yield gates that a flag cannot set any more, and that the product does not know as gone."""
    removed = {gate for gate, first in GATES_REMOVED_IN.items() if first <= known}
    for gate in sorted(old.keys() - new.keys() - removed):
        yield Difference(f"feature gate {gate} is gone: a flag that names it ends the component")


def _named() -> frozenset[str]:
    """Return words of the product's sources that may be names of gates."""
    words: set[str] = set()
    for path in PRODUCT.rglob("*.py"):
        if path.name != "removedgates.py":
            words |= set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b", path.read_text("utf-8")))
    return frozenset(words)
