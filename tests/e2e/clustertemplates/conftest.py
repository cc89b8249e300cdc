"""An operator that copies templates, and a world for each test."""

import uuid
from collections.abc import Iterator

import pytest

from tests.e2e.clustertemplates.worlds import World, install, uninstall
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess, Running
from tests.support.controlplane.plane import ControlPlane


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Iterator[Running]:
    """Run the operator beside an API server that has the CRD."""
    install(plane)
    try:
        user = plane.user("dragoman", OPERATOR_RULES)
        with OperatorProcess(plane, user, "--cluster-templates") as running:
            yield running
            assert running.faults() == []
    finally:
        uninstall(plane)


@pytest.fixture
def world(plane: ControlPlane, operator: Running) -> Iterator[World]:
    """Set up a label that no other test uses."""
    assert operator.user.name == "dragoman"
    made = World(plane.api(), f"gpu-{uuid.uuid4().hex[:8]}")
    yield made
    made.clear()
