"""Write what Kubernetes' own lists say of faults and gates into the code.

The changelogs inside the newest module k8s.io/kubernetes name the first patch release of each
branch with a fix; the list of features of each version names its gates. `make faults` runs it.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from dragoman.doctor.faults import FAULTS
from dragoman_base.versions import KNOWN, OLDEST, Version, parse

MODULE = "v1.38.0-beta.0"
"""Release of k8s.io/kubernetes whose changelogs are read: the newest of the Go module proxy."""
FEATURES = {(1, 36): "v1.36.3", (1, 37): "v1.37.2", (1, 38): MODULE}
"""A release of each version, whose list of features names the gates that it knows."""
STAGED = (
    "DRAAdminAccess", "DRAConsumableCapacity", "DRADerivedAttributes",
    "DRADeviceBindingConditions", "DRADeviceCompatibilityGroups", "DRADeviceTaintRules",
    "DRADeviceTaints", "DRAExtendedResource", "DRAFractionalCapacityRange",
    "DRAListTypeAttributes", "DRAOptionalNodeOperations", "DRAPartitionableDevices",
    "DRAPrioritizedList", "DRAResourceClaimDeviceStatus", "DRASchedulerFilterTimeout",
    "DynamicResourceAllocation",
)  # fmt: skip
"""Gates whose stages the product knows."""
_ROOT = Path(__file__).parents[1]
STAGES = _ROOT / "operator/dragoman/allocation/gates.py"
LIST = "test/compatibility_lifecycle/reference/versioned_feature_list.yaml"
_WORDS = {"Alpha": "ALPHA", "Beta": "BETA", "GA": "GA"}
Specs = Mapping[str, list[Mapping[str, Any]]]
"""What a release's list says of each gate, by its name."""
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
    return frozenset(specs(folder))


def specs(folder: Path) -> Specs:
    """Return the list of a release."""
    listed = yaml.safe_load((folder / LIST).read_text(encoding="utf-8"))
    return {one["name"]: one["versionedSpecs"] for one in listed}


def stage(rows: list[Mapping[str, Any]], minor: Version) -> str:
    """Return the name of a gate's stage in a version; empty before its first one.

    A component's compatibility version is the one before its own, so that what needs a newer one
    does not count.
    """
    found = ""
    for row in rows:
        needed = str(row.get("minCompatibilityVersion", ""))
        if parse(str(row["version"])) > minor or (needed and parse(needed) >= minor):
            continue
        found = _WORDS.get(row["preRelease"], row["preRelease"].upper())
        if found == "BETA" and not row["default"]:
            found = "BETA_OFF"
        if found == "GA" and row["lockToDefault"]:
            found = "LOCKED"
    return found


def stages_page() -> str:
    """Return the module with the stages of gates, by the newest list that knows a version."""
    lists = {version: specs(module(name)) for version, name in FEATURES.items()}
    rows = []
    for gate in STAGED:
        found = (
            stage(lists[min(one for one in lists if one >= version)].get(gate, []), version)
            for version in KNOWN
        )
        rows.append(f'        "{gate}": ({", ".join(one or chr(34) * 2 for one in found)}),')
    page = _mapping(
        "Stages of the feature gates of Dynamic Resource Allocation.",
        "STAGES: Mapping[str, tuple[str, ...]]",
        rows,
        ['"""Stage in each known version, the oldest first; empty where a gate does not exist."""'],
    )
    return page.replace(
        "STAGES:",
        'ALPHA, BETA, GA, LOCKED = "alpha", "beta", "GA", "locked"\n'
        'BETA_OFF = "beta, off"\n'
        '"""Off by default; also a default that needs the release as compatibility version."""\n\n'
        "STAGES:",
        1,
    )


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
    STAGES.write_text(stages_page(), encoding="utf-8")
