"""What a report says: only a run of all musts is conformant, and text of a driver is escaped."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from click.testing import CliRunner

from dragoman_drivers.cli import driverchecks
from dragoman_drivers.cli.conformance import conformance
from dragoman_drivers.conformance import checks, report, running
from dragoman_drivers.conformance.checks import (
    FAIL,
    NOT_RUN,
    PASS,
    CheckOutcome,
    ConformanceReport,
    FailedError,
)
from dragoman_drivers.conformance.folder import Event
from dragoman_drivers.conformance.scenarios import Scenario, all_scenarios, cdi
from dragoman_drivers.conformance.site import Site
from tests.e2e.conformance import kit
from tests.support.mutants.table import MUTANTS, broken_check


def outcomes(**given: str) -> tuple[CheckOutcome, ...]:
    return tuple(CheckOutcome(one, given.get(one.id, PASS), "why") for one in checks.table())


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, checks.CONFORMANT),
        ({"S17": FAIL, "X6": NOT_RUN}, checks.CONFORMANT),
        ({"P10": NOT_RUN}, checks.UNDECIDED),
        ({"P10": NOT_RUN, "I3": FAIL}, checks.NOT_CONFORMANT),
    ],
)
def test_a_must_that_was_not_run_leaves_the_verdict_open(
    given: dict[str, str], verdict: str
) -> None:
    assert ConformanceReport("d", "1", outcomes(**given)).verdict == verdict


def test_a_part_of_the_checks_is_never_conformant() -> None:
    assert ConformanceReport("d", "1", outcomes()[:50]).verdict == checks.UNDECIDED


def test_texts_of_a_driver_neither_end_a_cell_nor_reach_the_terminal() -> None:
    check = checks.by_id()["I3"]
    outcome = CheckOutcome(check, FAIL, "a | b\x1b[31m <script>\nc", ("step\x07",))
    found = ConformanceReport("d<x>", "1", (outcome,))
    assert "\x1b" not in report.as_json(found) + report.line(outcome) + report.as_markdown(found)
    assert "<script>" not in report.as_markdown(found)
    assert r"a \| b" in report.as_markdown(found)
    (case,) = ET.fromstring(report.as_junit(found))
    assert case[0].attrib["message"].startswith("a | b")
    kept = report.verdict_file(found)
    assert [one["id"] for one in kept["failed"]] == ["I3"]
    assert "a | b" not in json.dumps(kept)


def test_every_check_has_a_scenario() -> None:
    assert {one.id for one in checks.table()} == all_scenarios().keys()


def test_every_check_that_can_fail_has_a_fault() -> None:
    broken = {one.check for one in kit.variants()}
    assert {broken_check(name) for name in MUTANTS} <= broken
    assert broken == {one.id for one in checks.table() if one.level != checks.INFO}


def site() -> Site:
    """Return a node of a run whose folder is /tmp/dk-1."""
    setting = SimpleNamespace(folder=Path("/tmp/dk-1"))
    steps: list[str] = []
    made = SimpleNamespace(steps=steps, step=steps.append, tail=lambda: "", setting=setting)
    made.ready = made.settle = lambda: None
    return cast(Site, made)


def test_reports_do_not_name_the_folder_of_the_run() -> None:
    def broken(site: Site) -> None:
        site.step("unprepare: remove /tmp/dk-1/n0/cdi/a.json: no such file")
        raise FailedError("/tmp/dk-1/n0/cdi/a.json is left")

    found = running.run_one(
        site(), Scenario("I3", broken, "main", waits=False), checks.by_id()["I3"]
    )
    assert found.reason == "{folder}/n0/cdi/a.json is left"
    assert found.steps[0] == "unprepare: remove {folder}/n0/cdi/a.json: no such file"


def test_a_fault_of_the_kit_is_no_verdict_on_the_driver() -> None:
    wrong = Scenario("I3", lambda _: dict[str, str]()["missing"], "main", waits=False)
    found = running.run_one(site(), wrong, checks.by_id()["I3"])
    assert found.status == NOT_RUN
    assert found.reason == "the kit itself failed: KeyError: 'missing'"


def test_a_verdict_file_has_steps_without_the_log() -> None:
    steps = ("SIGKILL", f"{report.LOG} ends with: secret")
    (failed,) = report.verdict_file(
        ConformanceReport("d", "1", (CheckOutcome(checks.by_id()["I3"], FAIL, "why", steps),))
    )["failed"]
    assert failed["reproduction"] == ["SIGKILL"]


@pytest.mark.parametrize(
    ("only", "skip", "level", "expected"),
    [
        (["V"], [], "info", ["V1", "V2"]),
        (["M"], ["M2"], "info", ["M1", "M4", "M5"]),
        (["M"], [], "should", ["M1", "M2", "M4"]),
        (["X6"], [], "must", []),
    ],
)
def test_checks_are_selected_by_id_group_and_level(
    only: list[str], skip: list[str], level: str, expected: list[str]
) -> None:
    assert [one.id for one in checks.select(only, skip, level)] == expected


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Q9", "unknown check 'Q9'; `dragoman conformance --list` lists them"),
        ("S99", "did you mean S1 to S19?"),
        ("m3", "did you mean M1 to M5?"),
        ("slices", "did you mean S (ResourceSlices)?"),
        ("Regstration", "did you mean R (Registration)?"),
    ],
)
@pytest.mark.parametrize("option", ["--only", "--skip", "--explain"])
def test_an_unknown_check_has_near_names(name: str, meant: str, option: str) -> None:
    done = CliRunner().invoke(conformance, [option, name])
    assert done.exit_code == 2
    assert meant in done.output.replace("'M3'", "'m3'")


def test_checks_are_selected_in_lower_case_too() -> None:
    assert [one.id for one in checks.select(["v", "i3"], ["v1"], "info")] == ["I3", "V2"]


def test_each_check_that_can_fail_says_what_to_change() -> None:
    for one in checks.table():
        assert one.change.endswith(".") == (one.level != checks.INFO), one.id
        assert "\n" not in one.change


def test_a_failure_says_what_to_change_in_each_form() -> None:
    found = ConformanceReport("d", "1", outcomes(I3=FAIL))
    change = checks.by_id()["I3"].change
    (entry,) = (one for one in report.as_tree(found)["checks"] if "change" in one)
    assert (entry["id"], entry["change"]) == ("I3", change)
    text = [*report.as_text(found)]
    assert text.count(f"  To change: {change}") == 1
    assert f"To change: {change}" in report.as_junit(found)
    assert "To change: " in report.as_markdown(found)
    done = CliRunner().invoke(conformance, ["--explain", "i3"])
    assert f"To change: {change}" in done.output


def test_each_group_has_its_totals_above_its_checks() -> None:
    text = [*report.as_text(ConformanceReport("d", "1", outcomes(R1=FAIL, R2=NOT_RUN)))]
    at = text.index("R  Registration: 10 pass, 1 fail, 1 not run")
    assert [one[:3] for one in text[at + 1 : at + 13]] == [f"R{n}".ljust(3) for n in range(1, 13)]
    assert "V  Versions: 2 pass" in text


@pytest.mark.parametrize(
    ("given", "options", "status", "last"),
    [
        ({}, [], 0, "d: conformant. "),
        ({"S17": FAIL}, [], 0, "d: conformant. "),
        ({"P9": NOT_RUN}, [], 3, "Undecided: 1 must was not run (P9), see above"),
        ({"P9": NOT_RUN}, ["--allow-undecided"], 0, "Undecided: 1 must was not run (P9), see"),
        ({"P9": NOT_RUN, "I3": FAIL}, ["--allow-undecided"], 1, "d: not conformant. "),
        (dict.fromkeys(checks.by_id(), NOT_RUN), ["--allow-undecided"], 2, "No check was run."),
    ],
)
def test_each_verdict_has_an_exit_status(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    options: list[str],
    status: int,
    last: str,
) -> None:
    found = ConformanceReport("d", "1", outcomes(**given))
    monkeypatch.setattr(driverchecks, "_run", lambda *_: found)
    done = CliRunner().invoke(conformance, ["--driver-command", "x", *options])
    assert done.exit_code == status
    assert done.output.splitlines()[-1].startswith(last)


def test_a_selection_says_how_many_musts_are_left_out() -> None:
    text = [*report.as_text(ConformanceReport("d", "1", outcomes()[:50]))]
    assert text[-1].endswith("musts were not selected: only a run of all can be conformant.")
    assert "not run (" not in text[-1]


GOOD = {
    "cdiVersion": "0.3.0",
    "kind": "k8s.gpu.example.com/claim",
    "devices": [{"name": "a", "containerEdits": {"env": ["A=b"]}}],
}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, ""),
        ({"kind": "no-class"}, "not vendor/class"),
        ({"devices": []}, "no devices"),
        ({"extra": 1}, "unknown field extra"),
        ({"cdiVersion": "0.3.0", "devices": [{"name": "0a"}]}, "below 0.5.0"),
        ({"cdiVersion": "0.6.0"}, "above 0.3.0"),
        ({"devices": [{"name": "a", "containerEdits": {"env": ["1"]}}]}, "not NAME=value"),
    ],
)
def test_malformed_documents_are_found(changed: dict[str, object], problem: str) -> None:
    found = cdi.malformed({**GOOD, **changed})
    assert problem in found
    assert bool(found) == bool(problem)


def test_a_document_that_is_written_in_place_is_found() -> None:
    renamed = [Event("create", ".x.partial", 0), Event("modify", ".x.partial", 0)]
    assert cdi.visible_half([*renamed, Event("moved-to", "x.json", 0)]) == ""
    assert cdi.visible_half([Event("create", "x.json", 0), Event("modify", "x.json", 0)])
