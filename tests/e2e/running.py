"""The operator, running: as a process of its own, or in this one by kopf's KopfRunner."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import kopf
import pytest
import urllib3
from kopf.testing import KopfRunner
from urllib3.exceptions import HTTPError

from tests.support.controlplane.api import wait_for
from tests.support.controlplane.credentials import User
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import LOOPBACK, ThrowawayProcess, free_ports

MODULE = "dragoman.handlers"
START_SECONDS = 60
FAULTS = ("Traceback", "Cannot reconcile", "A component ended", "Cannot read object")
FOLLOWING = 40
"""Lines of a log that are shown of a fault: its stack trace."""


class Running(Protocol):
    """An operator that can be started and stopped, more than once."""

    user: User

    def start(self) -> None: ...

    def stop(self) -> int | None: ...

    def faults(self) -> list[str]: ...


class OperatorProcess(ThrowawayProcess):
    """`python -m dragoman operator` as an ordinary user; its log survives restarts.

    Args:
        plane: Whose claims it controls.
        user: Who it is to the API server.
        flags: Further flags of `dragoman operator`.
    """

    def __init__(self, plane: ControlPlane, user: User, *flags: str) -> None:
        self.user = user
        (self.port,) = free_ports(1)
        command = [
            *(sys.executable, "-m", "dragoman", "operator", "--claims=own"),
            f"--kubeconfig={user.kubeconfig}",
            f"--metrics-address=127.0.0.1:{self.port}",
            *flags,
        ]
        super().__init__(user.name, command, plane.logs / f"{user.name}.log")
        self._from = self.log.stat().st_size if self.log.exists() else 0

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Start, and wait until everything that is there has been listed."""
        self.launch()
        wait_for(self.ready, START_SECONDS, "the operator to be ready")

    def launch(self) -> None:
        """Start without waiting."""
        super().start()

    def ready(self) -> bool:
        """Whether /readyz says yes.

        Raises:
            RuntimeError: The process has ended.
        """
        self.check()
        return answers(self.port)

    def processor_seconds(self) -> float:
        """Return the CPU time that the process has used since it was started."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def waited_for_processor(self) -> float:
        """Return the seconds for which its event loop could have run, and others did."""
        delay = Path(f"/proc/{self.pid}/schedstat").read_text().split()[1]
        return int(delay) / 1e9

    def said(self) -> str:
        """Return all that it has logged; what others of its name logged before is left out."""
        return self.log.read_bytes()[self._from :].decode(errors="replace")

    def faults(self) -> list[str]:
        """Return the lines of the log that no input may cause."""
        return faults_in(self.said())


class InProcessOperator:
    """`kopf run -m dragoman.handlers` in a thread of this process.

    Args:
        user: Who it is to the API server.
        patch: Sets the variables that are the only settings of an operator run by kopf.
    """

    def __init__(self, user: User, patch: pytest.MonkeyPatch) -> None:
        self.user = user
        (self.port,) = free_ports(1)
        self._patch = patch
        self._output = ""
        self._runner: KopfRunner | None = None
        patch.setenv("DRAGOMAN_CLAIMS", "own")
        patch.setenv("DRAGOMAN_KUBECONFIG", user.kubeconfig)
        patch.setenv("DRAGOMAN_METRICS_ADDRESS", f"127.0.0.1:{self.port}")

    def start(self) -> None:
        """Start, and wait until everything that is there has been listed."""
        # The module registers its handlers when it is imported: each run imports it anew.
        self._patch.delitem(sys.modules, MODULE, raising=False)
        self._runner = KopfRunner(
            ["run", "-A", "--standalone", "-m", MODULE],
            registry=kopf.OperatorRegistry(),
            timeout=START_SECONDS,
        )
        self._runner.__enter__()
        try:
            wait_for(lambda: answers(self.port), START_SECONDS, "the operator to be ready")
        except TimeoutError as error:
            self.stop()  # left alone it would do the work of the operators of later tests
            raise RuntimeError(self._output) from error

    def stop(self) -> int:
        """Stop, and return the exit status."""
        assert self._runner is not None
        runner, self._runner = self._runner, None
        runner.__exit__(None, None, None)
        self._output += runner.output
        return int(runner.exit_code)

    def faults(self) -> list[str]:
        """Return the lines of the output of all ended runs that no input may cause."""
        return faults_in(self._output)


def answers(port: int, address: str = LOOPBACK) -> bool:
    """Whether the operator with probes on this port is ready."""
    url = f"http://{address}:{port}/readyz"
    try:
        return urllib3.request("GET", url, retries=False).status == 200
    except HTTPError:
        return False


def faults_in(log: str) -> list[str]:
    """Return the lines of a log that no input may cause, each with some of what follows it."""
    lines = log.splitlines()
    return [
        "\n".join(lines[number : number + FOLLOWING])
        for number, line in enumerate(lines)
        if any(fault in line for fault in FAULTS)
    ]
