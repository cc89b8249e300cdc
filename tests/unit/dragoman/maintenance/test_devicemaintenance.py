"""DeviceMaintenances: what is read, and the conditions that say how far they are."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.devicemaintenance import DeviceMaintenance, MaintenanceProgress, status
from dragoman.maintenance.holds import HoldKind
from dragoman.maintenance.plan import plan
from dragoman.maintenance.targets import Target
from dragoman.model.fields import MalformedObjectError
from tests.unit.dragoman.maintenance.builders import facts, held_claim, rule, running, user

NOW = "2026-11-22T12:00:00Z"
EARLIER = "2026-11-22T11:00:00Z"


def stored(**spec: Any) -> DeviceMaintenance:
    conditions = spec.pop("conditions", [])
    return DeviceMaintenance.parse(
        {
            "metadata": {"name": "m", "uid": "u", "generation": 3},
            "spec": {"target": {"driver": "d", "pool": "p"}, **spec},
            "status": {"conditions": conditions},
        }
    )


def conditions(
    progress: MaintenanceProgress, of: DeviceMaintenance | None = None
) -> dict[str, str]:
    found = status(of or stored(), progress, NOW)["conditions"]
    return {one["type"]: f"{one['status']} {one['reason']}: {one['message']}" for one in found}


def test_what_is_read() -> None:
    found = stored(evict="Now", until=NOW, reason="XID 79")
    assert found.target == Target("d", "p")
    assert (found.evict, found.generation) == (EvictionMode.NOW, 3)
    assert found.remaining(datetime(2026, 11, 22, 11, 59, tzinfo=UTC)) == 60.0
    assert stored().remaining(datetime.now(UTC)) is None
    with pytest.raises(MalformedObjectError, match=r"spec\.evict"):
        stored(evict="Soon")


@pytest.mark.parametrize("until", ["2026-11-22t12:00:00z", "2026-11-22T14:00:00.000000000+02:00"])
def test_every_form_of_a_time_comes(until: str) -> None:
    assert stored(until=until).remaining(datetime(2026, 11, 22, 11, 59, tzinfo=UTC)) == 60.0


def test_a_time_that_cannot_be_read_is_said() -> None:
    found = stored(until="2026-11-22T12:00:00+99:99")
    assert found.remaining(datetime.now(UTC)) is None
    said = (
        "spec.until, 2026-11-22T12:00:00+99:99, cannot be read: it ends when the object is deleted."
    )
    assert conditions(MaintenanceProgress(), found)["Expired"] == f"False Unreadable: {said}"


@pytest.mark.parametrize(
    ("found", "state"),
    [
        ([], "in-use"),
        ([("Held", "True", "AllHeld"), ("Idle", "False", "InUse")], "in-use"),
        ([("Held", "False", "InUse"), ("Idle", "True", "NoClaims")], "in-use"),
        ([("Held", "True", "AllHeld"), ("Idle", "True", "NoClaims")], "idle"),
        ([("Held", "Unknown", "Failed"), ("Idle", "Unknown", "NotWatched")], "failed"),
        ([("Held", "False", "Released"), ("Expired", "True", "UntilPassed")], "expired"),
    ],
)
def test_the_conditions_say_the_state(found: list[tuple[str, str, str]], state: str) -> None:
    names = ("type", "status", "reason")
    assert stored(conditions=[dict(zip(names, one, strict=True)) for one in found]).state == state


def test_before_the_first_plan_nothing_is_known() -> None:
    assert conditions(MaintenanceProgress())["Held"].startswith("Unknown Starting")
    assert (
        conditions(MaintenanceProgress(fault="no such key: x"))["Held"]
        == "Unknown Failed: no such key: x"
    )


def test_devices_in_use_name_their_pods_and_what_refuses_them() -> None:
    current = plan(facts(user("x"), pods=[running("x")], holds=[rule()]))
    found = conditions(
        MaintenanceProgress(1, current, settled=True, refusals={"ns/x": "budget says no"})
    )
    assert found["Held"] == "True AllHeld: New claims cannot get 1 device."
    assert found["Idle"] == "False InUse: 1 device in use by ns/x; ns/x: budget says no."
    assert found["Expired"].endswith("It ends when the object is deleted.")


def test_a_held_claim_waits_for_the_device() -> None:
    waiting = held_claim(allocated=False)
    current = plan(facts(user("x"), kind=HoldKind.CLAIM, holds=[waiting], evict=EvictionMode.NEVER))
    found = conditions(MaintenanceProgress(1, current, settled=True))
    assert found["Held"].startswith("False InUse: Held as soon as a claim releases them: ")


@pytest.mark.parametrize(("settled", "said"), [(True, "True NoClaims"), (False, "False NotHeld")])
def test_idle_waits_until_the_scheduler_must_have_seen_the_hold(settled: bool, said: str) -> None:
    current = plan(facts(holds=[rule()]))
    assert conditions(MaintenanceProgress(1, current, settled=settled))["Idle"].startswith(said)


def test_no_device_is_neither_held_nor_idle() -> None:
    found = conditions(MaintenanceProgress(0, plan(facts(devices=())), settled=True))
    assert found["Held"] == found["Idle"] == "False NoDevices: No device meets the target."


def test_the_end_is_said() -> None:
    found = conditions(MaintenanceProgress(expired=True), stored(until=EARLIER))
    assert found["Held"] == "False Released: The devices are back in service."
    assert found["Idle"].startswith("Unknown")
    assert found["Expired"] == f"True UntilPassed: The end, {EARLIER}, has passed."


def test_a_time_changes_with_its_status_alone() -> None:
    before = [
        {"type": "Held", "status": "True", "lastTransitionTime": EARLIER},
        {"type": "Idle", "status": "False", "lastTransitionTime": EARLIER},
    ]
    progress = MaintenanceProgress(1, plan(facts(holds=[rule()])), settled=True)
    found = status(stored(conditions=before), progress, NOW)
    times = {one["type"]: one["lastTransitionTime"] for one in found["conditions"]}
    assert times == {"Held": EARLIER, "Idle": NOW, "Expired": NOW}
    assert (found["devices"], found["held"], found["idle"], found["pods"]) == (1, 1, 1, 0)
