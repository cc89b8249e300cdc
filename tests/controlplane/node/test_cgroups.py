"""Cgroups on hosts of both versions, and the one sentence for hosts that allow none."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.node import cgroups
from tests.controlplane.node.cgroups import Cgroups
from tests.controlplane.node.enclosure import obstacle

MOUNTS = "proc /proc proc rw 0 0\n{lines}\ntmpfs /tmp tmpfs rw 0 0\n"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a folder stand in for the host's cgroups."""
    monkeypatch.setattr(cgroups, "UNIFIED", tmp_path)
    monkeypatch.setattr(cgroups, "MOUNTS", tmp_path / "mounts")
    return tmp_path


def test_with_one_hierarchy_children_get_the_controllers_that_pods_need(host: Path) -> None:
    (host / "mounts").write_text(MOUNTS.format(lines=f"cgroup2 {host} cgroup2 rw 0 0"))
    (host / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids rdma misc\n")
    own = Cgroups()
    own.make()
    assert (host / own.name).is_dir()
    given = (host / "cgroup.subtree_control").read_text().split()
    assert sorted(given) == ["+cpu", "+cpuset", "+hugetlb", "+io", "+memory", "+pids"]


def test_with_many_hierarchies_each_gets_one_also_the_one_of_version_two(host: Path) -> None:
    folders = [host / name for name in ("cpu", "memory", "unified")]
    for folder in folders:
        folder.mkdir()
    kinds = ("cgroup", "cgroup", "cgroup2")
    lines = [f"{kind} {path} {kind} rw 0 0" for kind, path in zip(kinds, folders, strict=True)]
    (host / "mounts").write_text(MOUNTS.format(lines="\n".join(lines)))
    own = Cgroups()
    own.make()
    assert cgroups.version() == 1
    assert all((folder / own.name).is_dir() for folder in folders)
    assert not (host / "cgroup.subtree_control").exists()


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(host: Path) -> None:
    (host / "mounts").write_text(MOUNTS.format(lines=f"cgroup2 {host} cgroup2 rw 0 0"))
    kept, left = host / f"dragoman-{os.getpid()}-kept", host / "dragoman-99999999-left"
    (left / "pods" / "pod").mkdir(parents=True)
    kept.mkdir()
    cgroups.sweep()
    assert kept.is_dir()
    assert not left.exists()


@pytest.fixture
def _asked_anew() -> Iterator[None]:
    obstacle.cache_clear()
    yield
    obstacle.cache_clear()


@pytest.mark.usefixtures("_asked_anew")
def test_without_root_one_sentence_says_what_a_node_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert obstacle() == "a real node needs root on Linux: it makes containers, cgroups and mounts"
