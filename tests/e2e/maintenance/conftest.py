"""Control planes with and without DeviceTaintRules, and wards: devices with pods on them."""

import os
from collections.abc import Iterator

import pytest

from tests.e2e.maintenance.ward import Site, Ward, install, uninstall
from tests.e2e.rbac import MAINTENANCE_RULES
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.plane import ControlPlane

SHARE = float(os.environ.get("DRAGOMAN_MAINTENANCE", "0.01"))
"""`make test-maintenance` runs the whole of the long comparisons."""


def share(whole: int, least: int = 2) -> int:
    """Return how many of so many repetitions this run makes."""
    return max(least, int(whole * SHARE))


@pytest.fixture(scope="module", params=["claim", pytest.param("rule", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Run an operator on a control plane without DeviceTaintRules, and on one with them."""
    name = {"claim": "plane", "rule": "plane_with_rules"}[request.param]
    plane: ControlPlane = request.getfixturevalue(name)
    install(plane)
    user = plane.user("dragoman-maintenance", MAINTENANCE_RULES)
    try:
        with OperatorProcess(plane, user, "--maintenance") as running:
            yield Site(plane, running)
            assert running.faults() == []
    finally:
        uninstall(plane)


@pytest.fixture
def ward(site: Site) -> Iterator[Ward]:
    """Create two nodes with two devices each, and their class."""
    made = Ward(site.plane)
    yield made
    made.clear()
