"""`dragoman conformance` against the pretended driver, and against one with a fault."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conformance import kit
from tests.support.controlplane import binaries

pytestmark = pytest.mark.slow
GROUPS = ("R", "P", "U", "C")


@pytest.fixture(scope="module")
def assets() -> Path:
    """Return a folder with etcd and kube-apiserver."""
    return binaries.find(["etcd", "kube-apiserver"])["etcd"].parent


def run(assets: Path, folder: Path, command: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """Run the kit; return its exit status, its report and its output."""
    (folder / "profile.yaml").write_text(kit.profile())
    report = folder / "report.json"
    arguments = ["--driver-command", command, "--profile", str(folder / "profile.yaml"), "--quick"]
    more = ["--assets", str(assets), "--json", str(report), *options]
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "conformance", *arguments, *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stderr
    return done.returncode, json.loads(report.read_text()), done.stdout


def test_the_pretended_driver_passes_and_a_part_of_the_checks_is_no_verdict(
    assets: Path, tmp_path: Path
) -> None:
    only = [word for one in GROUPS for word in ("--only", one)]
    status, report, output = run(assets, tmp_path, kit.command(), *only)
    failed = {one["id"]: one["reason"] for one in report["checks"] if one["status"] == "fail"}
    assert failed == {}
    assert status == 0
    assert sum(one["status"] == "pass" for one in report["checks"]) > 40
    assert report["driver"] == "pretend.gpu.example.com"
    assert report["verdict"] == "undecided"
    assert "A must that was not run leaves the verdict open" in output


def test_a_fault_fails_its_check_alone_with_steps_to_do_it_again(
    assets: Path, tmp_path: Path
) -> None:
    only = [word for one in ("P9", "P12", "U1", "I1") for word in ("--only", one)]
    status, report, output = run(assets, tmp_path, kit.command("whole-request"), *only)
    (failed,) = (one for one in report["checks"] if one["status"] == "fail")
    assert status == 1
    assert failed["id"] == "P12"
    assert "gpu/big" in failed["reason"]
    assert any("allocate" in step for step in failed["steps"])
    assert "not conformant" in output
