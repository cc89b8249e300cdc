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
    assert status == 3
    assert sum(one["status"] == "pass" for one in report["checks"]) > 50
    assert report["driver"] == "pretend.gpu.example.com"
    assert report["verdict"] == "undecided"
    assert "musts were not selected: only a run of all can be conformant" in output


def test_a_fault_fails_its_check_alone_with_steps_to_do_it_again(run: Run) -> None:
    status, report, output = run(kit.command("whole-request"), *only("P9", "P12", "U1", "I1"))
    (failed,) = (one for one in report["checks"] if one["status"] == "fail")
    assert status == 1
    assert failed["id"] == "P12"
    assert "gpu/big" in failed["reason"]
    assert any("allocate" in step for step in failed["steps"])
    assert "not conformant" in output


@pytest.mark.slow  # each waits once for slices that do not come
@pytest.mark.parametrize(
    ("fault", "check", "reason"),
    [
        ("wrong-count", "S1", "s these are published: pool pretend.gpu.example.com/"),
        ("other-name", "R2", "the slices say pretend.gpu.example.com; after 90 s these are"),
        ("hidden-socket", "R1", "sockets in the registry folder: .pretend"),
    ],
)
def test_what_never_comes_names_its_rule_and_is_waited_for_once(
    run: Run, fault: str, check: str, reason: str
) -> None:
    status, report, output = run(kit.command(fault), *only("R", "S1", "P1"))
    assert status == 1
    failed = {one["id"]: one["reason"] for one in report["checks"] if one["status"] == "fail"}
    assert failed.keys() == {check}, failed
    assert reason in failed[check]
    others = [one for one in report["checks"] if one["id"] not in {check, "R12"}]
    assert {(one["status"], one["reason"]) for one in others} == {("not run", failed[check])}
    assert "To change: " in output


def test_a_driver_that_does_not_start_ends_the_run_at_once(
    throwaway: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman_drivers.throwaway.plane.Plane", lambda *_: nullcontext(throwaway))
    monkeypatch.setattr(running, "run", partial(running.run, prefix="e"))
    command = "sh -c 'echo no such flag; exit 3' {node} {kubelet_dir} {cdi_dir}"
    done = CliRunner().invoke(conformance, ["--driver-command", command])
    assert done.exit_code == 2
    assert done.output.splitlines()[-1] == "error: the driver ended: no such flag"
    assert "not run" not in done.output


@pytest.mark.parametrize("name", ["no-policy", "orphan", "forgets"])
def test_a_fault_is_found_and_none_of_its_neighbors(throwaway: Plane, name: str) -> None:
    """All faults are run by `make test-mutants`."""
    check = next(one.check for one in kit.variants() if one.name == name)
    found = mutants.run(throwaway, Variant(name, check), f"m-{name}")
    assert found.problem(Variant(name, check)) == "", found
