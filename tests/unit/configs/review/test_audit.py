"""The account of an audit: counts, samples, and whom to tell."""

from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.audit import (
    EVENTS,
    REPORTED,
    SAMPLE,
    Audit,
    SchemaAudit,
    ViolatingObject,
)
from tests.support.worlds import driverconfigs as builders

Json = dict[str, Any]
SECRET = "hunter2"
GOOD = {**builders.KIND, "level": 1}
BAD = {**builders.KIND, "level": SECRET}
LEVEL = {"level": {"type": "integer"}}
NOW = "2026-01-01T00:00:00Z"


def stored(document: Json, name: str, uid: str = "") -> Json:
    metadata = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}"}
    return {**document, "metadata": metadata}


def audited(registry: Registry, *objects: Json, reported: tuple[str, ...] = ()) -> Audit:
    audit = Audit(registry, {builders.DRIVER: reported}, {})
    for one in objects:
        audit.add(one["kind"], one)
    return audit


@pytest.mark.parametrize("mode", ["Enforce", "Warn", "Audit"])
def test_objects_with_configs_of_a_driver_are_counted_whatever_the_mode(mode: str) -> None:
    registry = builders.registry(builders.schema(builders.config(LEVEL), mode=mode))
    audit = audited(
        registry,
        stored(builders.claim(builders.entry(GOOD)), "good"),
        stored(builders.claim(builders.entry(BAD), builders.entry(BAD)), "bad"),
        stored(builders.template(builders.entry(BAD)), "bad"),
        stored(builders.claim(builders.entry(BAD, driver="other.example.com")), "other"),
        stored(builders.claim(), "empty"),
    )
    account = audit.schemas[builders.DRIVER]
    assert (account.checked, account.violations) == (3, 3)
    assert audit.checked == {
        (builders.DRIVER, "ResourceClaim"): 2,
        (builders.DRIVER, "ResourceClaimTemplate"): 1,
    }
    assert audit.violations[builders.DRIVER, "ResourceClaim"] == 2


def test_a_schema_that_is_off_or_not_compiled_has_no_account() -> None:
    broken = builders.config({"level": {"type": "nonsense"}})
    for document in (builders.schema(builders.config(LEVEL), mode="Off"), builders.schema(broken)):
        audit = audited(Registry.of([document]), stored(builders.claim(builders.entry(BAD)), "bad"))
        assert audit.schemas == {}
        assert not audit.violations


def test_an_account_names_the_object_and_the_path_and_never_the_value() -> None:
    registry = builders.registry(builders.schema(builders.config(LEVEL)))
    audit = audited(registry, stored(builders.device_class(builders.entry(BAD)), "bad"))
    account = audit.schemas[builders.DRIVER]
    status = account.status(7, account.to_report(EVENTS), NOW)
    assert status["sample"][0]["name"] == "bad"
    assert "spec.config[0].opaque.parameters.level" in status["sample"][0]["message"]
    assert (status["observedGeneration"], status["time"]) == (7, NOW)
    assert SECRET not in str(status)
    assert SECRET not in str(account.unreported)


def test_an_object_gets_no_second_event_until_its_errors_change() -> None:
    registry = builders.registry(
        builders.schema(builders.config({**LEVEL, "b": {"type": "integer"}}))
    )
    bad = stored(builders.claim(builders.entry(BAD)), "bad")
    first = audited(registry, bad).schemas[builders.DRIVER]
    reported = tuple(first.status(1, first.to_report(EVENTS), NOW)["reported"])
    assert len(reported) == 1

    again = audited(registry, bad, reported=reported).schemas[builders.DRIVER]
    assert again.to_report(EVENTS) == []
    assert tuple(again.status(1, [], NOW)["reported"]) == reported

    worse = stored(builders.claim(builders.entry({**BAD, "b": "x"})), "bad")
    changed = audited(registry, worse, reported=reported).schemas[builders.DRIVER]
    assert [one.name for one in changed.to_report(EVENTS)] == ["bad"]


def test_what_is_repaired_is_forgotten() -> None:
    registry = builders.registry(builders.schema(builders.config(LEVEL)))
    good = stored(builders.claim(builders.entry(GOOD)), "good")
    account = audited(registry, good, reported=("old",)).schemas[builders.DRIVER]
    assert account.status(1, [], NOW)["reported"] == []


def violating(number: int) -> ViolatingObject:
    return ViolatingObject("ResourceClaim", "ns", f"claim-{number}", f"uid-{number}", "spec: wrong")


def test_an_account_stays_small_however_many_objects_are_wrong() -> None:
    reported = [violating(number).digest for number in range(REPORTED - 5)]
    account = SchemaAudit(frozenset(reported))
    for number in range(5 * REPORTED):
        account.add(violating(number), 2)
    shown = account.to_report(EVENTS)
    status = account.status(1, shown, NOW)
    assert status["violations"] == 10 * REPORTED
    assert len(status["sample"]) == SAMPLE
    assert len(shown) == 5
    assert len(status["reported"]) == REPORTED


def test_the_events_of_a_pass_are_bounded_over_all_schemas() -> None:
    account = SchemaAudit()
    for number in range(100):
        account.add(violating(number), 1)
    assert len(account.to_report(EVENTS)) == EVENTS
    assert len(account.to_report(3)) == 3
    assert account.to_report(0) == []
