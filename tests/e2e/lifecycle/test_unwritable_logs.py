"""A log that cannot be written costs log records, and no claim, no probe and no SIGTERM."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest
import urllib3

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import LOOPBACK

pytestmark = pytest.mark.hostile("unwritable logs")

USER = "dragoman-unwritable-logs"
PODS = 20


class Log(Protocol):
    """Makes a log that cannot be written: gives its path, and what to do when it is open."""

    def __call__(self, folder: Path) -> AbstractContextManager[tuple[Path, Callable[[], None]]]: ...


@contextmanager
def full_disk(_: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Give a file to which nothing can be written."""
    yield Path("/dev/full"), lambda: None


@contextmanager
def ended_reader(folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Give a pipe whose reader ends when the operator has opened it, as `| head` does."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        yield pipe, reader.close


@contextmanager
def stalled_reader(folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Give a pipe that is full and that nothing reads."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDWR | os.O_NONBLOCK), "wb", buffering=0) as both:

        def fill() -> None:
            while both.write(bytes(4096)) is not None:
                pass

        fill()
        yield pipe, fill


def get(port: int, path: str) -> str:
    """Read a page of the operator's port of probes and metrics."""
    return urllib3.request("GET", f"http://{LOOPBACK}:{port}/{path}", retries=False).data.decode()


def lost_records(port: int) -> float:
    """Return how many log records the operator has lost."""
    name = "dragoman_log_records_lost_total{"
    lines = get(port, "metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


@pytest.fixture
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Return an operator that the test starts."""
    stopped = OperatorProcess(plane, plane.user(USER, OPERATOR_RULES))
    yield stopped
    stopped.stop()


@pytest.mark.parametrize("log", [full_disk, ended_reader, stalled_reader])
def test_claims_probes_and_sigterm_do_not_need_the_log(
    log: Log, setup: Setup, operator: OperatorProcess, tmp_path: Path
) -> None:
    with log(tmp_path) as (target, when_open):
        script = f'exec "$@" >"{target}" 2>&1'
        operator.command = ["/bin/sh", "-c", script, "sh", *operator.command]
        operator.start()
        when_open()
        pods = [f"pod-{number}" for number in range(PODS)]
        setup.apply(setup.template(), *(setup.pod(pod) for pod in pods))
        for pod in pods:
            setup.published(pod)
        assert get(operator.port, "livez") == "ok"
        if log is not stalled_reader:  # which costs records only after 4 MiB of them
            wait_for(lambda: lost_records(operator.port) >= PODS, message="records to be lost")
        assert operator.stop() == 0
