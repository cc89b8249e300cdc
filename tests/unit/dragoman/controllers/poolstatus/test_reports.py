"""DevicePoolReports: what they say, and how rarely they are written."""

import asyncio
import random
from collections import Counter
from typing import Any

from dragoman.allocation.features import profile
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.poolreports.controller import PoolReports
from dragoman.kube.events import EventRecorder
from dragoman.model.claim import Claim
from tests.support.apiserver import ApiServer
from tests.support.clusters import cluster_of
from tests.unit.dragoman.kube.virtual_time import in_virtual_time

Json = dict[str, Any]


class Api(ApiServer):
    """An API server that keeps reports."""

    @property
    def reports(self) -> dict[str, Json]:
        return {one["metadata"]["name"]: one for one in self.of("devicepoolreports")}

    @property
    def writes(self) -> Counter[str]:
        return Counter(place.name for method, place in self.written if method == "PATCH")


class Setup:
    """The reports of an operator that leads."""

    def __init__(self, api: Api, *, holders: bool = False) -> None:
        self.api = api
        self.cluster = cluster_of(api, content=True)
        self.devices = self.cluster.part(DeviceStores)
        loop = asyncio.get_running_loop()
        client = self.cluster.client
        self.reports = PoolReports(
            Context(client, EventRecorder(client)),
            self.cluster,
            holders=holders,
            profile=profile(),
            clock=loop.time,
        )
        self.devices.slices.synced.set()
        self.task = asyncio.create_task(self.reports.run())

    def partition(self) -> None:
        """Publish a device of 8Gi, and two partitions of it with 4Gi each."""
        counters = [{"name": "gpu", "counters": {"memory": {"value": "8Gi"}}}]

        def device(name: str, memory: str) -> Json:
            taken = {"counterSet": "gpu", "counters": {"memory": {"value": memory}}}
            return {"name": name, "consumesCounters": [taken]}

        devices = [device("whole", "8Gi"), device("half-0", "4Gi"), device("half-1", "4Gi")]
        for number, content in enumerate(({"devices": devices}, {"sharedCounters": counters})):
            name = f"p-{number}"
            spec: Json = {"driver": "d", "nodeName": "n", **content}
            spec["pool"] = {"name": "p", "generation": 1, "resourceSliceCount": 2}
            body = {"metadata": {"name": name, "uid": name}, "spec": spec}
            self.devices.slices.handle({"type": "ADDED", "object": body})

    def publish(self, pool: str, *devices: str, count: int = 1, kind: str = "ADDED") -> None:
        spec = {
            "driver": "d",
            "nodeName": pool,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": count},
            "devices": [{"name": one} for one in devices],
        }
        metadata = {"name": pool, "uid": pool}
        self.devices.slices.handle({"type": kind, "object": {"metadata": metadata, "spec": spec}})

    def allocate(self, name: str, device: str, version: int = 1, pool: str = "p") -> None:
        results = [{"driver": "d", "pool": pool, "device": device}] if device else []
        body = {
            "metadata": {
                "name": name,
                "namespace": "secret",
                "uid": name,
                "resourceVersion": str(version),
            },
            "status": {"allocation": {"devices": {"results": results}}},
        }
        self.cluster.claims.changed(Claim.parse(body))

    @property
    def report(self) -> Json:
        (found,) = self.api.reports.values()
        report: Json = found["report"]
        return report


@in_virtual_time
async def test_a_report_counts_the_devices_of_a_pool() -> None:
    setup = Setup(Api())
    setup.publish("p", "a", "b", "c")
    setup.allocate("one", "a")
    setup.allocate("gone", "x")
    await asyncio.sleep(60)
    assert setup.report == {
        "generation": 1,
        "node": "p",
        "state": "Complete",
        "devices": 3,
        "used": 1,
        "free": 2,
        "tainted": 0,
        "held": 0,
        "blocked": 0,
        "unusable": 0,
        "orphaned": 1,
    }
    (name,) = setup.api.reports
    assert name.startswith("d-")


@in_virtual_time
async def test_partitions_without_counters_are_not_free() -> None:
    setup = Setup(Api())
    setup.partition()
    setup.allocate("one", "whole")
    await asyncio.sleep(60)
    numbers = {name: setup.report[name] for name in ("devices", "used", "free", "blocked")}
    assert numbers == {"devices": 3, "used": 1, "free": 0, "blocked": 2}


@in_virtual_time
async def test_devices_of_an_invalid_pool_are_not_free() -> None:
    setup = Setup(Api())
    setup.publish("p", "a", "a", "b")
    await asyncio.sleep(60)
    assert setup.report["state"].startswith("Invalid (")
    numbers = {name: setup.report[name] for name in ("devices", "free", "unusable")}
    assert numbers == {"devices": 0, "free": 0, "unusable": 2}


@in_virtual_time
async def test_holders_are_named_only_where_that_is_wanted() -> None:
    setup = Setup(Api(), holders=True)
    setup.publish("p", "a")
    setup.allocate("one", "a")
    await asyncio.sleep(60)
    assert setup.report["holders"] == ["secret/one"]


@in_virtual_time
async def test_an_incomplete_pool_has_no_counts() -> None:
    setup = Setup(Api())
    setup.publish("p", "a", count=2)
    await asyncio.sleep(1)
    assert setup.report == {"generation": 1, "node": "p", "state": "Incomplete (1 of 2)"}


@in_virtual_time
async def test_a_report_is_written_twice_a_minute_and_not_without_a_change() -> None:
    setup = Setup(Api())
    setup.publish("p", "a", "b")
    for index in range(600):
        setup.allocate("busy", "a" if index % 2 else "b", index + 1)
        setup.allocate("workload", "" if index % 2 else "a", index + 1)
        await asyncio.sleep(0.1)
    (writes,) = setup.api.writes.values()
    assert 2 <= writes <= 3
    await asyncio.sleep(60)
    before = dict(setup.api.writes)
    await asyncio.sleep(3600)
    assert setup.api.writes == before


@in_virtual_time
async def test_the_next_leader_writes_only_changes_and_deletes_old_reports() -> None:
    api = Api()
    setup = Setup(api)
    setup.publish("p", "a")
    setup.publish("old", "a")
    await asyncio.sleep(60)
    setup.task.cancel()
    before = dict(api.writes)
    following = Setup(api)
    following.publish("p", "a")
    await asyncio.sleep(60)
    assert api.writes == before
    assert [one["spec"]["pool"] for one in api.reports.values()] == ["p"]
    following.publish("p", "a", kind="DELETED")
    await asyncio.sleep(1)
    assert api.reports == {}


@in_virtual_time
async def test_few_writes_while_many_claims_come_and_go() -> None:
    """500 pools, and ten claims a second for a minute: at most two writes of each pool."""
    setup, chance = Setup(Api()), random.Random(7)
    pools = [f"p{index}" for index in range(500)]
    for pool in pools:
        setup.publish(pool, "a", "b", "c", "d")
    await asyncio.sleep(10)
    assert set(setup.api.writes.values()) == {1}
    setup.api.written.clear()
    for index in range(600):
        pool = chance.choice(pools[:50] if index % 2 else pools)
        setup.allocate(f"claim-{index}", chance.choice("abcd"), pool=pool)
        await asyncio.sleep(0.1)
    assert max(setup.api.writes.values()) == 2
    await asyncio.sleep(40)
    used = sum(one["report"]["used"] for one in setup.api.reports.values())
    taken = {one.id for claim in setup.cluster.claims.store for one in claim.devices}
    assert used == len(taken)
    setup.api.written.clear()
    await asyncio.sleep(600)
    assert not setup.api.writes
