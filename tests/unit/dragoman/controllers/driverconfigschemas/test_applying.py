"""A faulty setting or object of the catalog is reported, and stops nothing else."""

import asyncio
from typing import Any, cast

from dragoman import metrics
from dragoman.controllers.context import Context
from dragoman.controllers.driverconfigschemas.controller import SchemaController
from dragoman.controllers.driverconfigschemas.selection import CatalogSelection, select
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman_configs import catalog
from tests.support.apiserver import ApiServer, Place
from tests.unit.dragoman.kube.virtual_time import in_virtual_time

NVIDIA = "gpu.nvidia.com"


class Server(ApiServer):
    """Takes what is applied, but for the objects that it refuses."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = set(refused)
        self.fail = self._refusal

    def _refusal(self, _: str, place: Place) -> ApiError | None:
        if place.name not in self.refused:
            return None
        return ApiError(422, "Invalid", f"{place.name} is invalid: spec.configs: Too many")

    @property
    def applied(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.of("driverconfigschemas")]

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.of("events")


async def apply(server: Server, selection: CatalogSelection, seconds: float = 60) -> None:
    client = cast(Client, server)
    recorder = EventRecorder(client)
    controller = SchemaController(Context(client, recorder), catalog=selection)
    controller.schemas.informer.synced.set()
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(controller.run(), recorder.run())
    except TimeoutError:
        return


def faults(driver: str) -> float:
    return float(metrics.CATALOG_ERRORS.labels(driver)._value.get())


@in_virtual_time
async def test_an_unknown_feature_gate_is_reported_and_its_schema_applied() -> None:
    server = Server()
    settings = select(catalog.schemas(), NVIDIA, variables=[f"{NVIDIA}:MPS=true"])
    await apply(server, settings)
    assert server.applied == [NVIDIA]
    assert faults(NVIDIA) == 1
    (event,) = server.events
    assert event["reason"] == "CatalogFaulty"
    assert event["type"] == "Warning"
    assert event["regarding"]["name"] == NVIDIA
    assert "MPSSupport" in event["note"]


@in_virtual_time
async def test_an_object_that_the_server_refuses_keeps_no_other_from_being_applied() -> None:
    server = Server("dra.net")
    await apply(server, select(catalog.schemas(), "all"))
    assert set(server.applied) == {one["metadata"]["name"] for one in catalog.schemas()} - {
        "dra.net"
    }
    assert faults("dra.net") == 1
    assert [event["regarding"]["name"] for event in server.events] == ["dra.net"]
    assert "spec.configs: Too many" in server.events[0]["note"]


@in_virtual_time
async def test_the_metric_falls_when_the_fault_is_gone() -> None:
    server = Server("dra.net")
    controller = apply(server, select(catalog.schemas(), "dra.net"), seconds=1500)
    task = asyncio.create_task(controller)
    await asyncio.sleep(60)
    assert faults("dra.net") == 1
    server.refused.clear()
    await task
    assert faults("dra.net") == 0
