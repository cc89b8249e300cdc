"""Informers of one resource share one watch, also those of controllers that start later."""

import asyncio
from types import SimpleNamespace
from typing import Any

import orjson

from dragoman.kube.manager import Manager
from dragoman.kube.resources import PODS
from dragoman.kube.storing import storing_informer
from dragoman.model import Pod
from tests.unit.kube.fakes import eventually


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "3"}}


class Server:
    """An API server with one pod, which counts lists and watches."""

    def __init__(self) -> None:
        self.lists = 0
        self.watches: list[asyncio.Queue[bytes]] = []

    async def get(self, _: str, **__: str) -> Any:
        self.lists += 1
        return {"items": [pod("first")], "metadata": {"resourceVersion": "5"}}

    async def lines(self, _: str, query: dict[str, str], __: Any) -> Any:
        if "sendInitialEvents" in query:
            yield orjson.dumps({"type": "ADDED", "object": pod("first")})
            end = {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": "5"}
            yield orjson.dumps({"type": "BOOKMARK", "object": {"metadata": end}})
            return
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.watches.append(queue)
        while True:
            yield await queue.get()


async def test_an_informer_that_joins_lists_once_and_opens_no_second_watch() -> None:
    server: Any = Server()
    manager: Any = None

    async def handle(event: Any, **_: Any) -> None:
        manager.informers.handle("", "pods", event)

    selector = SimpleNamespace(group="", any_name="pods")
    manager = Manager([SimpleNamespace(selector=selector, fn=handle)], 600)
    early = storing_informer(server, PODS, Pod.parse)
    manager.watch(early)
    await eventually(lambda: len(server.watches) == 1)
    late = storing_informer(server, PODS, Pod.parse)
    manager.watch(late)
    await eventually(late.synced.is_set)
    assert late.store.get("ns", "first") is not None
    await server.watches[0].put(orjson.dumps({"type": "ADDED", "object": pod("second")}))
    await eventually(lambda: all(one.store.get("ns", "second") for one in (early, late)))
    assert (server.lists, len(server.watches)) == (1, 1)
    await manager.stop()
