"""The check in one file: it runs without any installed package, and says what the command says."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.zipapp.__main__ import ROOT, build, build_plugin

MANIFEST = ROOT / "examples/configs/mistyped.yaml"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("zipapp"))


def run(archive: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(archive), *arguments],
        env={"PATH": os.environ["PATH"], "SHIV_ROOT": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_checks_without_installed_packages(archive: Path, tmp_path: Path) -> None:
    answer = run(archive, tmp_path, str(MANIFEST))
    assert answer.returncode == 1, answer.stderr
    assert answer.stdout.count("[dra/driver-config]") == 2
    assert (
        answer.stderr
        == "checked 1 object, 1 config; 2 errors, 0 warnings; fixable: 1 with --unsafe-fixes\n"
    )


def test_it_mends_and_reads_settings(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "class.yaml"
    path.write_text("apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata: {name: a}\n")
    assert run(archive, tmp_path / "cache", str(path), "--fix").returncode == 0
    assert "resource.k8s.io/v1\n" in path.read_text()


def test_it_says_that_it_cannot_ask_a_cluster(archive: Path, tmp_path: Path) -> None:
    answer = run(archive, tmp_path, str(MANIFEST), "--cluster")
    assert answer.returncode == 2
    assert "install dragoman (https://dragoman.dev/install)" in answer.stderr


def test_it_is_small_and_holds_no_server(archive: Path) -> None:
    names = zipfile.ZipFile(archive).namelist()
    assert not [
        name for name in names if "webhooks" in name or "/kopf/" in name or "aiohttp" in name
    ]
    assert archive.stat().st_size < 8_000_000


SNAPSHOT = ROOT / "examples/toolkit/cluster.jsonl"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_plugin(tmp_path_factory.mktemp("plugin"))


@pytest.mark.slow  # each command starts without bytecode of this environment
def test_kubectl_dra_is_one_file_that_needs_no_package(plugin: Path, tmp_path: Path) -> None:
    program = tmp_path / "kubectl-dra"
    program.symlink_to(plugin)
    completer = tmp_path / "kubectl_complete-dra"
    completer.symlink_to(plugin)
    cache = tmp_path / "cache"
    seen = ("--snapshot", str(SNAPSHOT))
    helped = run(program, cache, "--help")
    assert "Usage: kubectl dra " in helped.stdout, helped.stderr
    for words, status, said in (
        (("explain", "pod", "trainer", "-n", "ml"), 1, "it fits on none of the 6 nodes"),
        (("top",), 0, "gpu.nvidia.com"),
        (("doctor",), 1, "PoolIncomplete"),
        (("migrate", "report"), None, ""),
        (("top", "--html", str(tmp_path / "page.html")), 0, ""),
    ):
        done = run(program, cache, *words, *seen)
        assert "Traceback" not in done.stderr, done.stderr
        assert status in {None, done.returncode}, (words, done.stderr)
        assert said in done.stdout
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert run(program, cache, "check", str(MANIFEST)).returncode == 1
    assert "explain\t" in run(completer, cache, "exp").stdout
    assert plugin.stat().st_size < 20_000_000


@pytest.mark.slow  # the archive takes some seconds
def test_kubectl_dra_as_one_file_holds_no_server(plugin: Path) -> None:
    names = zipfile.ZipFile(plugin).namelist()
    found = [one for one in names if any(f"/{x}/" in one for x in ("kopf", "grpc", "kubernetes"))]
    assert found == []
