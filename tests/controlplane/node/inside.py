"""What runs as root in a node's private namespaces; started by `enclosure`, never imported.

`inside.py hold FOLDER` makes the namespaces, hides the host's state from what will run in them and
stays as their first process: when it is killed, the kernel kills all others with it.
`inside.py enter FOLDER COMMAND…` runs a command in them.
`inside.py try` makes them and ends, to see whether that is allowed.

It needs nothing beside the standard library, and writes nothing outside FOLDER.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWPID = 0x0002_0000, 0x2000_0000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x4_0000
PR_SET_PDEATHSIG = 1
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops")
"""What a kubelet sets for the whole machine: it shall set copies instead."""
HIDDEN = ("/var/lib", "/run")
"""Where kubelet, containerd and network plugins keep state that has no setting."""

libc = ctypes.CDLL(None, use_errno=True)


def main(verb: str, *rest: str) -> int:
    """Do what the command line asks for."""
    if verb == "try":
        separate()
        return 0
    folder, *command = rest
    return hold(Path(folder)) if verb == "hold" else enter(Path(folder), command)


def hold(folder: Path) -> int:
    """Make the namespaces, say who is first in them, and wait for the end.

    Once the first process has been waited for, the kernel has ended all others.
    """
    separate()
    ready, tell = os.pipe()
    first = os.fork()
    if first == 0:
        tie()
        furnish(folder)
        os.close(ready)
        os.write(tell, b"ready")
        os.close(tell)
        reap()
    os.close(tell)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
    if os.read(ready, 5) == b"ready":
        partial = folder / ".first"
        partial.write_text(str(first))
        partial.replace(folder / "first")
    return follow(first)


def separate() -> None:
    """Leave the host's mounts; children will leave its processes, too."""
    must(libc.unshare(CLONE_NEWNS | CLONE_NEWPID))
    mount("none", "/", "", MS_REC | MS_PRIVATE)


def furnish(folder: Path) -> None:
    """Mount what differs from the host; none of it is seen outside."""
    mount("proc", "/proc", "proc")
    for name in SYSCTLS:
        copy = folder / "sysctl" / name.replace("/", ".")
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(Path("/proc/sys", name).read_text())
        mount(str(copy), f"/proc/sys/{name}", "", MS_BIND)
    for path in HIDDEN:
        own = folder / "hidden" / path.strip("/").replace("/", "-")
        own.mkdir(parents=True, exist_ok=True)
        mount(str(own), path, "", MS_BIND)


def reap() -> None:
    """Collect the children that others have left behind, for ever."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.sigtimedwait([signal.SIGCHLD], 1)


def enter(folder: Path, command: list[str]) -> int:
    """Run a command in the namespaces as if it were run here: its status is ours."""
    first = (folder / "first").read_text()
    for kind in ("net", "pid", "mnt"):
        handle = os.open(f"/proc/{first}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        must(libc.setns(handle, 0))
    for number in (signal.SIGTERM, signal.SIGINT):  # the whole group gets them: wait for the end
        signal.signal(number, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        tie()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.execv(command[0], command)
    return follow(child)


def tie() -> None:
    """End when the parent ends."""
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))


def follow(child: int) -> int:
    """Wait for a child and return its status, as a shell would tell it."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def mount(source: str, target: str, kind: str, flags: int = 0) -> None:
    """Mount a file system, a folder or a file."""
    must(libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, None))


def must(result: int) -> None:
    """Raise the error of a system call that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
