"""`dragoman conformance` against the pretended driver, and against drivers with a fault."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dragoman_drivers.cli.conformance import conformance
from dragoman_drivers.conformance import running
from dragoman_drivers.throwaway.plane import Plane
from tests.e2e.conformance import kit, mutants
from tests.e2e.conformance.kit import Variant

GROUPS = ("R", "P", "U", "C", "X", "N")
Run = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def run(throwaway: Plane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs the command, and returns its exit status, its report and its output."""
    monkeypatch.setattr("dragoman_drivers.throwaway.plane.Plane", lambda *_: nullcontext(throwaway))
    prefixed = partial(running.run, prefix=f"n{tmp_path.name[-2:]}".replace("_", ""))
    monkeypatch.setattr(running, "run", prefixed)
    (tmp_path / "profile.yaml").write_text(yaml.safe_dump(kit.profile()))
    report = tmp_path / "report.json"

    def once(command: str, *options: str) -> tuple[int, dict[str, Any], str]:
        arguments = ["--driver-command", command, "--profile", str(tmp_path / "profile.yaml")]
        more = ["--manifests", str(kit.MANIFESTS), "--quick", "--json", str(report), *options]
        done = CliRunner().invoke(conformance, [*arguments, *more])
        assert report.exists(), done.output
        return done.exit_code, json.loads(report.read_text()), done.output

    return once


def only(*names: str) -> list[str]:
    """Return the options that select checks or groups."""
    return [word for name in names for word in ("--only", name)]


def test_the_pretended_driver_passes_and_a_part_of_the_checks_is_no_verdict(run: Run) -> None:
    status, report, output = run(kit.command(), *only(*GROUPS))
    failed = {one["id"]: one["reason"] for one in report["checks"] if one["status"] == "fail"}
    assert failed == {}
    assert status == 0
    assert sum(one["status"] == "pass" for one in report["checks"]) > 50
    assert report["driver"] == "pretend.gpu.example.com"
    assert report["verdict"] == "undecided"
    assert "A must that was not run leaves the verdict open" in output


def test_a_fault_fails_its_check_alone_with_steps_to_do_it_again(run: Run) -> None:
    status, report, output = run(kit.command("whole-request"), *only("P9", "P12", "U1", "I1"))
    (failed,) = (one for one in report["checks"] if one["status"] == "fail")
    assert status == 1
    assert failed["id"] == "P12"
    assert "gpu/big" in failed["reason"]
    assert any("allocate" in step for step in failed["steps"])
    assert "not conformant" in output


@pytest.mark.parametrize("name", ["no-policy", "orphan", "forgets"])
def test_a_fault_is_found_and_none_of_its_neighbors(throwaway: Plane, name: str) -> None:
    """All faults are run by `make test-mutants`."""
    check = next(one.check for one in kit.variants() if one.name == name)
    found = mutants.run(throwaway, Variant(name, check), f"m-{name}")
    assert found.problem(Variant(name, check)) == "", found
