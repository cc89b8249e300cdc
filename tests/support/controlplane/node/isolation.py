"""Private mount and process namespaces: what runs in them leaves no trace, and ends with them."""

import functools
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.controlplane.api import wait_for
from tests.support.controlplane.network import Place
from tests.support.controlplane.node.cgroups import UNIFIED, Cgroups
from tests.support.controlplane.process import ThrowawayProcess

START_SECONDS, STOP_SECONDS = 10, 30
INSIDE = Path(__file__).with_name("inside.py")


@functools.cache
def obstacle() -> str:
    """Return why no node can run on this machine, in one sentence; empty when one can."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        return "a real node needs root on Linux: it makes containers, cgroups and mounts"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(
            python("try", Path(folder)), capture_output=True, text=True, check=False
        )
    if tried.returncode:
        *_, why = ["no reason given", *tried.stderr.splitlines()]
        return f"a real node needs namespaces and layered mounts of its own: {why}"
    try:
        with Cgroups():
            return ""
    except OSError as error:
        return f"a real node needs cgroups of its own below {UNIFIED}: {error}"


class Isolation:
    """Namespaces that hide some of the host's folders, some sysctls and all mounts inside.

    Args:
        folder: Where what the namespaces hold instead is kept.
        log: What the first process in them says.
        place: Whose network they share.
        cgroups: Those of what runs inside; they go with it.
    """

    def __init__(self, folder: Path, log: Path, place: Place, cgroups: Sequence[Path]) -> None:
        self._folder = folder
        command = python("hold", folder, *map(str, cgroups))
        self._first = ThrowawayProcess("isolation", place.command(command), log)

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
