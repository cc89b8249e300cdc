"""Fixtures for all tests: one real control plane per session, one namespace per test."""

from collections.abc import Iterator

import pytest

from tests.support.controlplane import binaries
from tests.support.controlplane.network import obstacle
from tests.support.controlplane.plane import API_SERVER, ETCD, SCHEDULER, ControlPlane


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Run etcd, the API server and the scheduler for all tests that ask for it."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        binaries.find([ETCD, API_SERVER, SCHEDULER])
    with ControlPlane(scheduler=True) as running:
        yield running
        running.keep_logs |= request.session.testsfailed > 0


@pytest.fixture(scope="session")
def private_networks() -> None:
    """Skip tests in private networks where this machine cannot make any."""
    if reason := obstacle():
        pytest.skip(reason)


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    """Make a fresh namespace; what it holds is removed afterwards, and its devices come free."""
    name = plane.create_namespace()
    yield name
    plane.clear_namespace(name)
