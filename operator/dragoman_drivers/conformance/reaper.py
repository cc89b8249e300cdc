"""Runs a driver as the ancestor of each process that it starts, and ends all of them with it.

Linux gives a process that loses its parent to the nearest subreaper above it (prctl(2)). So a
process of the driver stays below this one also where it leaves the driver's group and clears its
environment. It is run by its text, and needs nothing but Python's standard library.
"""

import ctypes
import inspect
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_LEFT_TO_DRIVER = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def command() -> tuple[str, ...]:
    """Return the command that runs another one in this way; none where Linux does not."""
    if sys.platform != "linux":
        return ()
    return (sys.executable, "-I", "-S", "-c", inspect.getsource(sys.modules[__name__]))


def below(ancestor: int) -> list[int]:
    """Return the processes that a process has started, and theirs; without those that have ended.

    Args:
        ancestor: Its process id.
    """
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            state, parent = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(folder.name))
    found = list(children.get(ancestor, ()))
    for one in found:
        found += children.get(one, ())
    return found


def end_below(ancestor: int) -> bool:
    """Kill what `below` returns; return whether there was any."""
    found = below(ancestor)
    for one in found:
        with suppress(OSError):
            os.kill(one, signal.SIGKILL)
    return bool(found)


def main(words: list[str]) -> int:
    """Run a command; return its status once nothing of it is left."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    driver = os.fork()
    if not driver:
        prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.execv(words[0], words)  # noqa: S606 — there is no shell
    for number in _LEFT_TO_DRIVER:
        signal.signal(number, signal.SIG_IGN)
    status = None
    while status is None:
        ended, code = os.wait()
        status = os.waitstatus_to_exitcode(code) if ended == driver else None
    with suppress(ChildProcessError):
        while True:
            end_below(os.getpid())
            os.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
