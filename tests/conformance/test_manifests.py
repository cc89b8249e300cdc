"""Manifests that people write, beside what API servers said to them: all that matters is found."""

from functools import cache

import pytest

from dragoman_base.versions import parse
from dragoman_toolkit.check.configs import ConfigChecker
from dragoman_toolkit.check.settings import CATALOG
from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.finding import CheckReport
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from tests.conformance.manifests.verdicts import manifests, recorded

REPORTED = manifests("reported")
WRONG, RIGHT, VERDICTS = manifests("wrong") | REPORTED, manifests("right"), recorded()
BAR = 0.9
"""Of the manifests that servers take and that can never work, so many must be found."""


@cache
def report(text: str, version: str) -> CheckReport:
    configs = ConfigChecker((CATALOG,), ())
    source, api = engine.read("m.yaml", text), api_of(parse(version))
    checked = engine.check(
        [source], api, KnownDevices(), engine.CheckOptions(), driver_configs=configs
    )
    return checked.report


def found(text: str, version: str) -> list[str]:
    said = report(text, version)
    return [one.id for one in said.findings] + [one.message for one in said.failures]


def test_there_are_enough_manifests() -> None:
    assert len(WRONG) >= 100
    assert len(RIGHT) >= 60
    assert len(REPORTED) >= 25
    assert all(text.startswith("# https://") for text in REPORTED.values())
    assert all(verdicts.keys() == {*WRONG, *RIGHT} for verdicts in VERDICTS.values())


@pytest.mark.parametrize("version", VERDICTS)
def test_all_that_a_server_refuses_is_an_error(version: str) -> None:
    missed = [
        f"{name}: {said}"
        for name, text in WRONG.items()
        if (said := VERDICTS[version][name]) and not report(text, version).errors
    ]
    assert missed == []


@pytest.mark.parametrize("version", VERDICTS)
def test_most_of_what_can_never_work_is_found(version: str) -> None:
    taken = {name: text for name, text in WRONG.items() if not VERDICTS[version][name]}
    missed = [name for name, text in taken.items() if not found(text, version)]
    assert len(taken) >= 25
    assert len(missed) <= (1 - BAR) * len(taken), missed


@pytest.mark.parametrize("version", VERDICTS)
def test_what_is_right_is_taken_and_has_no_finding(version: str) -> None:
    assert {name: VERDICTS[version][name] for name in RIGHT} == dict.fromkeys(RIGHT, "")
    # A server takes a field whose gate is off by default, and drops it.
    dropped = {"dra/off-by-default", "dra/extended-resource"} if version < "v1.36" else set()
    alarms = {name: ids for name, text in RIGHT.items() if (ids := found(text, version))}
    assert {name: ids for name, ids in alarms.items() if set(ids) - dropped} == {}


def test_one_mistake_is_said_once() -> None:
    """Of the wrong manifests only these have more than one mistake; classic DRA has many fields."""
    several = {name for name, text in WRONG.items() if len(found(text, "1.36")) > 1}
    assert several <= {name for name, text in REPORTED.items() if "v1alpha2" in text} | {
        "config without opaque",
        "exactly under v1beta1",
        "flat request with count under v1beta2",
        "index as text",
        "slice without a pool",
        "version v1alpha2",
    }
