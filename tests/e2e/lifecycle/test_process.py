"""The operator as a process: how it starts, ends and says what is wrong."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import START_SECONDS, OperatorProcess
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import API_SERVER, ControlPlane
from tests.support.controlplane.process import ThrowawayProcess

USER = "dragoman-process"


@pytest.fixture
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Return an operator that the test starts."""
    stopped = OperatorProcess(plane, plane.user(USER, OPERATOR_RULES))
    yield stopped
    stopped.stop()


def test_sigterm_ends_it_with_status_zero(operator: OperatorProcess) -> None:
    for _ in range(2):
        operator.start()
        assert operator.stop() == 0
    assert operator.faults() == []


def test_sigterm_ends_it_also_while_it_waits_for_the_api_server(
    plane: ControlPlane, operator: OperatorProcess
) -> None:
    plane.kill(API_SERVER)
    try:
        operator.launch()
        wait_for(lambda: "Cannot reach the API server" in operator.said(), message="a try")
        assert operator.stop() == 0
    finally:
        plane.revive(API_SERVER)
    assert operator.faults() == []


def test_without_a_kubeconfig_one_clear_line_is_said_and_the_status_is_one(
    tmp_path: Path,
) -> None:
    missing = tmp_path / "none"
    command = [sys.executable, "-m", "dragoman", "operator", f"--kubeconfig={missing}"]
    operator = ThrowawayProcess("operator", command, tmp_path / "log")
    operator.start()
    assert operator.wait(START_SECONDS) == 1
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line == f"dragoman: {missing}: No such file or directory"


def test_an_address_in_use_is_told_and_the_status_is_one(plane: ControlPlane) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        user = plane.user(USER, OPERATOR_RULES)
        operator = OperatorProcess(plane, user, f"--metrics-address=127.0.0.1:{port}")
        operator.launch()
        assert operator.wait(START_SECONDS) == 1
    assert str(port) in operator.said().splitlines()[-1]
    assert operator.faults() == []


def test_nothing_is_refused_to_it_with_exactly_its_rules(
    plane: ControlPlane, operator: OperatorProcess
) -> None:
    since = plane.audit.mark()
    operator.start()
    operator.stop()
    refused = plane.audit.writes(USER, since, refused=True, leases=True)
    assert [write for write in refused if write.code == 403] == []
    assert [line for line in operator.said().splitlines() if "forbidden" in line] == []
