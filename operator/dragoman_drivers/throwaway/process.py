"""Child processes that never outlive the one who started them.

Each child leads its own process group, so that a Ctrl-C in the terminal reaches only the parent,
which then stops its children in order. Where the parent dies without a word (SIGKILL, SIGTERM),
Linux kills the children (PR_SET_PDEATHSIG).
"""

import atexit
import os
import random
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from dragoman_base import files

# PDEATHSIG fires when the *thread* that started a child ends: one thread that lives as long as
# this process starts them all.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="starter")
_TIED = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""
# Below the range of ports that the kernel gives to outgoing connections: a restarted server
# finds its port still free.
_PORTS = range(20_000, 32_000)
LOOPBACK = "127.0.0.1"
STOP_SECONDS = 30.0
"""For a process that ends in order, however busy the machine is."""
_RESERVED: deque[socket.socket] = deque()
_RESERVATIONS = 200
"""Ports that this process keeps for itself, the newest ones."""


@atexit.register
def _release() -> None:
    """Close the reservations in order: Python warns of sockets that it closes itself."""
    while _RESERVED:
        _RESERVED.popleft().close()


class ThrowawayProcess:
    """One program: its command, its log file and, while it runs, its process.

    Args:
        name: How it is called in messages.
        command: Absolute path of the program, and its arguments.
        log: File to which its output is appended.
        environment: Variables beside this process's own.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self.environment = dict(environment or {})
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while the process runs, else None."""
        return self._child.pid if self._child and self._child.poll() is None else None

    def start(self) -> None:
        """Start the command; its output is appended to the log file."""
        tied = [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *self.command]
        with self.log.open("ab") as sink:
            birth = _STARTER.submit(
                subprocess.Popen,
                tied,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                self._child = birth.result()
            except KeyboardInterrupt:  # the child is born all the same, and must be stopped later
                self._child = birth.result()
                raise

    def stop(self, grace: float = STOP_SECONDS) -> int | None:
        """Ask the process to end and kill its group when it has not after `grace` seconds.

        Returns:
            Its exit status, negative for a signal; None when it was not running.
        """
        if self._child is None:
            return None
        self.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(grace)
        return self.kill()

    def kill(self) -> int | None:
        """Kill the whole process group at once (SIGKILL) and return the exit status."""
        if self._child is None:
            return None
        self.signal(signal.SIGKILL)
        status = self._child.wait()
        self._child = None
        return status

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process group; nothing happens when the process has ended."""
        if self.pid is not None:
            os.killpg(self.pid, number)

    def wait(self, timeout: float) -> int:
        """Wait until the process ends by itself and return its exit status.

        Raises:
            subprocess.TimeoutExpired: It still runs after `timeout` seconds.
        """
        if self._child is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._child.wait(timeout)

    def check(self) -> None:
        """Make sure that the process runs.

        Raises:
            RuntimeError: It ended; the message carries the end of its log.
        """
        if self.pid is None:
            raise RuntimeError(f"{self.name} ended\n{self.tail()}")

    def tail(self, lines: int = 20) -> str:
        """Return the last lines of the log."""
        return "\n".join(files.read_end(self.log).splitlines()[-lines:])


def free_ports(count: int) -> list[int]:
    """Return different loopback ports that are free."""
    held: list[socket.socket] = []
    try:
        while len(held) < count:
            candidate = socket.socket()
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port = random.choice(_PORTS)
            try:
                candidate.bind((LOOPBACK, port))
                _RESERVED.append(_reservation(port))
            except OSError:
                candidate.close()
            else:
                held.append(candidate)
        return [sock.getsockname()[1] for sock in held]
    finally:
        for sock in held:
            sock.close()


def _reservation(port: int) -> socket.socket:
    """Keep other test processes from choosing a port before its server listens.

    The name is one of Linux's abstract sockets: it goes with this process.

    Raises:
        OSError: Another process has chosen the port.
    """
    if len(_RESERVED) >= _RESERVATIONS:  # servers of the first ones listen, or have ended
        _RESERVED.popleft().close()
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        if sys.platform == "linux":
            name.bind(f"\0dragoman-tests-{port}")
    except OSError:
        name.close()
        raise
    return name


def listens(port: int, address: str = LOOPBACK) -> bool:
    """Tell whether connections are accepted on the port."""
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0
