"""The explain controller: one Event for each pod that waits, again only for other reasons."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

import pytest
from prometheus_client.core import Metric

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.explain.controller import ExplainController, profile_of
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube import events
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.informer import Informer
from dragoman_base.versions import NEWEST
from dragoman_base.versions import name as name_of
from tests.support import manifests as objects
from tests.support.apiserver import ApiServer, Place
from tests.support.clusters import RULES, cluster_of
from tests.support.scriptedserver import eventually
from tests.support.worlds.inventory import claim, device, device_class, held, pod, pool

Json = dict[str, Any]
VERSION = "v1.36.3"
WAIT, INTERVAL = 0.05, 0.2
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


class Api(ApiServer):
    """A server that is away for some of the next requests of objects."""

    away = 0

    def __init__(self) -> None:
        super().__init__()
        self.fail = self._absent

    def _absent(self, request: str, _: Place) -> ApiError | None:
        if not self.away or not request.startswith("GET"):
            return None
        self.away -= 1
        return ApiError(503, "ServiceUnavailable", "not now")

    @property
    def events(self) -> list[Json]:
        return self.of("events")

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Names of pods and what was said about them, by the names of the Events."""
        return [(one["regarding"]["name"], one["note"]) for one in self.events]


class Cluster:
    """A controller whose informers have what is put in."""

    def __init__(self, api: Api, kubernetes: str = VERSION) -> None:
        self.api = api
        client = cast(Client, api)
        self.recorder = EventRecorder(client)
        self.cluster = cluster_of(api, content=True)
        self.cluster.keep_waiting(partial(reduced, "pods"))
        devices = self.cluster.part(DeviceStores)
        self.informers: dict[str, Informer[Any]] = {
            "Pod": self.cluster.pods,
            "ResourceClaim": self.cluster.claims,
            "ResourceSlice": devices.slices,
            "Node": self.cluster.nodes,
            "DeviceClass": devices.classes,
        }
        self.controller = ExplainController(
            self.cluster,
            profile_of(kubernetes, rules=False),
            kubernetes,
            self.recorder,
            infos=True,
            wait=WAIT,
            interval=INTERVAL,
        )

    def put(self, *manifests: Mapping[str, Any], kind: str = "ADDED") -> None:
        """Let watches report objects."""
        for manifest in manifests:
            stored = self.api.store(manifest)
            self.informers[manifest["kind"]].handle({"type": kind, "object": stored})

    def synced(self) -> None:
        """Let all first lists be complete."""
        for informer in self.informers.values():
            informer.synced.set()
        self.cluster.part(DeviceStores).rules_known.set()

    async def until(self, events: int) -> list[tuple[str, str]]:
        """Wait for Events, then for as long again as a further one could take."""
        await eventually(lambda: len(self.api.events) >= events)
        await asyncio.sleep(3 * INTERVAL)
        return self.api.notes

    def metrics(self) -> dict[str, dict[tuple[str, ...], float]]:
        """Return samples by metric and label values."""
        collected: list[Metric] = list(self.controller._collector.collect())
        return {
            metric.name: {tuple(one.labels.values()): one.value for one in metric.samples}
            for metric in collected
        }


@asynccontextmanager
async def running(cluster: Cluster) -> AsyncIterator[Cluster]:
    """Run the controller as the leader does."""
    cluster.synced()
    tasks = [
        asyncio.create_task(cluster.controller.run()),
        asyncio.create_task(cluster.recorder.run()),
    ]
    try:
        yield cluster
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        cluster.controller.stop()


def waiting(name: str = "pod", uses: str = "claim", **more: Any) -> Json:
    made = pod(name, claims={"gpu": uses}, **more)
    made["status"] = {"phase": "Pending", "conditions": [REFUSED]}
    return made


def full(*more: Json) -> Cluster:
    """Return a cluster whose only device is in use by another namespace."""
    cluster = Cluster(Api())
    cluster.put(objects.node("n"), device_class(), pool("n", ["a"]), holder(), taken(), *more)
    return cluster


def holder() -> Json:
    return pod("holder", "secret", claims={"gpu": "taken"}, node="n")


