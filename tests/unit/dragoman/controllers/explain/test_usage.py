"""Counters of device-seconds: kept by one leader, continued by the next."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

import orjson
import pytest

from dragoman import surroundings
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.explain import usage
from dragoman.controllers.explain.explainstate import ExplainState
from dragoman.controllers.explain.usage import NAME, UsageController
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.informer import Informer
from tests.support.apiserver import ApiServer, Place
from tests.support.clusters import cluster_of
from tests.support.scriptedserver import eventually
from tests.support.worlds.inventory import claim, device_class, held, pod

Json = dict[str, Any]
NOON = 1_795_348_800.0  # 2026-11-22T12:00:00Z
RECORD = Place("configmaps", "dragoman", NAME)
DEVICES = "dragoman_device_seconds_total"
WAITING = "dragoman_claim_waiting_seconds_total"


class Clock:
    """The time of all processes."""

    now = NOON


class Process:
    """One process of the operator."""

    def __init__(self, api: ApiServer, limit: int = 10) -> None:
        self.api = api
        self.leads = True
        self.cluster = cluster_of(api, content=True)
        self.cluster.keep_waiting(partial(reduced, "pods"))
        client = cast(Client, api)
        context = Context(client, EventRecorder(client), lambda: self.leads)
        state = ExplainState(self.cluster)
        self.usage = UsageController(context, state, self.cluster, "dragoman", limit)
        devices = self.cluster.part(DeviceStores)
        self.informers: dict[str, Informer[Any]] = {
            "Pod": self.cluster.pods,
            "ResourceClaim": self.cluster.claims,
            "DeviceClass": devices.classes,
            "ResourceSlice": devices.slices,
            "Node": self.cluster.nodes,
        }
        for one in self.informers.values():
            one.synced.set()
        devices.rules_known.set()
        for document in api.objects.values():
            self.see(document)

    def see(self, document: Json, kind: str = "ADDED") -> None:
        """Let a watch report an object."""
        if document["kind"] in self.informers:
            self.informers[document["kind"]].handle({"type": kind, "object": document})

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Return samples by name and label values."""
        return {
            (one.name, *one.labels.values()): one.value
            for metric in self.usage.collect()
            for one in metric.samples
        }


@asynccontextmanager
async def leading(process: Process) -> AsyncIterator[Process]:
    task = asyncio.create_task(process.usage.run())
    await eventually(lambda: bool(process.metrics()))
    await eventually(lambda: process.api.requests["PUT configmaps"] > 0)
    try:
        yield process
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def kept(api: ApiServer) -> Json:
    found: Json = api.objects.get(RECORD, {}).get("data", {})
    return found


async def shows(process: Process, value: float, *key: str) -> None:
    """Wait until a metric has a value, which it has after the next write."""
    await eventually(lambda: process.metrics().get(key) == value)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(usage, "PERIOD", 0.01)
    found = Clock()
    times = surroundings.Surroundings(monotonic=lambda: found.now, unix=lambda: found.now)
    with surroundings.using(times):
        yield found


def allocated(name: str, at: str, namespace: str = "ml") -> Json:
    made = held(claim(name, namespace), ("n", "g0"))
    made["status"]["allocation"]["allocationTimestamp"] = at
    return made


def of(api: ApiServer) -> Json:
    return api.objects[RECORD]


async def test_the_next_leader_goes_on_from_what_the_last_one_kept(clock: Clock) -> None:
    api = ApiServer()
    api.store(allocated("long", "2026-11-22T11:00:00Z"), device_class())
    async with leading(Process(api)) as first:
        await shows(first, 3600, DEVICES, "ml", "gpu", "gpu.example.com")
        clock.now += 100
        await shows(first, 3700, DEVICES, "ml", "gpu", "gpu.example.com")
        first.see(allocated("ended", "2026-11-22T12:01:40Z"))
        clock.now += 10
    assert first.metrics() == {}
    assert of(api)["data"]["through"] == "2026-11-22T12:01:50.000+00:00"
    assert orjson.loads(of(api)["data"]["devices"]) == {"ml/gpu/gpu.example.com": 3720}
    clock.now += 20
    # Allocated while nobody led.
    api.store(allocated("new", "2026-11-22T12:02:05Z"))
    async with leading(Process(api)) as second:
        await shows(second, 3720 + 20 + 5, DEVICES, "ml", "gpu", "gpu.example.com")


