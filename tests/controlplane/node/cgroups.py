"""One node's own cgroups, on hosts with one hierarchy (v2) and on those with many (v1).

Nodes have run on v1, with a v2 hierarchy beside it; on v2 alone they have not been tried yet.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.controlplane.api import wait_for

MOUNTS = Path("/proc/mounts")
KINDS = ("cgroup", "cgroup2")
UNIFIED = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids", "io", "hugetlb")
EMPTY_SECONDS = 10
PREFIX = "dragoman-"


class Cgroups:
    """A cgroup of one name in every hierarchy, and whatever is made below it.

    Attributes:
        name: Of the top cgroup; it tells whose it is.
    """

    def __init__(self) -> None:
        self.name = f"{PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}"

    def make(self) -> None:
        """Make the top cgroup everywhere, after removing what killed tests have left."""
        sweep()
        if version() == 2:
            delegate(UNIFIED)
        for hierarchy in hierarchies():
            (hierarchy / self.name).mkdir()

    def remove(self) -> None:
        """Remove them all, once the last process has ended."""
        wait_for(lambda: not any(self._members()), EMPTY_SECONDS, f"cgroup {self.name} to be empty")
        for hierarchy in hierarchies():
            remove(hierarchy / self.name)

    def _members(self) -> Iterator[str]:
        for hierarchy in hierarchies():
            for folder in bottom_up(hierarchy / self.name):
                yield from (folder / "cgroup.procs").read_text().split()


def sweep() -> None:
    """Remove the cgroups of processes that were killed before they could."""
    for hierarchy in hierarchies():
        for folder in hierarchy.glob(f"{PREFIX}*-*"):
            owner = folder.name.removeprefix(PREFIX).partition("-")[0]
            if not Path("/proc", owner).exists():
                remove(folder)


def remove(top: Path) -> None:
    """Remove a tree of cgroups in which no process is left."""
    for folder in bottom_up(top):
        folder.rmdir()


def version() -> int:
    """Return which cgroups the host has for controllers: 1 or 2."""
    return 2 if (UNIFIED / "cgroup.controllers").exists() else 1


def hierarchies() -> list[Path]:
    """Return where each hierarchy is mounted: one on v2; on v1 one for each controller.

    On v1 there may be a v2 hierarchy without controllers beside the others: runc uses it, too.
    """
    mounts = (line.split() for line in MOUNTS.read_text().splitlines())
    return sorted({Path(target) for _, target, kind, *_ in mounts if kind in KINDS})


def delegate(folder: Path) -> None:
    """Let children of a v2 cgroup have every controller that it has."""
    offered = (folder / "cgroup.controllers").read_text().split()
    wanted = " ".join(f"+{name}" for name in CONTROLLERS if name in offered)
    (folder / "cgroup.subtree_control").write_text(wanted)


def bottom_up(folder: Path) -> Iterator[Path]:
    """Yield all cgroups of a tree, children first; nothing when there is no such tree."""
    if not folder.is_dir():
        return
    for child in folder.iterdir():
        if child.is_dir():
            yield from bottom_up(child)
    yield folder
