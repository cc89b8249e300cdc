"""One node's own cgroups, on hosts with one hierarchy (v2) and on those with many (v1).

Nodes have run on both: on v2 alone, and on v1 with a v2 hierarchy without controllers beside it.
"""

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support.controlplane.node.inside import clear

MOUNTS = Path("/proc/self/mountinfo")
UNIFIED = Path("/sys/fs/cgroup")
"""Where kubelet and runc look for cgroups, and nowhere else."""
CONTROLLERS = ("cpu", "cpuset", "memory", "pids", "io", "hugetlb")
PREFIX = "dragoman-"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a host's cgroups are arranged.

    Attributes:
        version: Which cgroups the host has for controllers: 1 or 2.
        hierarchies: Where each hierarchy is mounted: one on v2; on v1 one for each controller, and
            maybe a v2 hierarchy without controllers beside them, which runc uses, too.
    """

    version: int
    hierarchies: tuple[Path, ...]


class Cgroups:
    """A cgroup of one name in every hierarchy, and whatever is made below it.

    Attributes:
        name: Of the top cgroup; it tells whose it is.
        folders: It, in each hierarchy.
    """

    def __init__(self) -> None:
        self.name = f"{PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._layout = layout(MOUNTS.read_text(), UNIFIED)
        self.folders = [hierarchy / self.name for hierarchy in self._layout.hierarchies]
        self._given: set[str] = set()

    def __enter__(self) -> Self:
        """Make the top cgroup everywhere, after removing what killed tests have left.

        Raises:
            OSError: The kernel allows no cgroup here, or none that limits what pods use.
        """
        sweep(self._layout.hierarchies)
        try:
            if self._layout.version == 2:
                self._given = passed_on(UNIFIED)
                delegate(UNIFIED)
            for folder in self.folders:
                folder.mkdir()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove them all, once the last process has ended."""
        clear(self.folders)
        if self._layout.version == 2 and not any(UNIFIED.glob(f"{PREFIX}*")):
            withdraw(UNIFIED, self._given)


def layout(mountinfo: str, top: Path) -> Layout:
    """Return how a host's cgroups are arranged, from the lines of `/proc/self/mountinfo`.

    Mounts elsewhere, such as those of network plugins, show the same hierarchies once more.

    Raises:
        OSError: There is no hierarchy at or below `top`.
    """
    found: dict[str, tuple[Path, str]] = {}
    for line in mountinfo.splitlines():
        mount, _, what = line.partition(" - ")
        _, _, device, _, target, *_ = mount.split()
        kind, *_ = what.split()
        if kind in {"cgroup", "cgroup2"} and Path(target).is_relative_to(top):
            found.setdefault(device, (Path(target), kind))
    if not found:
        raise OSError(f"no cgroups are mounted at {top}")
    if (top, "cgroup2") in found.values():
        return Layout(2, (top,))
    return Layout(1, tuple(sorted(path for path, _ in found.values())))


def sweep(hierarchies: Iterable[Path]) -> None:
    """Remove the cgroups of processes that were killed before they could."""
    for hierarchy in hierarchies:
        for folder in hierarchy.glob(f"{PREFIX}*-*"):
            owner = folder.name.removeprefix(PREFIX).partition("-")[0]
            if not Path("/proc", owner).exists():
                clear([folder])


def passed_on(folder: Path) -> set[str]:
    """Return the controllers that children of a v2 cgroup have."""
    return set((folder / "cgroup.subtree_control").read_text().split())


def delegate(folder: Path) -> None:
    """Let children of a v2 cgroup have the controllers that pods need, as far as it has them."""
    offered = (folder / "cgroup.controllers").read_text().split()
    missing = [name for name in CONTROLLERS if name in offered and name not in passed_on(folder)]
    if missing:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in missing))


def withdraw(folder: Path, given: set[str]) -> None:
    """Leave children of a v2 cgroup the controllers that they had before, and those in use."""
    for name in sorted(passed_on(folder) - given):
        with suppress(OSError):
            (folder / "cgroup.subtree_control").write_text(f"-{name}")
