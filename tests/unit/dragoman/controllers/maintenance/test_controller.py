"""DeviceMaintenances on a model of the cluster: what is held, said, and given back."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dragoman import metrics
from dragoman.allocation.requests.expressions import Expression
from dragoman.cluster.published import Published
from dragoman.controllers.context import Context
from dragoman.controllers.maintenance import controller, drainer
from dragoman.controllers.maintenance.controller import MaintenanceController
from dragoman.controllers.maintenance.view import ClusterView
from dragoman.inventory.inventory import Inventory
from dragoman.kube.events import EventRecorder
from dragoman.maintenance.devicemaintenance import FINALIZER
from dragoman.model.deviceid import DeviceID
from tests.support import manifests as objects
from tests.support.clusters import SERVED, cluster_of
from tests.unit.dragoman.controllers.maintenance.model import DRIVER, POOL, Model, device_ids

PATH = "/apis/dragoman.dev/v1alpha1/devicemaintenances/m"
TARGET = {"driver": DRIVER, "pool": POOL, "device": "a"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((drainer, "SETTLE"), (drainer, "TICK"), (controller, "ACTIVE_INTERVAL")):
        monkeypatch.setattr(module, name, 0.05)


class Listed(Published):
    """Published devices, listed for each answer."""

    async def inventory(self) -> Inventory:
        await self._devices.slices.resync()
        return await super().inventory()


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
        self.leads = True
        client: Any = self.model
        self.view = ClusterView(client, SERVED.claims)
        self.controller = MaintenanceController(
            Context(client, EventRecorder(client), lambda: self.leads),
            SERVED,
            self.view,
            Listed(cluster_of(client)),
            namespace="ops",
        )

    def write(self, document: dict[str, Any]) -> None:
        """Store the DeviceMaintenance as a user would."""
        self.model._store(PATH, document)

    def end_soon(self) -> None:
        """Let the time of the DeviceMaintenance end in a moment."""
        self.write({**self.stored, "spec": {**self.stored["spec"], "until": after(0.5)}})

    @property
    def stored(self) -> dict[str, Any]:
        return self.model.objects.get(PATH, {})

    def conditions(self) -> dict[str, str]:
        found = self.stored.get("status", {}).get("conditions", ())
        return {one["type"]: one["status"] for one in found}

    async def until(self, met: Callable[[], bool]) -> None:
        """Let everything run until a condition is met, with all events delivered."""
        async with asyncio.timeout(30):
            while not met():
                informer = self.controller.objects.informer
                for path, document in [*self.model.objects.items()]:
                    if "/devicemaintenances/" in path:
                        informer.handle({"type": "MODIFIED", "object": document})
                if not self.stored:
                    for one in informer.store:
                        informer.deleted(one)
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
        async with office.view.following():
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


@pytest.mark.parametrize("rules", [True, False], ids=["rules", "held claims"])
def test_a_device_of_two_maintenances_stays_held_when_one_of_them_ends(
    monkeypatch: pytest.MonkeyPatch, rules: bool
) -> None:
    office = Office(rules=rules)
    model, second = office.model, "/apis/dragoman.dev/v1alpha1/devicemaintenances/second"
    for path in [one for one in model.objects if "/pods/" in one]:
        model._remove(path)
    for _ in range(300):
        model.step()
    model._store(
        second,
        {
            "metadata": {"name": "second", "uid": "uid-2", "generation": 1},
            "spec": {"target": TARGET, "reason": "fan"},
        },
    )

    async def script() -> None:
        both = lambda: all(  # noqa: E731 — one condition
            model.objects[path].get("status", {}).get("held") == 1 for path in (PATH, second)
        )
        await office.until(both)
        device = DeviceID(DRIVER, POOL, "a")
        free = []
        stored = model._tell

        def tell(path: str, *change: Any) -> None:
            held = any(
                "/devicetaintrules/" in one or device in device_ids(model.objects[one])
                for one in office.holds()
            )
            free.append(not held)
            stored(path, *change)

        monkeypatch.setattr(model, "_tell", tell)
        deleting = {**office.stored["metadata"], "deletionTimestamp": "2026-11-22T12:00:00Z"}
        office.write({**office.stored, "metadata": deleting})
        await office.until(lambda: not office.stored["metadata"].get("finalizers"))
        assert not any(free)
        (held,) = office.holds()
        marks = model.objects[held]["metadata"]
        assert marks["ownerReferences"][0]["name"] == "second"
        assert marks["annotations"]["dragoman.dev/reason"] == "fan"

    play(office, script)


def test_a_pod_that_names_a_held_claim_does_not_keep_the_finalizer() -> None:
    office = Office(rules=False)
    for path in [one for one in office.model.objects if "/pods/" in one]:
        office.model._remove(path)
    for _ in range(300):
        office.model.step()

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")
        (held,) = office.holds()
        stored = office.model.objects[held]
        user = {"resource": "pods", "name": "x", "uid": "uid-x"}
        status = {**stored["status"], "reservedFor": [user]}
        office.model._store(held, {**stored, "status": status})
        deleting = {**office.stored["metadata"], "deletionTimestamp": "2026-11-22T12:00:00Z"}
        office.write({**office.stored, "metadata": deleting})
        await office.until(lambda: not office.stored["metadata"].get("finalizers"))
        assert office.holds() == []

    play(office, script)


def after(seconds: float) -> str:
    """Return the API timestamp of a time after now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def test_the_end_of_the_time_gives_devices_back() -> None:
    office = Office(rules=True, until=after(3600))

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")
        office.end_soon()
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


