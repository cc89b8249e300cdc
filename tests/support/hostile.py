"""Hostile tests: `pytest.mark.hostile(area)`, their scale, and the table of tries and survivors.

A test is one try. A test that tries many shapes reports their number with the fixture `tries`.
`make test-hostile` goes on where an earlier run of the same commit ended, and its table has both.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SCALE = float(os.environ.get("DRAGOMAN_HOSTILE", "0.1"))
"""Factor to numbers of objects and connections; 1 in `make test-hostile`."""
STATE = os.environ.get("DRAGOMAN_HOSTILE_STATE", "")
"""Where a run that is ended goes on; the commit is added. Empty for runs of no consequence."""
TRIES = "tries"

Tries = Callable[[int], None]


def scaled(number: int, *, least: int = 1) -> int:
    """Return how many objects to take where the full size is so many."""
    return min(number, max(least, round(number * SCALE)))


@pytest.fixture
def tries(request: pytest.FixtureRequest) -> Tries:
    """Return a function that reports how many attacks a test tries; all survive if it passes."""

    def report(count: int) -> None:
        request.node.user_properties.append((TRIES, count))

    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the area of a hostile test in its report."""
    report = yield
    marker = item.get_closest_marker("hostile")
    if marker is not None:
        report.user_properties.append(("hostile", marker.args[0]))
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed in an earlier run of the same commit; it is in the table."""
    done = {one["test"] for one in _earlier()}
    again = [one for one in items if one.nodeid in done]
    if again:
        config.hook.pytest_deselected(items=again)
        items[:] = [one for one in items if one.nodeid not in done]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what passed for the next run."""
    found = _outcome(report)
    if STATE and found is not None and report.passed:
        with _state().open("a") as file:
            file.write(f"{json.dumps(found)}\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print tries and survivors by area."""
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    ran = [one for kind in ("passed", "failed") for one in terminalreporter.getreports(kind)]
    found = {one["test"]: one for one in map(_outcome, ran) if one is not None}
    for one in ({one["test"]: one for one in _earlier()} | found).values():
        tried[one["area"]] += one["tries"]
        survived[one["area"]] += one["tries"] * one["passed"]
    if not found:
        return
    terminalreporter.section("attacks and faults")
    terminalreporter.write_line(f"{'area':32} {'tries':>7} {'survived':>9}")
    for area in sorted(tried):
        terminalreporter.write_line(f"{area:32} {tried[area]:7} {survived[area]:9}")
    terminalreporter.write_line(f"{'all':32} {tried.total():7} {survived.total():9}")


def _outcome(report: pytest.TestReport) -> dict[str, Any] | None:
    """Return what a report says of a hostile test; None of any other, and of what is around it."""
    properties = dict(report.user_properties)
    area = properties.get("hostile")
    if area is None or report.when != "call" or report.skipped:
        return None
    count = int(str(properties.get(TRIES, 1)))
    return {"test": report.nodeid, "area": str(area), "tries": count, "passed": report.passed}


def _earlier() -> list[dict[str, Any]]:
    """Return what passed in earlier runs of the same commit."""
    found = _state().read_text().splitlines() if STATE and _state().exists() else ()
    return [json.loads(one) for one in found]


@cache
def _state() -> Path:
    commit = subprocess.run(
        ("git", "rev-parse", "--short", "HEAD"), capture_output=True, text=True, check=False
    ).stdout.strip()
    path = Path(f"{STATE}-{commit or 'unknown'}").resolve()  # tests change the folder
    path.parent.mkdir(exist_ok=True)
    return path
