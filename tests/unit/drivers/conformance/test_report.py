"""What a report says: only a run of all musts is conformant, and text of a driver is escaped."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

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


def test_an_unknown_check_is_named() -> None:
    with pytest.raises(ValueError, match=r"unknown check 'Q9'.*--list"):
        checks.select(["Q9"], [], "info")


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
