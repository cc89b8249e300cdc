"""Allocated claims whose devices have to be made ready before the pod is bound."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dragoman.allocation import (
    Allocated,
    Code,
    DoesNotFit,
    FatalError,
    MalformedObjectError,
    Reason,
    allocate,
    explain,
    parse_claim,
    profile,
)
from tests.unit.dragoman.allocation.objects import DRIVER, Json, cluster, device, held, pod, slice_

THEN = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def bound(*names: str, **conditions: dict[str, Any]) -> Json:
    """Make a claim with devices that have binding conditions, and what the driver reports."""
    claim = held("mine", *names, bindingConditions=["Ready"], bindingFailureConditions=["Broken"])
    claim["status"]["allocation"]["allocationTimestamp"] = "2026-05-01T12:00:00Z"
    claim["status"]["devices"] = [
        {
            "driver": DRIVER,
            "pool": "node-1",
            "device": name,
            "conditions": [{"type": kind, "status": value} for kind, value in found.items()],
        }
        for name, found in conditions.items()
    ]
    return claim


def decide(claim: Json, now: datetime | None = None, **gates: bool) -> tuple[bool, list[Reason]]:
    world = cluster(slice_("s", [device("d")]), claims=[claim], of=profile("1.36", gates))
    outcome = allocate("node-1", pod(claim), world, now=now)
    found = explain("node-1", pod(claim), world, outcome, now=now)
    if isinstance(outcome, Allocated):
        return True, list(found)
    assert outcome == DoesNotFit(outcome.steps, message="resourceclaim not available on the node")
    return False, list(found)


def test_a_claim_is_waited_for_until_its_time_is_over() -> None:
    waiting = bound("d")
    fits, (reason,) = decide(waiting)
    assert (fits, reason.code) == (True, Code.BINDING_PENDING)
    assert (reason.claim, str(reason.device)) == ("default/mine", f"{DRIVER}/node-1/d")
    assert reason.details == {"conditions": ("Ready",)}
    assert decide(waiting, THEN + timedelta(seconds=600))[0]
    fits, (reason,) = decide(waiting, THEN + timedelta(seconds=601))
    assert (fits, reason.code) == (False, Code.BINDING_TIMEOUT)
    assert reason.details["since"] == "2026-05-01T12:00:00+00:00"
    assert "600 s" in str(reason)


def test_a_ready_claim_fits_at_any_time() -> None:
    ready = bound("d", d={"Ready": "True", "Broken": "False"})
    assert decide(ready, THEN + timedelta(days=9)) == (True, [])


def test_a_failed_device_makes_its_claim_unusable() -> None:
    broken = bound("d", d={"Ready": "True", "Broken": "True"})
    fits, (reason,) = decide(broken)
    assert (fits, reason.code) == (False, Code.BINDING_FAILED)
    assert reason.details["condition"] == "Broken"
    assert decide(broken, DRADeviceBindingConditions=False) == (True, [])


def test_the_failure_of_a_later_device_is_seen_once_the_first_is_ready() -> None:
    behind = bound("d", "e", e={"Broken": "True"})
    assert [reason.code for reason in decide(behind)[1]] == [Code.BINDING_PENDING]
    seen = bound("d", "e", d={"Ready": "True"}, e={"Broken": "True"})
    assert [reason.code for reason in decide(seen)[1]] == [Code.BINDING_FAILED]


@pytest.mark.parametrize("wrong", ["yesterday", "2026-05-01T12:00:00", ""])
def test_a_time_that_is_none_is_an_error_that_names_the_field(wrong: str) -> None:
    claim = bound("d")
    claim["status"]["allocation"]["allocationTimestamp"] = wrong
    with pytest.raises(MalformedObjectError, match=r"status\.allocation\.allocationTimestamp"):
        parse_claim(claim)


def test_a_claim_that_is_being_allocated_for_another_pod_ends_the_attempt() -> None:
    (claim,) = pod()
    outcome = allocate(
        "node-1",
        [replace(claim, allocating=True)],
        cluster(slice_("s", [device("d")])),
        reasons=True,
    )
    assert isinstance(outcome, FatalError)
    text = "resource claim default/claim is in the process of being allocated"
    assert (outcome.message, outcome.code, outcome.steps) == (text, Code.CLAIM_ALLOCATING, 0)
    assert [str(reason) for reason in outcome.reasons] == [text]
