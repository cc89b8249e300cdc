"""What all tests share."""

import os
import signal

import pytest

from tests.distribution import Distribution
from tests.lifetimes import Lifetimes
from tests.support.hostile import (
    pytest_collection_modifyitems,
    pytest_runtest_logreport,
    pytest_runtest_makereport,
    pytest_terminal_summary,
    tries,
)

if "DRAGOMAN_PACKAGE" not in os.environ:  # the unit tests of one package need no control plane
    from tests.support.controlplane.fixtures import (  # noqa: F401 — pytest finds them here
        namespace,
        plane,
        private_networks,
    )

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_runtest_logreport",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
    "tries",
]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Inherited in the background, it would go on to programs that are to be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Spread the tests where `-n` asks for several processes; end early what they share."""
    config.pluginmanager.register(Lifetimes())
    if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        config.pluginmanager.register(Distribution())
