"""Fixtures for all tests: one real control plane per session, one namespace per test."""

import signal
from collections.abc import Iterator

import pytest

from tests.distribution import Distribution
from tests.lifetimes import Lifetimes
from tests.support.controlplane import binaries
from tests.support.controlplane.network import obstacle
from tests.support.controlplane.plane import API_SERVER, ETCD, SCHEDULER, ControlPlane
from tests.support.hostile import (
    pytest_runtest_makereport,
    pytest_terminal_summary,
    tries,
)

__all__ = ["pytest_runtest_makereport", "pytest_terminal_summary", "tries"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Inherited in the background, it would go on to programs that are to be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Spread the tests where `-n` asks for several processes; end early what they share."""
    config.pluginmanager.register(Lifetimes())
    if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        config.pluginmanager.register(Distribution())


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
