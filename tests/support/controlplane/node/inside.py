"""What runs as root in a node's private namespaces; started by `isolation`.

`inside.py hold FOLDER CGROUP…` makes the namespaces, hides the host's state from what will run in
them and stays until SIGTERM, or the end of whoever started it. Then the first process in them is
killed, the kernel kills all others with it, and the cgroups are removed.
`inside.py enter FOLDER COMMAND…` runs a command in them.
`inside.py try FOLDER` makes them and mounts as containerd does, to see whether that is allowed.

It needs nothing beside the standard library, and writes nothing outside FOLDER.
"""

import ctypes
import errno
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWNS, CLONE_NEWPID = 0x0002_0000, 0x2000_0000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x4_0000
PR_SET_PDEATHSIG = 1
SYSCTLS = (
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)
"""What a kubelet sets for the whole machine: it shall set copies instead."""
HIDDEN = ("/var/lib", "/var/log", "/run")
"""Where kubelet, containerd and network plugins keep state that has no setting."""
EMPTY_SECONDS = 10
"""A cgroup may be removed a moment after its last process has been waited for."""

libc = ctypes.CDLL(None, use_errno=True)


def main(verb: str, folder: str, *rest: str) -> int:
    """Do what the command line asks for."""
    if verb == "try":
        return attempt(Path(folder))
    if verb == "hold":
        return hold(Path(folder), map(Path, rest))
    return enter(Path(folder), [*rest])


def attempt(folder: Path) -> int:
    """Make the namespaces, and mount a layer on another as images are."""
    separate()
    places = {name: folder / name for name in ("lowerdir", "upperdir", "workdir")}
    for place in places.values():
        place.mkdir()
    options = ",".join(f"{name}={place}" for name, place in places.items())
    mount("overlay", str(folder), "overlay", data=options)
    return 0


def hold(folder: Path, cgroups: Iterable[Path]) -> int:
    """Make the namespaces, say who is first in them, wait for the end, clear away.

    Once the first process has been waited for, the kernel has ended all others.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    tie(signal.SIGTERM)  # not killed outright: somebody has to remove the cgroups
    separate()
    ready, tell = os.pipe()
    first = os.fork()
    if first == 0:
        tie(signal.SIGKILL)
        furnish(folder)
        os.close(ready)
        os.write(tell, b"ready")
        os.close(tell)
        reap()
    os.close(tell)
    if os.read(ready, 5) == b"ready":
        partial = folder / ".first"
        partial.write_text(str(first))
        partial.replace(folder / "first")
    signal.sigwait({signal.SIGTERM, signal.SIGCHLD})
    os.kill(first, signal.SIGKILL)
    status = follow(first)
    clear(cgroups)
    return status


def clear(cgroups: Iterable[Path]) -> None:
    """Remove trees of cgroups, as soon as the kernel has let go of the processes in them.

    What is in use for longer stays: whoever uses it is none of ours.
    """
    deadline = time.monotonic() + EMPTY_SECONDS
    for top in cgroups:
        for folder, _, _ in os.walk(top, topdown=False):
            while not removed(Path(folder)) and time.monotonic() < deadline:
                time.sleep(0.02)


def removed(cgroup: Path) -> bool:
    """Remove one cgroup, which somebody else may do at the same time; False when it is in use."""
    try:
        cgroup.rmdir()
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def separate() -> None:
    """Leave the host's mounts; children will leave its processes, too."""
    must(libc.unshare(CLONE_NEWNS | CLONE_NEWPID))
    mount("none", "/", "", MS_REC | MS_PRIVATE)


def furnish(folder: Path) -> None:
    """Mount what differs from the host; none of it is seen outside."""
    mount("proc", "/proc", "proc")
    for name in SYSCTLS:
        if not Path("/proc/sys", name).exists():
            continue
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
        tie(signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.execv(command[0], command)
    return follow(child)


def tie(number: signal.Signals) -> None:
    """Get a signal when the parent ends."""
    must(libc.prctl(PR_SET_PDEATHSIG, number))


def follow(child: int) -> int:
    """Wait for a child and return its status, as a shell would tell it."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """Mount a file system, a folder or a file."""
    what = [word.encode() or None for word in (source, target, kind)]
    must(libc.mount(*what, flags, data.encode() or None))


def must(result: int) -> None:
    """Raise the error of a system call that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