def taken() -> Json:
    return held(claim("taken", "secret"), ("n", "a"), pods=[holder()])


def tainted() -> tuple[Json, ...]:
    """Return the device as it is once its claim has ended and its driver taints it."""
    return pool("n", [device("a", taints=[TAINT])]), claim("taken", "secret")


def test_a_pod_that_waits_gets_one_event() -> None:
    async def scenario() -> None:
        async with running(full(claim(), waiting())) as cluster:
            assert await cluster.until(1) == [
                ("pod", "1 node: 1 in use (kubectl dra explain pod pod -n ns)")
            ]
        (event,) = cluster.api.events
        assert event["reason"] == "CannotAllocateDevices"
        assert event["type"] == "Warning"
        assert event["regarding"]["uid"] == "uid-of-ns-pod"

    asyncio.run(scenario())


def test_the_event_says_by_whose_rules_it_speaks_of_a_newer_cluster() -> None:
    newer = f"{NEWEST[0]}.{NEWEST[1] + 1}"

    async def scenario() -> None:
        cluster = Cluster(Api(), f"v{newer}.0")
        cluster.put(objects.node("n"), device_class(), pool("n", ["a"]), holder(), taken())
        cluster.put(claim(), waiting())
        async with running(cluster):
            ((_, note),) = await cluster.until(1)
        assert f"; by the rules of {name_of(NEWEST)}; this cluster is {newer}" in note

    asyncio.run(scenario())


def test_other_reasons_are_another_event() -> None:
    async def scenario() -> None:
        async with running(full(claim(), waiting())) as cluster:
            await cluster.until(1)
            cluster.put(*tainted())
            notes = [text for _, text in await cluster.until(2)]
        assert [text.partition(" (")[0] for text in notes] == [
            "1 node: 1 in use",
            "1 node: 1 tainted broken=yes:NoSchedule",
        ]

    asyncio.run(scenario())


def test_a_new_leader_does_not_repeat_the_event() -> None:
    async def scenario() -> None:
        first = full(claim(), waiting())
        async with running(first):
            await first.until(1)
        second = full(claim(), waiting())
        for event in first.api.events:
            second.api.store({"kind": "Event", **event})
        async with running(second):
            counted = second.metrics
            await eventually(lambda: bool(counted().get("dragoman_pods_waiting_for_devices")))
            assert len(await second.until(1)) == 1

    asyncio.run(scenario())


def test_a_new_leader_does_not_repeat_the_event_of_a_change() -> None:
    async def scenario() -> None:
        first = full(claim(), waiting())
        async with running(first):
            await first.until(1)
            first.put(*tainted())
            notes = await first.until(2)
        second = full(claim(), waiting())
        second.put(*tainted())
        for event in first.api.events:
            second.api.store({"kind": "Event", **event})
        async with running(second):
            counted = second.metrics
            await eventually(lambda: bool(counted().get("dragoman_pods_waiting_for_devices")))
            assert await second.until(2) == notes

    asyncio.run(scenario())


def test_reasons_that_come_back_are_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # INTERVAL of the test is shorter than the recorder's, that of the controller is longer.
    monkeypatch.setattr(events, "REPEAT_AFTER", 0.0)

    async def scenario() -> None:
        async with running(full(claim(), waiting())) as cluster:
            await cluster.until(1)
            cluster.put(*tainted())
            await cluster.until(2)
            for count in (3, 5):
                cluster.put(pool("n", ["a"]), taken())
                await cluster.until(count)
                cluster.put(*tainted())
                await cluster.until(count + 1)
            notes = [text for _, text in cluster.api.notes]
        in_use, is_tainted = "1 node: 1 in use", "1 node: 1 tainted broken=yes:NoSchedule"
        assert [text.partition(" (")[0] for text in notes] == [in_use, is_tainted] * 3

    asyncio.run(scenario())


def test_a_pod_that_is_placed_before_the_wait_is_over_gets_none() -> None:
    async def scenario() -> None:
        cluster = full(claim(), waiting())
        async with running(cluster):
            placed = waiting()
            placed["spec"]["nodeName"] = "n"
            cluster.put(placed)
            assert await cluster.until(0) == []
            assert cluster.metrics()["dragoman_pods_waiting_for_devices"] == {}

    asyncio.run(scenario())


