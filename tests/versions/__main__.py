"""Run the end-to-end suites on every supported Kubernetes version, and write the table of results.

`make test-versions` (VERSIONS="v1.34.4 v1.37.2" SUITES="lifecycle modes" PROCESSES=3) builds what
is missing, runs each suite on each version, and replaces the results of these versions and suites
in docs/compatibility.md. Results of other versions and suites stay, with their date.
"""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman_base.versions import parse_release
from tests.support.controlplane.toolchain import MODULES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/compatibility.md"
RECORD = ROOT / "docs/bench/versions.json"
BEGIN, END = "<!-- versions:begin -->", "<!-- versions:end -->"
SUITES: Mapping[str, tuple[str, ...]] = {
    "lifecycle": ("tests/e2e/lifecycle", "tests/e2e/clustertemplates"),
    "modes": ("tests/e2e/modes",),
    "webhook": ("tests/e2e/webhook",),
    "chart": ("tests/e2e/chart",),
    "node": ("tests/e2e/node",),
}
"""Folders of each suite."""
COMPLETE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
"""Exit statuses of pytest after which the report has every test."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one suite gave on one version.

    Attributes:
        date: Of the run.
        passed: Tests that passed.
        failed: Names of tests that failed.
        skipped: Reasons for skipped tests, with their number.
    """

    date: str
    passed: int
    failed: tuple[str, ...]
    skipped: Mapping[str, int]


def versions() -> list[str]:
    """Return the pinned versions, the oldest first."""
    found = (path.name.removeprefix("kubernetes-") for path in MODULES.glob("kubernetes-*"))
    return sorted(found, key=parse_release)


def listed(recorded: Collection[str]) -> list[str]:
    """Return the pinned versions, and those recorded before them that no run has replaced yet."""
    pinned = versions()
    done = {parse_release(one)[:2] for one in pinned if one in recorded}
    kept = {one for one in recorded if parse_release(one)[:2] not in done}
    return sorted({*pinned, *kept}, key=parse_release)


def run(version: str, suite: str, folder: Path) -> Result:
    """Run one suite on one version."""
    report = folder / f"{version}-{suite}.xml"
    report.unlink(missing_ok=True)
    marker = "node" if suite == "node" else "not slow and not node"
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-m", marker, f"--junitxml={report}"]
    if suite != "node":  # a machine has one node
        command += ["-n", os.environ.get("PROCESSES", "3"), "--no-loadscope-reorder"]
    print(f"{version}, {suite}", flush=True)
    ended = subprocess.run(
        [*command, *SUITES[suite]],
        cwd=ROOT,
        env=os.environ | {"DRAGOMAN_KUBERNETES": version},
        check=False,
    )
    if ended.returncode not in COMPLETE or not report.exists():
        # An interrupted run writes a report, too, in which the other tests are missing.
        raise SystemExit(f"{version}, {suite}: pytest ended with status {ended.returncode}")
    return read(report)


def read(report: Path) -> Result:
    """Read a JUnit report; a test with an error in a fixture counts as failed."""
    passed, failed, skipped = 0, [], Counter[str]()
    for case in ET.parse(report).iter("testcase"):
        reason = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(str(case.get("name")))
        elif reason is not None:
            skipped[str(reason.get("message"))] += 1
        else:
            passed += 1
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return Result(date, passed, tuple(dict.fromkeys(failed)), dict(sorted(skipped.items())))


def table(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the table: a row for each version, a column for each suite, then the reasons."""
    lines = [f"| Kubernetes | {' | '.join(SUITES)} |", "|---|" + "---|" * len(SUITES)]
    for version, suites in results.items():
        cells = (_cell(suites.get(suite)) for suite in SUITES)
        lines.append(f"| {version} | {' | '.join(cells)} |")
    for version, suites in results.items():
        for suite, result in suites.items():
            lines += _remarks(version, suite, result)
    return "\n".join(lines)


def complete(results: Mapping[str, dict[str, Result]]) -> dict[str, dict[str, Result]]:
    """Return the results of every pinned version in order: one that never ran has none."""
    return {one: results.get(one, {}) for one in listed(results)}


def _cell(result: Result | None) -> str:
    if result is None:
        return "not run"
    parts = [f"{result.passed} passed"]
    if result.failed:
        parts.append(f"**{len(result.failed)} failed**")
    if result.skipped:
        parts.append(f"{sum(result.skipped.values())} skipped")
    return f"{', '.join(parts)} ({result.date})"


def _remarks(version: str, suite: str, result: Result) -> list[str]:
    head = f"{version}, {suite}"
    failed = [f"* {head}, failed: `{name}`" for name in result.failed]
    skipped = [f"* {head}, {count} skipped: {why}" for why, count in result.skipped.items()]
    return ["", *failed, *skipped] if failed or skipped else []


def load() -> dict[str, dict[str, Result]]:
    """Read the recorded results."""
    if not RECORD.exists():
        return {}
    return {
        version: {
            suite: Result(**{**one, "failed": tuple(one["failed"])})
            for suite, one in suites.items()
        }
        for version, suites in json.loads(RECORD.read_text()).items()
    }


def write(results: Mapping[str, Mapping[str, Result]]) -> None:
    """Write the record and the page."""
    documents = {
        version: {suite: asdict(one) for suite, one in suites.items()}
        for version, suites in results.items()
    }
    RECORD.write_text(json.dumps(documents, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")


def main() -> int:
    """Run the chosen suites on the chosen versions; return 1 where a test failed."""
    chosen = os.environ.get("VERSIONS", "").split() or versions()
    suites = os.environ.get("SUITES", "").split() or list(SUITES)
    if unknown := [one for one in suites if one not in SUITES]:
        raise SystemExit(f"unknown suites: {', '.join(unknown)}; known: {', '.join(SUITES)}")
    folder = ROOT / "build/versions"
    folder.mkdir(parents=True, exist_ok=True)
    ordered: dict[str, dict[str, Result]] = {}
    failed = False
    for version in chosen:
        for suite in suites:
            result = run(version, suite, folder)
            failed |= bool(result.failed)
            results = load()  # another run may have written since
            results.setdefault(version, {})[suite] = result
            ordered = complete(results)
            write(ordered)
    print(table(ordered))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
