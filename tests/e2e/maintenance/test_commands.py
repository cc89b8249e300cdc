"""`hold`, `drain`, `taint` and their opposites on a real scheduler, with rules and without."""

from tests.e2e.maintenance.ward import Ward
from tests.support.controlplane.api import wait_for


def test_a_drained_device_is_idle_and_comes_back(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    at = ward.placed("a", "b")
    user = next(name for name, where in at.items() if where == device)

    preview = ward.dra("drain", device, "--dry-run")
    assert preview.output.startswith(f"1 device, used by 1 claim, 1 pod: {ward.name}/{user}\n")
    assert ward.device_of(user) == device

    said = ward.dra("drain", device, "--reason", "XID 79", "--timeout", "60s").output
    assert f"{ward.name}/{user}: evicted" in said
    assert said.splitlines()[-1] == f"{device} is idle.   Back: kubectl dra undrain {device}"
    assert ward.api.find("pods", user, ward.name) is None

    listed = ward.dra("holds", "-o", "json").document["holds"]
    (held,) = [one for one in listed if one["driver"] == ward.driver]
    assert held["reason"] == "XID 79"
    assert held["author"] == "admin"
    assert held["kind"] == ("rule" if ward.rules else "claim")
    assert held["state"] == "held"

    ward.pod("late", node=0)
    assert not ward.device_of("late")
    ward.dra("undrain", device)
    assert wait_for(lambda: ward.device_of("late")) == device
