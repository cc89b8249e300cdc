"""Private mount and process namespaces: what runs in them leaves no trace, and ends with them."""

import functools
import os
import platform
import subprocess
import sys
from pathlib import Path

from tests.controlplane.api import wait_for
from tests.controlplane.network import Place
from tests.controlplane.node.cgroups import UNIFIED, hierarchies
from tests.controlplane.process import Process

START_SECONDS, STOP_SECONDS = 10, 30
INSIDE = Path(__file__).with_name("inside.py")


@functools.cache
def obstacle() -> str:
    """Return why no node can run on this machine, in one sentence; empty when one can."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        return "a real node needs root on Linux: it makes containers, cgroups and mounts"
    tried = subprocess.run(
        [sys.executable, "-I", "-S", str(INSIDE), "try"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        *_, why = tried.stderr.strip().splitlines()
        return f"a real node needs namespaces for mounts and processes of its own: {why}"
    if not all(os.access(folder, os.W_OK) for folder in hierarchies() or [UNIFIED / "none"]):
        return f"a real node needs cgroups of its own, and may not make any below {UNIFIED}"
    return ""


class Enclosure:
    """Namespaces that hide the host's `/var/lib` and `/run`, some sysctls and all mounts inside.

    Args:
        folder: Where what the namespaces hold instead is kept.
        log: What the first process in them says.
        place: Whose network they share.
    """

    def __init__(self, folder: Path, log: Path, place: Place) -> None:
        self._folder = folder
        self._first = Process("enclosure", place.command(python("hold", folder)), log)

    def start(self) -> None:
        """Make the namespaces.

        Raises:
            RuntimeError: The kernel refused; the message carries its words.
        """
        self._first.start()
        wait_for(self._made, START_SECONDS, "a node's private namespaces")

    def stop(self) -> None:
        """End everything that runs inside, at once, and wait until it has ended."""
        self._first.stop(STOP_SECONDS)
        (self._folder / "first").unlink(missing_ok=True)

    def command(self, *command: str) -> list[str]:
        """Return the command that runs a command inside."""
        return python("enter", self._folder, *command)

    def _made(self) -> bool:
        self._first.check()
        return (self._folder / "first").exists()


def python(verb: str, folder: Path, *rest: str) -> list[str]:
    """Return the command of a Python that runs the inner part."""
    return [sys.executable, "-I", "-S", str(INSIDE), verb, str(folder), *rest]
