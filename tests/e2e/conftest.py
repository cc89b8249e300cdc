"""Fixtures: the operator beside the control plane, and a namespace to play in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess, Running
from tests.e2e.setup import Setup
from tests.support.controlplane.plane import ControlPlane

RULES = {"DRADeviceTaintRules": True, "DRAResourcePoolStatus": True}


@pytest.fixture(scope="session")
def plane_with_rules() -> Iterator[ControlPlane]:
    """Run a control plane that serves DeviceTaintRules."""
    served = {"resource.k8s.io/v1beta2": True, "resource.k8s.io/v1alpha3": True}
    with ControlPlane(
        scheduler=True, feature_gates=RULES, runtime_config=served, audit_reads=True
    ) as running:
        yield running


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Iterator[Running]:
    """Run the operator as its own process for the tests of one file.

    Files whose tests start and stop operators have their own fixture of this name.
    """
    with OperatorProcess(plane, plane.user("dragoman", OPERATOR_RULES)) as running:
        yield running
        assert running.faults() == []


@pytest.fixture
def setup(
    plane: ControlPlane, namespace: str, operator: Running, tmp_path: Path
) -> Iterator[Setup]:
    """Set up an empty namespace and count what the operator writes in it."""
    made = Setup(plane, namespace, operator.user.name, tmp_path)
    yield made
    made.clear()
