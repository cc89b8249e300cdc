"""Cgroups on hosts of both versions, and the one sentence for hosts that allow none."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.controlplane.node import cgroups
from tests.support.controlplane.node.cgroups import UNIFIED, Cgroups, layout
from tests.support.controlplane.node.isolation import obstacle

PLAIN = "22 1 254:1 / / rw,relatime - ext4 /dev/vda rw\n23 22 0:22 / /proc rw - proc proc rw\n"
ONE = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
"""One hierarchy; most lines have optional fields before the dash, and some have none."""
MANY = """\
31 23 0:28 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:29 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/memory rw master:1 propagate_from:2 - cgroup cgroup rw,memory
"""
BESIDE = "35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
AGAIN = "50 22 0:{device} / /run/cilium/cgroupv2 rw - cgroup2 none rw\n"
TWICE = "51 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"


@pytest.mark.parametrize(
    ("mounts", "version", "names"),
    [
        pytest.param(ONE, 2, ["."], id="one hierarchy"),
        pytest.param(ONE + AGAIN.format(device=26), 2, ["."], id="shown again by a network plugin"),
        pytest.param(MANY, 1, ["cpu,cpuacct", "memory", "systemd"], id="many hierarchies"),
        pytest.param(
            MANY + BESIDE,
            1,
            ["cpu,cpuacct", "memory", "systemd", "unified"],
            id="many, and one of version two without controllers beside them",
        ),
        pytest.param(
            MANY + TWICE,
            1,
            ["cpu,cpuacct", "memory", "systemd"],
            id="a folder for each of two controllers of one hierarchy",
        ),
    ],
)
def test_the_mounts_of_a_host_tell_how_its_cgroups_are_arranged(
    mounts: str, version: int, names: list[str]
) -> None:
    found = layout(PLAIN + mounts, UNIFIED)
    assert found.version == version
    assert found.hierarchies == tuple(UNIFIED / name for name in names)


@pytest.mark.parametrize("mounts", ["", AGAIN.format(device=26)])
def test_a_host_without_cgroups_in_their_place_is_told_so(mounts: str) -> None:
    with pytest.raises(OSError, match="no cgroups are mounted at /sys/fs/cgroup"):
        layout(PLAIN + mounts, UNIFIED)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a folder stand in for the cgroups of a host with one hierarchy."""
    monkeypatch.setattr(cgroups, "UNIFIED", tmp_path)
    monkeypatch.setattr(cgroups, "MOUNTS", tmp_path / "mounts")
    (tmp_path / "mounts").write_text(f"29 23 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids rdma misc\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory pids\n")
    return tmp_path


def test_children_get_the_controllers_that_pods_need_and_the_host_did_not_pass_on(
    host: Path,
) -> None:
    with Cgroups() as own:
        assert (host / own.name).is_dir()
        given = (host / "cgroup.subtree_control").read_text().split()
        assert sorted(given) == ["+cpu", "+cpuset", "+hugetlb", "+io"]
    assert not (host / own.name).exists()


def test_a_host_that_passes_all_of_them_on_is_left_as_it_is(host: Path) -> None:
    all_of_them = "cpuset cpu io memory hugetlb pids\n"
    (host / "cgroup.subtree_control").write_text(all_of_them)
    with Cgroups():
        pass
    assert (host / "cgroup.subtree_control").read_text() == all_of_them


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(host: Path) -> None:
    kept, left = host / f"dragoman-{os.getpid()}-kept", host / "dragoman-99999999-left"
    (left / "pods" / "pod").mkdir(parents=True)
    kept.mkdir()
    cgroups.sweep([host])
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


@pytest.mark.skipif(os.geteuid() != 0, reason="anybody else is told to be root")
@pytest.mark.usefixtures("_asked_anew")
def test_where_cgroups_are_missing_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mounts").write_text(PLAIN)
    monkeypatch.setattr(cgroups, "MOUNTS", tmp_path / "mounts")
    said = obstacle()
    assert said.startswith("a real node needs ")
    assert "\n" not in said
