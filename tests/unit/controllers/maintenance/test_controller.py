"""DeviceMaintenances on a model of the cluster: what is held, said, and given back."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dragoman import metrics
from dragoman.controllers.maintenance import controller, drainer
from dragoman.controllers.maintenance.controller import MaintenanceController
from dragoman.kube.discovery import Served
from dragoman.kube.resources import Resource
from dragoman.maintenance.devicemaintenance import FINALIZER
from tests.support.controlplane import objects
from tests.unit.controllers.maintenance.model import DRIVER, POOL, Model

SERVED = Served(
    Resource("resource.k8s.io", "v1", "resourceclaims"),
    Resource("resource.k8s.io", "v1", "resourceclaimtemplates"),
    None,
)
PATH = "/apis/dragoman.dev/v1alpha1/devicemaintenances/m"
TARGET = {"driver": DRIVER, "pool": POOL, "device": "a"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((drainer, "SETTLE"), (drainer, "TICK"), (controller, "ACTIVE_INTERVAL")):
        monkeypatch.setattr(module, name, 0.05)


class Office:
    """A model with one pool and one DeviceMaintenance, and the controller."""

    def __init__(self, *, rules: bool, **spec: Any) -> None:
        import random  # noqa: PLC0415 — only the model needs it

        self.model = Model(random.Random(7), rules=rules)
        slices = "/apis/resource.k8s.io/v1/resourceslices/s"
        self.model.objects[slices] = objects.resource_slice(POOL, ["a", "b"], DRIVER, "s")
        for name in ("x", "y"):
            self.model.add_pod(name)
        for _ in range(300):
            self.model.step()
        self.write({"metadata": metadata(), "spec": {"target": TARGET, **spec}})
        client: Any = self.model
        self.controller = MaintenanceController(client, SERVED, namespace="ops")

    def write(self, document: dict[str, Any]) -> None:
        """Store the DeviceMaintenance as a user would."""
        self.model._store(PATH, document)

    @property
    def stored(self) -> dict[str, Any]:
        return self.model.objects.get(PATH, {})

    def conditions(self) -> dict[str, str]:
        found = self.stored.get("status", {}).get("conditions", ())
        return {one["type"]: one["status"] for one in found}

    async def until(self, met: Callable[[], bool]) -> None:
        """Let everything run until a condition is met, with all events delivered."""
        async with asyncio.timeout(10):
            while not met():
                informer = self.controller.objects.informer
                if self.stored:
                    informer.handle({"type": "MODIFIED", "object": self.stored})
                else:
                    for one in informer.store:
                        self.controller.objects._deleted(one)
                self.controller.enqueue_all()
                for _ in range(5):
                    self.model.step()
                await asyncio.sleep(0.02)

    def holds(self) -> list[str]:
        """Return the objects that hold a device."""
        return [
            one
            for one in self.model.objects
            if "dragoman-hold" in one or "/devicetaintrules/" in one
        ]


def metadata() -> dict[str, Any]:
    return {"name": "m", "uid": "uid-m", "generation": 1}


def play(office: Office, script: Callable[[], Any]) -> None:
    async def main() -> None:
        await office.controller.objects.informer.resync()
        running = asyncio.create_task(office.controller.run())
        try:
            await script()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())


def counted(state: str) -> float:
    return metrics.REGISTRY.get_sample_value("dragoman_device_maintenances", {"state": state}) or 0


def evictions() -> float:
    name = "dragoman_maintenance_evictions_total"
    return metrics.REGISTRY.get_sample_value(name, {"outcome": "evicted"}) or 0


@pytest.mark.parametrize("rules", [True, False], ids=["rules", "held claims"])
def test_a_device_is_drained_and_comes_back_with_the_end_of_the_object(rules: bool) -> None:
    office = Office(rules=rules, evict="WhenAllowed", reason="XID 79")
    before = evictions()

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Idle") == "True")
        assert office.conditions() == {"Held": "True", "Idle": "True", "Expired": "False"}
        assert office.stored["metadata"]["finalizers"] == [FINALIZER]
        assert len(office.model.evicted) == 1
        assert counted("idle") == 1
        assert evictions() == before + 1
        (held,) = office.holds()
        document = office.model.objects[held]
        assert document["metadata"]["annotations"]["dragoman.dev/reason"] == "XID 79"
        assert document["metadata"]["ownerReferences"][0]["uid"] == "uid-m"
        deleting = {**office.stored["metadata"], "deletionTimestamp": "2026-11-22T12:00:00Z"}
        office.write({**office.stored, "metadata": deleting})
        await office.until(lambda: not office.stored["metadata"].get("finalizers"))
        assert office.holds() == []

    play(office, script)


def test_the_end_of_the_time_gives_devices_back() -> None:
    until = (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat().replace("+00:00", "Z")
    office = Office(rules=True, until=until)

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")
        await office.until(lambda: office.conditions().get("Expired") == "True")
        assert office.holds() == []
        assert office.model.evicted == []
        assert office.conditions()["Held"] == "False"

    play(office, script)


def test_a_device_that_is_not_published_stays_held() -> None:
    office = Office(rules=True)

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")
        del office.model.objects["/apis/resource.k8s.io/v1/resourceslices/s"]
        await asyncio.sleep(0.3)
        await office.until(lambda: True)
        assert len(office.holds()) == 1
        assert office.stored["status"]["devices"] == 1

    play(office, script)


def test_an_expression_that_does_not_compile_is_said() -> None:
    office = Office(rules=True)
    office.write({"metadata": metadata(), "spec": {"target": {"where": "device."}}})

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "Unknown")
        (held, *_) = office.stored["status"]["conditions"]
        assert held["message"].startswith("spec.target.where: ")
        await office.until(lambda: counted("failed") == 1)
        assert office.holds() == []

    play(office, script)


def test_a_process_that_does_not_lead_does_nothing() -> None:
    office = Office(rules=True, evict="Now")
    client: Any = office.model
    office.controller = MaintenanceController(client, SERVED, may_write=lambda: False)

    async def script() -> None:
        await asyncio.sleep(0.3)
        assert office.holds() == []
        assert "status" not in office.stored

    play(office, script)
