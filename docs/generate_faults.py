"""Write what Kubernetes' own lists say of faults and gates into the code.

The changelogs inside the newest module k8s.io/kubernetes name the first patch release of each
branch with a fix; the list of features of each version names its gates. `make faults` runs it.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from dragoman.doctor.faults import FAULTS
from dragoman_base.versions import OLDEST

MODULE = "v1.38.0-beta.0"
"""Release of k8s.io/kubernetes whose changelogs are read: the newest of the Go module proxy."""
FEATURES = {(1, 36): "v1.36.3", (1, 37): "v1.37.2", (1, 38): MODULE}
"""A release of each version, whose list of features names the gates that it knows."""
_ROOT = Path(__file__).parents[1]
FIXES = _ROOT / "operator/dragoman/doctor/fixes.py"
GATES = _ROOT / "operator/dragoman/doctor/removedgates.py"
_RELEASE = re.compile(r"# v(\d+)\.(\d+)\.(\d+)(-\S+)?")


def module(release: str) -> Path:
    """Return the folder of a release in the module cache, which `go mod download` fills."""
    cache = subprocess.run(
        ["go", "env", "GOMODCACHE"],  # noqa: S607 — of the PATH, as in make
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    return Path(cache) / f"k8s.io/kubernetes@{release}"


def first_fixed(folder: Path) -> dict[int, dict[tuple[int, int], int]]:
    """Return the first patch release of each branch whose notes name a fault's fix, by issue."""
    found: dict[int, dict[tuple[int, int], int]] = {one.issue: {} for one in FAULTS}
    for minor, patch, line in _notes(folder):
        for fault in FAULTS:
            if fault.note and re.search(fault.note, line):
                branches = found[fault.issue]
                branches[minor] = min(patch, branches.get(minor, patch))
    return found


def _notes(folder: Path) -> Iterator[tuple[tuple[int, int], int, str]]:
    """Yield branch, patch release and text of each note; what an alpha has, its release has."""
    for page in sorted((folder / "CHANGELOG").glob("CHANGELOG-*.md")):
        minor, patch = (0, 0), 0
        for line in page.read_text(encoding="utf-8").splitlines():
            if head := _RELEASE.match(line):
                minor, patch = (int(head[1]), int(head[2])), int(head[3])
            elif line.startswith("- ") and minor >= OLDEST:
                yield minor, patch, line


def gates(folder: Path) -> frozenset[str]:
    """Return the feature gates that a release knows."""
    path = folder / "test/compatibility_lifecycle/reference/versioned_feature_list.yaml"
    return frozenset(re.findall(r"^- name: (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def removed(known: Mapping[tuple[int, int], frozenset[str]]) -> dict[str, tuple[int, int]]:
    """Return the first version without each gate that a former version knows."""
    versions = sorted(known)
    return {
        gate: after
        for before, after in pairwise(versions)
        for gate in sorted(known[before] - known[after])
    }


def fixes_page() -> str:
    """Return the module with the first fixed releases."""
    rows = [
        f"        {issue}: {{{', '.join(f'{branch}: {patch}' for branch, patch in one)}}},"
        for issue, one in (
            (issue, sorted(branches.items()))
            for issue, branches in sorted(first_fixed(module(MODULE)).items())
        )
        if one
    ]
    return _mapping(
        f"First releases with the fix of a fault, from the changelogs of {MODULE}.",
        "FIXED: Mapping[int, Mapping[tuple[int, int], int]]",
        rows,
        ['"""Patch release by version, by issue of kubernetes/kubernetes."""'],
    )


def gates_page() -> str:
    """Return the module with the gates that are gone."""
    found = removed({version: gates(module(name)) for version, name in FEATURES.items()})
    rows = [f'        "{gate}": {version},' for gate, version in sorted(found.items())]
    return _mapping(
        f"Feature gates that Kubernetes does not know any more, up to {MODULE}.",
        "GATES_REMOVED_IN: Mapping[str, tuple[int, int]]",
        rows,
        [
            '"""First version without a gate; its components end where a flag sets it.',
            "",
            "Source: test/compatibility_lifecycle/reference of one release of each version.",
            '"""',
        ],
    )


def _mapping(title: str, declaration: str, rows: list[str], meaning: list[str]) -> str:
    """Return a module that defines one read-only mapping."""
    lines = [
        f'"""{title}',
        "",
        "Written by docs/generate_faults.py.",
        '"""',
        "",
        "from collections.abc import Mapping",
        "from types import MappingProxyType",
        "",
        f"{declaration} = MappingProxyType(",
        "    {",
        *rows,
        "    }",
        ")",
        *meaning,
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    FIXES.write_text(fixes_page(), encoding="utf-8")
    GATES.write_text(gates_page(), encoding="utf-8")
