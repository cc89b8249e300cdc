"""The manager runs components, notices their end, and feeds informers."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.kube.manager import Informers, Manager
from dragoman.kube.resources import PODS
from tests.support.scriptedserver import PATIENCE, eventually


async def forever() -> None:
    await asyncio.Event().wait()


async def test_a_component_that_ends_ends_the_process_and_says_why() -> None:
    manager = Manager((), 600)

    async def broken() -> None:
        raise ValueError("no more disk")

    manager.spawn("liveness", forever())
    manager.spawn("events", broken())
    await asyncio.wait_for(manager.stopping.wait(), PATIENCE)
    assert manager.fault == "events ended: ValueError('no more disk')"
    await manager.stop()


async def test_a_start_that_is_done_ends_nothing() -> None:
    manager = Manager((), 600)
    manager.spawn_once(asyncio.sleep(0))
    await asyncio.sleep(0.01)
    assert not manager.stopping.is_set()
    await manager.stop()


async def test_a_start_that_fails_ends_the_process() -> None:
    manager = Manager((), 600)

    async def start() -> None:
        raise OSError("port in use")

    manager.spawn_once(start())
    await asyncio.wait_for(manager.stopping.wait(), PATIENCE)
    assert "port in use" in manager.fault
    await manager.stop()


async def test_the_leader_runs_controllers_after_the_callbacks_and_keeps_the_lease() -> None:
    manager, order = Manager((), 600), []

    async def run() -> None:
        order.append("controller")

    manager.on_leading.append(lambda: order.append("callback"))
    manager.leaders.append(run)
    leading = asyncio.create_task(manager.lead())
    await eventually(lambda: len(order) == 2)
    assert order == ["callback", "controller"]
    assert not leading.done()
    leading.cancel()
    await asyncio.wait({leading})


def test_the_first_component_that_is_not_ready_says_so() -> None:
    manager = Manager((), 600)
    assert manager.unready() is None
    manager.ready_checks += [lambda: None, lambda: "pods are not listed yet", lambda: "later"]
    assert manager.unready() == "pods are not listed yet"


class ListingClient:
    """An API server that has one pod, and answers every watch with silence."""

    def __init__(self) -> None:
        self.lists = 0

    async def get(self, path: str) -> Any:
        assert path == "/api/v1/pods"
        self.lists += 1
        pod = {"metadata": {"uid": "u", "name": "p", "resourceVersion": "3"}}
        return {"items": [pod], "metadata": {"resourceVersion": "5"}}


def informer(client: Any, received: list[Any]) -> Any:
    async def resync_periodically(_: float) -> None:
        page = await client.get("/api/v1/pods")
        received.extend(page["items"])
        await forever()

    return SimpleNamespace(
        client=client,
        resource=PODS,
        path="/api/v1/pods",
        handle=received.append,
        resync_periodically=resync_periodically,
    )


async def test_informers_list_where_kopf_watches() -> None:
    manager, client = Manager((), 600), ListingClient()
    received: list[Any] = []
    only = informer(client, received)
    manager.watch(only)
    manager.watch(only)  # another controller requires it too
    await eventually(lambda: len(received) == 1)
    assert client.lists == 1
    event = {"type": "ADDED", "object": {}}
    manager.informers.handle("", "pods", event)
    assert received[1:] == [event]
    await manager.stop()
    manager.informers.handle("", "pods", event)
    assert len(received) == 2


def test_a_resource_is_not_known_twice() -> None:
    informers = Informers()
    informers.add(informer(None, []))
    with pytest.raises(ValueError, match="pods have an informer already"):
        informers.add(informer(None, []))
