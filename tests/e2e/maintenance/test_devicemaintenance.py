"""DeviceMaintenances: the operator does what `drain` does, survives restarts, and ends it."""

import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.maintenance.conftest import share
from tests.e2e.maintenance.ward import MAINTENANCES, Site, Ward
from tests.support.controlplane.api import ApiError, wait_for


def test_devices_are_drained_and_come_back(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    at = ward.placed("a", "b")
    user = next(name for name, where in at.items() if where == device)
    name = ward.maintain(target=ward.target(), evict="WhenAllowed", reason="XID 79")
    ward.wait_condition(name, "Held")
    ward.wait_condition(name, "Idle")
    assert ward.api.find("pods", user, ward.name) is None
    status = ward.api.get(MAINTENANCES, name)["status"]
    assert (status["devices"], status["held"], status["idle"], status["pods"]) == (1, 1, 1, 0)
    held = [
        one
        for one in ward.dra("holds", "-o", "json").document["holds"]
        if one["driver"] == ward.driver
    ]
    assert [(one["maintenance"], one["reason"]) for one in held] == [(name, "XID 79")]
    said = ward.dra("undrain", device, expected=(1,)).output
    assert f"kubectl delete devicemaintenance {name}" in said

    ward.pod("late", node=0)
    ward.api.delete(MAINTENANCES, name)
    wait_for(lambda: ward.api.find(MAINTENANCES, name) is None)
    assert wait_for(lambda: ward.device_of("late")) == device


def test_pods_stay_where_nothing_else_is_wanted(ward: Ward) -> None:
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    ward.placed("a", "b")
    name = ward.maintain(target={"node": ward.nodes[0]})
    held = "True" if ward.rules else "False"
    ward.wait_condition(name, "Held", held)
    said = f"2 devices in use by {ward.name}/a, {ward.name}/b."
    ward.wait_condition(name, "Idle", "False", said)
    assert ward.device_of("a")
    ward.api.delete("pods", "a", ward.name)
    ward.api.delete("pods", "b", ward.name)
    ward.wait_condition(name, "Held")
    ward.wait_condition(name, "Idle")


def test_the_end_of_the_time_puts_devices_back(ward: Ward) -> None:
    where = f'device.attributes["{ward.driver}"].uuid == "{ward.nodes[0]}-device-1"'
    name = ward.maintain(target={"where": where}, until=after(hours=1))
    ward.wait_condition(name, "Held")
    ward.api.patch(MAINTENANCES, name, None, {"spec": {"until": after(seconds=4)}})
    ward.wait_condition(name, "Expired")
    assert ward.condition(name, "Held")[0] == "False"
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    assert set(ward.placed("a", "b").values()) == {ward.device(), ward.device(0, 1)}


def after(**time: float) -> str:
    """Return the API timestamp of a time after now."""
    return f"{datetime.now(UTC) + timedelta(**time):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.slow
def test_a_killed_operator_continues(site: Site, ward: Ward) -> None:
    ward.pod("a", node=0, labels={"app": ward.name})
    ward.pod("b", node=0, labels={"app": ward.name})
    at = ward.placed("a", "b")
    user = next(name for name, where in at.items() if where == ward.device())
    for name in at:
        ward.run(name)
    ward.budget("pdb", {"app": ward.name}, 0)
    name = ward.maintain(target=ward.target(), evict="WhenAllowed")
    wait_for(lambda: "disruption budget pdb" in ward.condition(name, "Idle")[1], 60)
    site.operator.kill()
    ward.budget("pdb", {"app": ward.name}, 1)
    assert ward.device_of(user)
    site.operator.start()
    ward.wait_condition(name, "Idle")
    assert ward.api.find("pods", user, ward.name) is None
    assert [one for one in at if ward.device_of(one)] == [one for one in at if one != user]


@pytest.mark.slow
def test_operators_that_are_killed_at_any_time_continue(site: Site) -> None:
    """kill -9 at a random moment of each maintenance; others than its pods stay."""
    chance = random.Random(14)
    for _ in range(share(100)):
        ward = Ward(site.plane, nodes=1)
        try:
            ward.pod("a", node=0)
            ward.pod("b", node=0)
            at = ward.placed("a", "b")
            name = ward.maintain(target=ward.target(), evict="WhenAllowed")
            time.sleep(chance.random() * 2)
            site.operator.kill()
            site.operator.start()
            ward.wait_condition(name, "Idle")
            assert {one for one in at if ward.device_of(one)} == {
                one for one, where in at.items() if where != ward.device()
            }
        finally:
            ward.clear()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"target": {"device": "a"}}, "a device is named together with its driver and pool"),
        ({"target": {"pool": "a"}}, "a pool is named together with its driver"),
        ({"target": {}, "evict": "Soon"}, "Unsupported value"),
        ({}, "spec.target"),
    ],
)
def test_the_api_server_refuses_what_cannot_be_meant(
    ward: Ward, spec: dict[str, Any], said: str
) -> None:
    with pytest.raises(ApiError, match=said):
        ward.maintain(**spec)


def test_the_target_cannot_change(ward: Ward) -> None:
    name = ward.maintain(target=ward.target())
    ward.wait_condition(name, "Held")
    with pytest.raises(ApiError, match="the target cannot change"):
        ward.api.patch(MAINTENANCES, name, None, {"spec": {"target": ward.target(1)}})


def test_an_expression_that_does_not_compile_is_reported(ward: Ward) -> None:
    name = ward.maintain(target={"where": "device."})
    said = ward.wait_condition(name, "Held", "Unknown")
    wait_for(lambda: "spec.target.where" in ward.condition(name, "Held")[1])
    assert said
