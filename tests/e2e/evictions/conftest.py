"""Fixtures: one control plane that serves DeviceTaintRules, and each controller in turn."""

from collections.abc import Iterator

import pytest

from tests.e2e.evictions.harness import (
    GATES,
    GROUP_GATES,
    GROUPS_SERVED,
    SERVED,
    Devices,
    Evictor,
    evicting,
)
from tests.support.controlplane.plane import ControlPlane


@pytest.fixture(scope="package")
def plane() -> Iterator[ControlPlane]:
    """Run an API server with DeviceTaintRules and PodGroups; claims are allocated by the tests."""
    gates, served = GATES | GROUP_GATES, SERVED | GROUPS_SERVED
    with ControlPlane(feature_gates=gates, runtime_config=served, audit_reads=True) as running:
        yield running


@pytest.fixture(scope="module", params=[pytest.param("stock", marks=pytest.mark.slow), "own"])
def evictor(request: pytest.FixtureRequest) -> Evictor:
    """Return who evicts: each test runs with the stock controller and with dragoman."""
    found: Evictor = request.param
    return found


@pytest.fixture(scope="module")
def evicting_user(plane: ControlPlane, evictor: Evictor) -> Iterator[str]:
    """Run the eviction controller; return who it is to the API server."""
    with evicting(plane, evictor) as user:
        yield user


@pytest.fixture
def devices(plane: ControlPlane, evicting_user: str) -> Iterator[Devices]:
    """Return a namespace with devices of an own driver, beside a running controller."""
    made = Devices(plane, plane.create_namespace("evict"), evicting_user)
    yield made
    made.clear()


def only_ours(evictor: Evictor, *, passed: bool) -> None:
    """Assert that dragoman passes, and that the stock controller of v1.36.3 still fails."""
    assert passed is (evictor == "own"), "the stock controller changed: update docs/evictions.md"
