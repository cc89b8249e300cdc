"""Build the oracles of a release: with its pins here, else with those of the version before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance import allocation_oracle, oracle
from tests.conformance.oracle import Oracle, OracleUnavailableError
from tests.newest.published import (
    Release,
    UnbuildableError,
    copied,
    folder,
    language,
    repinned,
    tidy,
)
from tests.newest.report import Difference
from tests.newest.sources import DRA

KINDS: Mapping[str, tuple[Path, Mapping[str, tuple[str, str]]]] = {
    "allocator": (allocation_oracle.SOURCES, allocation_oracle.MODULES),
    "selectors": (oracle.SOURCES, oracle.MODULES),
}
"""Sources of each oracle, and its pins by version: file of modules and build tag."""
WORDS = 6
"""Lines of a compiler's words that are shown."""


@dataclass(slots=True)
class Built:
    """One oracle, as far as it could be built."""

    oracle: Oracle | None = None  # Running; None where it does not build
    differences: list[Difference] = field(default_factory=list)  # What keeps it from building
    missing: list[str] = field(default_factory=list)  # Modules that are not served


def start(kind: str, release: Release, scratch: Path, replaced: dict[str, str]) -> Built:
    """Build and start an oracle.

    Args:
        kind: A key of `KINDS`.
        release: Of Kubernetes.
        scratch: Folder for a copy of the sources.
        replaced: Modules that are not served, and what stands in for them.
    """
    sources, pins = KINDS[kind]
    for modules, tags in pins.values():
        if f"{DRA} {release.modules}" in (sources / modules).read_text():
            return Built(Oracle(oracle.build(sources, modules, f"{kind} of {release.tag}", tags)))
    modules, _ = [*pins.values()][-1]
    home = scratch / kind
    copied(sources, home)
    before = (sources / modules).read_text()
    of = next(line.split()[1] for line in before.splitlines() if line.strip().startswith(f"{DRA} "))
    needed = language((folder(DRA, release.modules) / "go.mod").read_text())
    (home / "newest.mod").write_text(repinned(before, of, release, needed))
    (home / "newest.sum").write_text("")
    built = Built()
    words = ""
    try:
        built.missing += tidy(home, "newest.mod", replaced)
    except UnbuildableError as error:
        built.differences.append(Difference(f"the pins of the {kind} oracle", example=str(error)))
        return built
    for tags in dict.fromkeys(tags for _, tags in reversed([*pins.values()])):
        try:
            program = oracle.build(home, "newest.mod", f"{kind} of {release.tag}", tags)
        except OracleUnavailableError as error:
            words = words or str(error)
        else:
            built.oracle = Oracle(program)
            return built
    built.differences += [
        Difference(f"the {kind} oracle does not build: {line.strip()}")
        for line in words.splitlines()[1:]
        if ".go:" in line
    ][:WORDS]
    return built
