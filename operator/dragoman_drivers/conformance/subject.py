"""The driver that is checked: one process, started from the user's command in namespaces."""

import contextlib
import functools
import os
import shlex
import shutil
import signal
import string
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from dragoman_base import files
from dragoman_drivers.conformance import reaper
from dragoman_drivers.throwaway.process import ThrowawayProcess

STOP_SECONDS = 10.0
MAX_LOG = 16 << 20
"""Bytes of the driver's log that are looked at."""
FORBIDDEN = ("/var/lib/kubelet", "/etc/cdi", "/var/run/cdi", "/run/cdi")
"""Folders of this machine's own kubelet and container runtime."""


class CommandError(ValueError):
    """A command that cannot be run; the message names the placeholder or the folder."""


@dataclass(frozen=True, slots=True)
class Places:
    """What the placeholders of a command stand for."""

    kubelet_dir: str  # The kubelet's root folder
    plugins_dir: str  # Below it, for the drivers' sockets and data
    registry_dir: str  # Below it, for registration sockets
    cdi_dir: str  # Folder of CDI documents
    node: str  # Name of the node
    kubeconfig: str  # By which the driver reaches the API server
    instance: str  # A text that differs between instances that run side by side
    http_port: str  # A free port, for probes and metrics
    python: str  # The interpreter that runs this program

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all placeholders."""
        return tuple(one.name for one in fields(cls))

    def fill(self, text: str, **more: str) -> str:
        """Return a text with its placeholders replaced."""
        values = {name: getattr(self, name) for name in self.names()} | more
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text


def validate(command: str) -> list[str]:
    """Split a command; placeholders stay.

    Raises:
        CommandError: No words, an unknown placeholder, or a folder of this machine.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CommandError(f"{command!r}: {error}") from None
    if not words:
        raise CommandError("the command is empty")
    for _, name, _, _ in string.Formatter().parse(command):
        if name is not None and name not in Places.names():
            known = ", ".join(f"{{{one}}}" for one in Places.names())
            raise CommandError(f"unknown placeholder {{{name}}}; known: {known}")
    for folder in FORBIDDEN:
        if any(folder in word for word in words):
            raise CommandError(
                f"{folder} belongs to this machine: use {{kubelet_dir}} and {{cdi_dir}} instead"
            )
    return words


class DriverInstance:
    """One instance of the driver.

    Args:
        command: As the user wrote it.
        places: For its placeholders.
        log: File for its output.
        environment: Further variables.
    """

    def __init__(
        self, command: str, places: Places, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        words = [places.fill(word) for word in validate(command)]
        program = shutil.which(words[0])
        if program is None:
            raise CommandError(f"{words[0]}: not found")
        self.places = places
        self.log = log
        variables = {"KUBECONFIG": places.kubeconfig, "NODE_NAME": places.node}
        variables |= environment or {}
        self._process = ThrowawayProcess(
            "driver", [*namespaces(), program, *words[1:]], log, variables
        )

    @property
    def runs(self) -> bool:
        """Whether the process runs."""
        return self._process.pid is not None

    def start(self) -> None:
        """Start the process."""
        self._process.start()

    def kill(self) -> None:
        """End every process of the driver by SIGKILL, whatever its group is."""
        if (pid := self._process.pid) is not None:
            deadline = time.monotonic() + STOP_SECONDS
            while reaper.end_below(pid) and time.monotonic() < deadline:
                time.sleep(0.01)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        self._process.kill()

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.signal(signal.SIGTERM)

    def stop(self, grace: float = STOP_SECONDS) -> float | None:
        """Ask the process to end, and kill it if it does not; return the seconds it took.

        Returns:
            None where it had to be killed.
        """
        start = time.monotonic()
        self.terminate()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        self.kill()
        return time.monotonic() - start

    def logged(self, start: int = 0) -> str:
        """Return what it printed after a position; of more than MAX_LOG bytes, the end."""
        return files.read_end(self.log, start, MAX_LOG)

    def position(self) -> int:
        """Return the position at the end of the log."""
        return self.log.stat().st_size if self.log.exists() else 0


@functools.cache
def namespaces() -> tuple[str, ...]:
    """Return the command that gives a driver mounts and process ids of its own, where allowed.

    Elsewhere, what leaves the driver's group is found as the driver's descendant.
    """
    unshare = shutil.which("unshare")
    if not unshare or os.geteuid() != 0:
        return reaper.command()
    prefix = (unshare, "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)  # noqa: S603 — fixed words
    return prefix if done.returncode == 0 else reaper.command()