async def test_pods_behind_scheduling_gates_do_not_wait_for_devices(clock: Clock) -> None:
    api = ApiServer()
    gated = pod("held", "ml", claims={"gpu": "claim"})
    gated["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    api.store(device_class(), claim("claim", "ml"), gated)
    async with leading(Process(api)) as process:
        clock.now += 5
        assert (WAITING, "ml", "gpu") not in process.metrics()
        process.see(api.store(pod("held", "ml", claims={"gpu": "claim"})), "MODIFIED")
        clock.now += 7
        await shows(process, 7, WAITING, "ml", "gpu")
        process.see(api.store(held(claim("claim", "ml"), ("n", "g0"))), "MODIFIED")
        clock.now += 9
        await shows(process, 9, DEVICES, "ml", "gpu", "gpu.example.com")
        await shows(process, 7, WAITING, "ml", "gpu")
        process.see(api.objects[Place("resourceclaims", "ml", "claim")], "DELETED")
        clock.now += 9
        await shows(process, 9, DEVICES, "ml", "gpu", "gpu.example.com")


async def test_who_leads_no_more_writes_nothing(clock: Clock) -> None:
    api = ApiServer()
    api.store(allocated("long", "2026-11-22T11:00:00Z"))
    async with leading(Process(api)) as process:
        written = of(api)
        process.leads = False
        clock.now += 100
    assert of(api) == written
    assert process.metrics() == {}


async def test_what_others_wrote_into_the_configmap_stays(clock: Clock) -> None:
    api = ApiServer()
    api.store(allocated("long", "2026-11-22T11:00:00Z"))
    async with leading(Process(api)):
        labelled = of(api)
        labelled["metadata"]["labels"] = {"team": "platform"}
        api.store(labelled)
        clock.now += 50
        await eventually(lambda: "12:00:50" in kept(api)["through"])
        assert of(api)["metadata"]["labels"] == {"team": "platform"}
        api.remove(RECORD)
        clock.now += 50
        await eventually(lambda: "12:01:40" in kept(api).get("through", ""))


@pytest.mark.usefixtures("clock")
async def test_nothing_is_exported_while_the_record_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = [ApiError(403, "Forbidden", "not yours")]
    api = ApiServer()
    api.store(allocated("long", "2026-11-22T11:00:00Z"))
    api.fail = lambda request, _: refused.pop() if request == "GET configmaps" and refused else None
    monkeypatch.setattr(Backoff, "next", lambda *_: 0.01)
    async with leading(Process(api)) as process:
        assert not refused
        await shows(process, 3600, DEVICES, "ml", "gpu", "gpu.example.com")


async def test_a_record_that_cannot_be_read_is_begun_anew_from_now_on(clock: Clock) -> None:
    api = ApiServer()
    broken = {"through": "yesterday"}
    api.store(
        {"kind": "ConfigMap", "metadata": {"name": NAME, "namespace": "dragoman"}}
        | {"data": broken}
    )
    api.store(allocated("long", "2026-11-22T11:00:00Z"))
    async with leading(Process(api)) as process:
        clock.now += 1
        await shows(process, 1, DEVICES, "ml", "gpu", "gpu.example.com")


@pytest.mark.usefixtures("clock")
async def test_namespaces_beyond_the_limit_are_one_series() -> None:
    api = ApiServer()
    for name in ("a", "b", "c"):
        api.store(allocated("claim", "2026-11-22T11:59:59Z", name))
    async with leading(Process(api, limit=1)) as process:
        found = process.metrics()
        assert found[DEVICES, "a", "gpu", "gpu.example.com"] == 1
        assert found[DEVICES, "_other", "gpu", "gpu.example.com"] == 2
        assert found["dragoman_device_seconds_folded",] == 2
