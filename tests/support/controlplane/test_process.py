"""Nothing outlives the one who started it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import LOOPBACK, free_ports

ROOT = Path(__file__).parents[3]
SCRIPT = """
import time
from tests.support.controlplane.plane import ControlPlane
with ControlPlane(audit=False) as plane:
    print(plane.folder, *(process.pid for process in plane.processes.values()), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_its_script(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as script:
        assert script.stdout is not None
        folder, *pids = script.stdout.readline().split()
        assert len(pids) == 2
        assert all(runs(int(pid)) for pid in pids)
        script.send_signal(number)
    wait_for(lambda: not any(runs(int(pid)) for pid in pids), 30, "the servers to be gone")
    assert script.returncode != 0
    assert Path(folder).exists() is (number is not signal.SIGINT)
    shutil.rmtree(folder, ignore_errors=True)


def runs(pid: int) -> bool:
    """Tell whether a process runs; one that waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_server_that_does_not_start_is_reported_with_its_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plane = ControlPlane(extra_apiserver_flags=["--no-such-flag"])
    with pytest.raises(RuntimeError, match=r"kube-apiserver ended\n(.|\n)*unknown flag"):
        plane.start()
    assert f"control plane logs: {plane.folder}" in capsys.readouterr().err
    assert "unknown flag" in (plane.logs / "kube-apiserver.log").read_text()
    assert sorted(path.name for path in plane.folder.iterdir()) == ["audit.log", "logs"]
    shutil.rmtree(plane.folder)


def test_a_further_program_is_stopped_killed_and_started_again_by_its_name(
    plane: ControlPlane,
) -> None:
    script = "trap 'exit 3' TERM; echo $GREETING; while :; do sleep 0.05; done"
    program = plane.launch("greeter", ["/bin/sh", "-c", script], {"GREETING": "hello"})
    wait_for(lambda: program.tail().count("hello") == 1)
    assert plane.stop_part("greeter") == 3
    assert program.pid is None
    plane.revive("greeter")
    wait_for(lambda: program.tail().count("hello") == 2)
    with pytest.raises(RuntimeError, match="greeter runs already"):
        plane.launch("greeter", ["/bin/true"])
    plane.kill("greeter")
    with pytest.raises(RuntimeError, match="greeter ended"):
        program.check()


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
def test_a_chosen_port_is_not_chosen_by_another_process() -> None:
    """Not even while nothing listens there yet."""
    mine = free_ports(50)
    with socket.create_server((LOOPBACK, 0)) as server:
        other = server.getsockname()[1]
    script = (
        "from dragoman_drivers.throwaway import process\n"
        f"process._PORTS = {[*mine, other]}\n"
        "print(process.free_ports(1))"
    )
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout == f"[{other}]\n"


def test_chosen_ports_are_given_back_in_order_at_the_end() -> None:
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        "from dragoman_drivers.throwaway import process; process.free_ports(3)",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stderr == ""
