"""What drains see of rules that the operator stores."""

from typing import Any

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.maintenance.view import SharedView
from tests.support.clusters import RULES, cluster_of


def event(kind: str, generation: int = 1) -> dict[str, Any]:
    """Return a change of a rule that holds one device."""
    metadata = {"name": "rule", "uid": "uid-rule", "generation": generation}
    selector = {"driver": "gpu.example.com", "pool": "n1", "device": "a"}
    taint = {"key": "dragoman.dev/maintenance", "effect": "NoSchedule"}
    spec = {"deviceSelector": selector, "taint": taint}
    return {"type": kind, "object": {"metadata": metadata, "spec": spec}}


async def test_a_rule_that_was_deleted_holds_no_device_before_its_event() -> None:
    cluster = cluster_of()
    devices, view = cluster.part(DeviceStores), SharedView(cluster)
    devices.serve_rules(RULES)
    devices.rules.synced.set()
    devices.rules.handle(event("ADDED"))
    (hold,) = await view.rules(RULES)
    view.deleted(hold)
    assert await view.rules(RULES) == ()
    devices.rules.handle(event("MODIFIED"))  # a watch that lags
    assert await view.rules(RULES) == ()


async def test_a_rule_that_is_made_changed_or_deleted_wakes_drains() -> None:
    cluster = cluster_of()
    devices, view = cluster.part(DeviceStores), SharedView(cluster)
    devices.serve_rules(RULES)
    woken: list[object] = []
    async with view.notifying(woken.append):
        devices.rules.handle(event("ADDED"))
        devices.rules.handle(event("MODIFIED", 2))
        devices.rules.handle(event("DELETED", 2))
    assert woken == [None] * 3
