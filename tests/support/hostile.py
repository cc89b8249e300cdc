"""Hostile tests: `pytest.mark.hostile(area)`, their scale, and the table of tries and survivors.

A test is one try. A test that tries many shapes reports their number with the fixture `tries`.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator

import pytest

SCALE = float(os.environ.get("DRAGOMAN_HOSTILE", "0.1"))
"""Factor to numbers of objects and connections; 1 in `make test-hostile`."""
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print tries and survivors by area."""
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            properties = dict(report.user_properties)
            area = properties.get("hostile")
            if report.when != "call" or area is None:
                continue
            count = int(str(properties.get(TRIES, 1)))
            tried[str(area)] += count
            survived[str(area)] += count * (outcome == "passed")
    if not tried:
        return
    terminalreporter.section("attacks and faults")
    terminalreporter.write_line(f"{'area':32} {'tries':>7} {'survived':>9}")
    for area in sorted(tried):
        terminalreporter.write_line(f"{area:32} {tried[area]:7} {survived[area]:9}")
    terminalreporter.write_line(f"{'all':32} {tried.total():7} {survived.total():9}")
