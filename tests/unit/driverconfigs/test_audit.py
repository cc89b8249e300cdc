"""The account of an audit: counts, samples, and whom to tell."""

from typing import Any

import pytest

from dragoman.driverconfigs.audit import (
    EVENTS,
    REPORTED,
    SAMPLE,
    Audit,
    SchemaAudit,
    ViolatingObject,
)
from dragoman.driverconfigs.registry import Registry
from tests.unit.driverconfigs import worlds

Json = dict[str, Any]
SECRET = "hunter2"
GOOD = {**worlds.KIND, "level": 1}
BAD = {**worlds.KIND, "level": SECRET}
LEVEL = {"level": {"type": "integer"}}
NOW = "2026-01-01T00:00:00Z"


def stored(document: Json, name: str, uid: str = "") -> Json:
    metadata = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}"}
    return {**document, "metadata": metadata}


def audited(registry: Registry, *objects: Json, reported: tuple[str, ...] = ()) -> Audit:
    audit = Audit(registry, {worlds.DRIVER: reported}, {})
    for one in objects:
        audit.add(one["kind"], one)
    return audit


@pytest.mark.parametrize("mode", ["Enforce", "Warn", "Audit"])
def test_objects_with_configs_of_a_driver_are_counted_whatever_the_mode(mode: str) -> None:
    registry = worlds.registry(worlds.schema(worlds.config(LEVEL), mode=mode))
    audit = audited(
        registry,
        stored(worlds.claim(worlds.entry(GOOD)), "good"),
        stored(worlds.claim(worlds.entry(BAD), worlds.entry(BAD)), "bad"),
        stored(worlds.template(worlds.entry(BAD)), "bad"),
        stored(worlds.claim(worlds.entry(BAD, driver="other.example.com")), "other"),
        stored(worlds.claim(), "empty"),
    )
    account = audit.schemas[worlds.DRIVER]
    assert (account.checked, account.violations) == (3, 3)
    assert audit.checked == {
        (worlds.DRIVER, "ResourceClaim"): 2,
        (worlds.DRIVER, "ResourceClaimTemplate"): 1,
    }
    assert audit.violations[worlds.DRIVER, "ResourceClaim"] == 2


def test_a_schema_that_is_off_or_not_compiled_has_no_account() -> None:
    broken = worlds.config({"level": {"type": "nonsense"}})
    for document in (worlds.schema(worlds.config(LEVEL), mode="Off"), worlds.schema(broken)):
        audit = audited(Registry.of([document]), stored(worlds.claim(worlds.entry(BAD)), "bad"))
        assert audit.schemas == {}
        assert not audit.violations


def test_an_account_names_the_object_and_the_path_and_never_the_value() -> None:
    registry = worlds.registry(worlds.schema(worlds.config(LEVEL)))
    audit = audited(registry, stored(worlds.device_class(worlds.entry(BAD)), "bad"))
    account = audit.schemas[worlds.DRIVER]
    status = account.status(7, account.to_report(EVENTS), NOW)
    assert status["sample"][0]["name"] == "bad"
    assert "spec.config[0].opaque.parameters.level" in status["sample"][0]["message"]
    assert (status["observedGeneration"], status["time"]) == (7, NOW)
    assert SECRET not in str(status)
    assert SECRET not in str(account.unreported)


def test_who_was_told_is_not_told_again_until_something_else_is_wrong() -> None:
    registry = worlds.registry(worlds.schema(worlds.config({**LEVEL, "b": {"type": "integer"}})))
    bad = stored(worlds.claim(worlds.entry(BAD)), "bad")
    first = audited(registry, bad).schemas[worlds.DRIVER]
    reported = tuple(first.status(1, first.to_report(EVENTS), NOW)["reported"])
    assert len(reported) == 1

    again = audited(registry, bad, reported=reported).schemas[worlds.DRIVER]
    assert again.to_report(EVENTS) == []
    assert tuple(again.status(1, [], NOW)["reported"]) == reported

    worse = stored(worlds.claim(worlds.entry({**BAD, "b": "x"})), "bad")
    changed = audited(registry, worse, reported=reported).schemas[worlds.DRIVER]
    assert [one.name for one in changed.to_report(EVENTS)] == ["bad"]


def test_what_is_repaired_is_forgotten() -> None:
    registry = worlds.registry(worlds.schema(worlds.config(LEVEL)))
    good = stored(worlds.claim(worlds.entry(GOOD)), "good")
    account = audited(registry, good, reported=("old",)).schemas[worlds.DRIVER]
    assert account.status(1, [], NOW)["reported"] == []


def violating(number: int) -> ViolatingObject:
    return ViolatingObject("ResourceClaim", "ns", f"claim-{number}", f"uid-{number}", "spec: wrong")


def test_an_account_stays_small_however_many_objects_are_wrong() -> None:
    reported = [violating(number).digest for number in range(REPORTED - 5)]
    account = SchemaAudit(frozenset(reported))
    for number in range(5 * REPORTED):
        account.add(violating(number), 2)
    told = account.to_report(EVENTS)
    status = account.status(1, told, NOW)
    assert status["violations"] == 10 * REPORTED
    assert len(status["sample"]) == SAMPLE
    assert len(told) == 5
    assert len(status["reported"]) == REPORTED


def test_the_events_of_a_pass_are_bounded_over_all_schemas() -> None:
    account = SchemaAudit()
    for number in range(100):
        account.add(violating(number), 1)
    assert len(account.to_report(EVENTS)) == EVENTS
    assert len(account.to_report(3)) == 3
    assert account.to_report(0) == []