def test_a_pod_that_the_watch_reports_late_as_placed_gets_none() -> None:
    async def scenario() -> None:
        cluster = full(claim(), waiting())
        placed = waiting()
        placed["spec"]["nodeName"] = "n"
        cluster.api.store(placed)
        async with running(cluster):
            assert await cluster.until(0) == []

    asyncio.run(scenario())


def test_a_pod_that_cannot_be_read_is_explained_soon_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        cluster = full(claim(), waiting())
        cluster.api.away = 3
        monkeypatch.setattr(cluster.controller, "_interval", 3600.0)
        async with running(cluster):
            await eventually(lambda: len(cluster.api.events) == 1)

    asyncio.run(scenario())


def test_pods_that_lack_no_devices_get_none() -> None:
    async def scenario() -> None:
        cluster = full(claim(), claim("missing"), waiting("fits"))
        cluster.put(objects.node("m"), pool("m", ["a"]))
        gated = waiting("gated")
        gated["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
        plain = pod("plain")
        plain["status"] = {"conditions": [REFUSED]}
        cluster.put(gated, plain)
        async with running(cluster):
            assert await cluster.until(0) == []
            counted = cluster.metrics
            fits = {("DevicesAvailable",): 1}
            await eventually(lambda: counted().get("dragoman_pods_waiting_for_devices") == fits)

    asyncio.run(scenario())


def test_extended_resources_are_devices_too() -> None:
    async def scenario() -> None:
        served = device_class("gpus")
        served["spec"]["extendedResourceName"] = "example.com/gpu"
        wants = pod("extended")
        amounts = {"example.com/gpu": "1"}
        wants["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        wants["status"] = {"phase": "Pending", "conditions": [REFUSED]}
        async with running(full(served, wants)) as cluster:
            assert [name for name, _ in await cluster.until(1)] == ["extended"]

    asyncio.run(scenario())


def test_metrics_are_the_numbers_of_top() -> None:
    async def scenario() -> None:
        async with running(full(claim(), waiting())) as cluster:
            await cluster.until(1)
            found = cluster.metrics()
        assert found["dragoman_devices"][("gpu.example.com", "gpu", "used")] == 1
        assert found["dragoman_devices"][("gpu.example.com", "gpu", "free")] == 0
        assert found["dragoman_device_pools"][("gpu.example.com", "Complete")] == 1
        assert found["dragoman_pods_waiting_for_devices"] == {("DeviceInUse",): 1}
        assert found["dragoman_device_info"] == {
            (
                *("gpu.example.com", "n", "a", "n", "secret", "taken", "gpu", "devices"),
                *("holder", "", "false"),
            ): 1
        }
        # A process that does not lead knows nothing of now.
        assert cluster.metrics() == {}

    asyncio.run(scenario())


def test_deletions_are_forgotten() -> None:
    async def scenario() -> None:
        async with running(full(claim(), waiting())) as cluster:
            await cluster.until(1)
            cluster.put(pod("pod", claims={"gpu": "claim"}), kind="DELETED")
            await eventually(lambda: not cluster.metrics()["dragoman_pods_waiting_for_devices"])

    asyncio.run(scenario())


def test_the_scheduler_is_that_of_the_server() -> None:
    assert profile_of(VERSION, rules=False).version == (1, 36)
    newer = profile_of("v1.37.2", rules=True)
    assert newer.version == (1, 37)
    assert newer.taint_rules
    assert profile_of("", rules=False).version == (1, 36)


def test_devices_are_not_counted_before_taints_are_known() -> None:
    async def scenario() -> None:
        cluster = full(claim(), waiting())
        async with running(cluster):
            pass
        devices = cluster.cluster.part(DeviceStores)
        devices.rules_known.clear()
        listing = asyncio.ensure_future(cluster.controller.state.wait_listed())
        await asyncio.sleep(0)
        devices.serve_rules(RULES)
        await asyncio.sleep(0)
        assert not listing.done()
        devices.rules.synced.set()
        await listing

    asyncio.run(scenario())