def test_a_claim_of_a_user_adds_no_device_to_the_target() -> None:
    office = Office(rules=False, evict="Now")
    marks = {
        "labels": {"dragoman.dev/maintenance": "m"},
        "annotations": {"dragoman.dev/device": f"{DRIVER}/{POOL}/b"},
    }
    uid = {"name": "dragoman-hold-mine", "namespace": "a-tenant", "uid": "uid-mine"}
    path = "/apis/resource.k8s.io/v1/namespaces/a-tenant/resourceclaims/dragoman-hold-mine"
    office.model._store(path, {"metadata": {**uid, **marks}, "spec": {}})

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Idle") == "True")
        assert office.stored["status"]["devices"] == 1
        assert len(office.model.evicted) == 1

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


def test_a_status_is_written_in_the_version_that_has_the_finalizer() -> None:
    office = Office(rules=True)
    office.write({"metadata": metadata(), "spec": {"target": {"where": "device."}}})

    async def main() -> None:
        await office.controller.objects.informer.resync()
        await office.controller.reconcile("m")

    asyncio.run(main())
    assert office.stored["metadata"]["finalizers"] == [FINALIZER]
    assert office.conditions()["Held"] == "Unknown"


def test_nothing_is_held_for_an_object_that_is_gone_before_it_has_the_finalizer() -> None:
    office = Office(rules=True)

    async def main() -> None:
        await office.controller.objects.informer.resync()
        del office.model.objects[PATH]
        await office.controller.reconcile("m")
        assert office.controller._runs == {}

    asyncio.run(main())
    assert office.holds() == []


def test_an_expensive_expression_delays_no_other_work() -> None:
    office = Office(rules=True)
    slices = "/apis/resource.k8s.io/v1/resourceslices/s"
    entries = [
        {"name": f"d{one}", "attributes": {"uuid": {"string": f"GPU-{one}"}}} for one in range(8)
    ]
    office.model.objects[slices] = objects.resource_slice(POOL, entries, DRIVER, "s")
    digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    uuid = f'device.attributes["{DRIVER}"].uuid'
    where = f"{digits}.all(a, {digits}.all(b, {digits}.all(c, a + b + c < 99 + size({uuid}))))"
    office.write({"metadata": metadata(), "spec": {"target": {"where": where}}})
    in_threads = []
    answer = Expression.on

    def evaluated(expression: Expression, content: Any) -> Any:
        in_threads.append(threading.current_thread() is not threading.main_thread())
        return answer(expression, content)

    async def script() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Expression, "on", evaluated)
            await office.until(lambda: office.conditions().get("Held") == "True")
        assert office.stored["status"]["devices"] == 8
        assert all(in_threads)

    play(office, script)


def test_a_process_that_leads_no_more_counts_nothing() -> None:
    office = Office(rules=True)

    async def script() -> None:
        await office.until(lambda: counted("in-use") + counted("idle") == 1)
        office.leads = False
        await office.until(lambda: counted("in-use") + counted("idle") == 0)

    play(office, script)


def test_a_process_that_does_not_lead_does_nothing() -> None:
    office = Office(rules=True, evict="Now")
    office.leads = False

    async def script() -> None:
        await asyncio.sleep(0.3)
        assert office.holds() == []
        assert "status" not in office.stored

    play(office, script)


def test_a_leader_that_lost_the_lease_for_a_moment_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office(rules=True, evict="WhenAllowed")
    office.model.allowed = False
    monkeypatch.setattr(controller, "ACTIVE_INTERVAL", 60.0)
    for name in ("FIRST_EVICTION_RETRY", "LONGEST_EVICTION_RETRY"):
        monkeypatch.setattr(drainer, name, 0.01)

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")
        await asyncio.sleep(0.1)
        # An eviction falls into the time without the Lease, and no pass of the controller.
        office.leads = False
        await asyncio.sleep(0.3)
        office.leads = office.model.allowed = True
        await office.until(lambda: office.conditions().get("Idle") == "True")
        assert len(office.model.evicted) == 1

    play(office, script)


def test_devices_that_come_after_an_upgrade_are_held_by_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controller, "RULES_INTERVAL", 0.0)
    office = Office(rules=False)
    pool = {"driver": DRIVER, "pool": POOL}
    office.write({"metadata": metadata(), "spec": {"target": pool, "evict": "Now"}})

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Idle") == "True")
        office.model.rules = True
        slices = "/apis/resource.k8s.io/v1/resourceslices/s"
        office.model.objects[slices] = objects.resource_slice(POOL, ["a", "b", "c"], DRIVER, "s")
        await office.until(lambda: office.stored["status"]["held"] == 3)
        assert sum("/devicetaintrules/" in one for one in office.holds()) == 1

    play(office, script)


def test_a_fault_of_the_program_ends_no_maintenance(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(rules=True)

    wrote = office.view.wrote

    def fail_once(_: Any) -> Any:
        monkeypatch.setattr(office.view, "wrote", wrote)
        raise TypeError("no claim")

    monkeypatch.setattr(office.view, "wrote", fail_once)

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")

    play(office, script)


@pytest.mark.parametrize("interval", [0.0, 60.0], ids=["seen before", "not seen before"])
def test_rules_that_an_upgrade_serves_in_another_version_are_deleted_at_the_end(
    monkeypatch: pytest.MonkeyPatch, interval: float
) -> None:
    monkeypatch.setattr(controller, "RULES_INTERVAL", interval)
    office = Office(rules=True, until=after(3600))
    office.model.version = "v1beta2"

    async def script() -> None:
        await office.until(lambda: office.conditions().get("Held") == "True")
        office.model.version = "v1"
        office.end_soon()
        await office.until(lambda: office.conditions().get("Expired") == "True")
        assert office.holds() == []

    play(office, script)
