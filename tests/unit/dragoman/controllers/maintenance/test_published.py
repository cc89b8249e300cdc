"""How many devices a target of a DeviceMaintenance matches, for the webhook."""

import asyncio
import random
import subprocess
import sys
from typing import Any

import pytest

from dragoman import surroundings
from dragoman.cluster import published
from dragoman.cluster.devices import DeviceStores
from dragoman.cluster.published import Published, ReviewedDevices
from dragoman_webhooks.targets import Matches
from tests.support import manifests as objects
from tests.support.clusters import cluster_of
from tests.unit.dragoman.controllers.maintenance.model import DRIVER, POOL, Model


@pytest.fixture(scope="module")
def devices() -> ReviewedDevices:
    model: Any = Model(random.Random(1))
    path = "/apis/resource.k8s.io/v1/resourceslices/s"
    model.objects[path] = objects.resource_slice(POOL, ["a", "b"], DRIVER, "s")

    async def once() -> ReviewedDevices:
        cluster = cluster_of(model)
        found = ReviewedDevices(cluster)
        assert found.count({"driver": DRIVER}) is None
        await cluster.part(DeviceStores).slices.resync()
        following = asyncio.create_task(found.run())
        for _ in range(3000):
            await asyncio.sleep(0.01)
            if found.count({}) is not None:
                break
        following.cancel()
        return found

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("target", "matches"),
    [
        ({"driver": DRIVER}, Matches(True, True, 2)),
        ({"driver": DRIVER, "pool": POOL, "device": "a"}, Matches(True, False, 2)),
        ({"node": POOL}, Matches(True, True, 2)),
        ({"driver": "other"}, Matches(False, False, 2)),
        ({"where": f'device.driver == "{DRIVER}"'}, Matches(True, True, 2)),
    ],
)
def test_devices_are_counted(
    devices: ReviewedDevices, target: dict[str, str], matches: Matches
) -> None:
    assert devices.count(target) == matches


@pytest.mark.parametrize(("bound", "value"), [("REVIEW_SECONDS", -1.0), ("REVIEW_STEPS", 0)])
def test_an_expression_that_takes_too_long_is_refused(
    devices: ReviewedDevices, monkeypatch: pytest.MonkeyPatch, bound: str, value: float
) -> None:
    monkeypatch.setattr(published, bound, value)
    found = devices.count({"where": "true"})
    assert found is not None
    assert "name a driver, pool or node as well" in found.problem
    assert devices.count({"driver": DRIVER}) == Matches(True, True, 2)


@pytest.mark.parametrize(
    ("where", "said"),
    [("device.", "expression 'device.'"), (f'device.attributes["{DRIVER}"].x == 1', "no such key")],
)
def test_an_expression_that_fails_is_explained(
    devices: ReviewedDevices, where: str, said: str
) -> None:
    found = devices.count({"where": where})
    assert found is not None
    assert (found.some, said in found.problem) == (False, True)


async def test_slices_that_change_while_two_targets_are_computed_are_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: Any = Model(random.Random(1))
    cluster = cluster_of(model)
    informers, stored = cluster.part(DeviceStores), cluster.part(Published)
    informers.slices.synced.set()
    turns: list[asyncio.Future[None]] = []

    async def computed(function: Any, *arguments: Any) -> Any:
        turn = asyncio.get_running_loop().create_future()
        turns.append(turn)
        await turn
        return function(*arguments)

    monkeypatch.setattr(surroundings, "in_daemon_thread", computed)
    await informers.require_content()
    first = asyncio.create_task(stored.inventory())
    await asyncio.sleep(0.01)
    changed = objects.resource_slice(POOL, ["a", "b"], DRIVER, "s")
    changed["metadata"] |= {"uid": "s", "resourceVersion": "2"}
    informers.slices.handle({"type": "ADDED", "object": changed})
    second = asyncio.create_task(stored.inventory())
    await asyncio.sleep(0.01)
    for turn in reversed(turns):  # threads end in any order
        turn.set_result(None)
        await asyncio.sleep(0.01)
    assert [len((await one).devices) for one in (first, second)] == [0, 2]
    assert len((await stored.inventory()).devices) == 2


def test_the_first_expression_of_a_process_is_not_refused_for_the_time_to_load_the_engine() -> None:
    """A quarter of a second of work while the engine loads is not the expression's."""
    code = """
import random, sys, time
from importlib.abc import MetaPathFinder
from dragoman.cluster.published import ReviewedDevices
import asyncio
from tests.support.clusters import cluster_of
from tests.support import manifests as objects
from tests.unit.dragoman.controllers.maintenance.model import DRIVER, POOL, Model

class Slow(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "dragoman_cel.selectors":
            end = time.thread_time() + 0.25
            while time.thread_time() < end:
                pass
        return None

model = Model(random.Random(1))
path = "/apis/resource.k8s.io/v1/resourceslices/s"
model.objects[path] = objects.resource_slice(POOL, ["a", "b"], DRIVER, "s")
from dragoman.cluster.published import Published
from dragoman.cluster.devices import DeviceStores
from tests.support.clusters import cluster_of

async def listed():
    cluster = cluster_of(model)
    found = ReviewedDevices(cluster)
    await cluster.part(DeviceStores).slices.resync()
    found._inventory = await cluster.part(Published).inventory()
    return found

found = asyncio.run(listed())
sys.meta_path.insert(0, Slow())
assert "dragoman_cel.selectors" not in sys.modules
print(repr(found.count({"where": "true"}).problem))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=120, check=True, capture_output=True, text=True
    )
    assert done.stdout == "''\n"
