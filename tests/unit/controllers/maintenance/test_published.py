"""How many devices a target of a DeviceMaintenance matches, for the webhook."""

import asyncio
import random
from typing import Any

import pytest

from dragoman.controllers.maintenance import published
from dragoman.controllers.maintenance.published import PublishedDevices
from dragoman_webhooks.targets import Matches
from tests.support.controlplane import objects
from tests.unit.controllers.maintenance.model import DRIVER, POOL, Model


@pytest.fixture(scope="module")
def devices() -> PublishedDevices:
    model: Any = Model(random.Random(1))
    path = "/apis/resource.k8s.io/v1/resourceslices/s"
    model.objects[path] = objects.resource_slice(POOL, ["a", "b"], DRIVER, "s")

    async def once() -> PublishedDevices:
        found = PublishedDevices(model)
        assert found.count({"driver": DRIVER}) is None
        listing = asyncio.create_task(found.run())
        for _ in range(3000):
            await asyncio.sleep(0.01)
            if found.count({}) is not None:
                break
        listing.cancel()
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
    devices: PublishedDevices, target: dict[str, str], matches: Matches
) -> None:
    assert devices.count(target) == matches


@pytest.mark.parametrize(("bound", "value"), [("REVIEW_SECONDS", -1.0), ("REVIEW_STEPS", 0)])
def test_an_expression_that_takes_too_long_is_refused(
    devices: PublishedDevices, monkeypatch: pytest.MonkeyPatch, bound: str, value: float
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
    devices: PublishedDevices, where: str, said: str
) -> None:
    found = devices.count({"where": where})
    assert found is not None
    assert (found.some, said in found.problem) == (False, True)
