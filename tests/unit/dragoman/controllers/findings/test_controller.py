"""The findings controller: which metrics and Events follow from what the API server has."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman import metrics
from dragoman.controllers.context import Context
from dragoman.controllers.findings import controller as module
from dragoman.controllers.findings.controller import FindingsController, concerns_devices, diagnose
from dragoman.doctor.finding import Id
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from tests.support.apiserver import ApiServer, Place
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import World, cases


class Server(ApiServer):
    """An API server as far as the controller sees it.

    Attributes:
        refused: Plurals that may not be listed.
        failing: Whether every request fails.
    """

    def __init__(self, manifests: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.refused: set[str] = set()
        self.failing = False
        self.fail = self._refusal
        self.store(*manifests)

    @property
    def posted(self) -> list[Json]:
        return self.of("events")

    @property
    def lists(self) -> int:
        return sum(number for name, number in self.requests.items() if name.startswith("LIST"))

    def _refusal(self, _: str, place: Place) -> ApiError | None:
        if self.failing:
            return ApiError(0, "NoAnswer", "down")
        if place.plural in self.refused:
            return ApiError(403, "Forbidden", f"{place.plural} is forbidden")
        return None


@asynccontextmanager
async def running(
    server: Server, *, leading: bool = True, interval: float = 0.01
) -> AsyncIterator[FindingsController]:
    client: Any = server
    recorder = EventRecorder(client)
    controller = FindingsController(Context(client, recorder, lambda: leading), interval)
    tasks = [asyncio.create_task(one.run()) for one in (recorder, controller)]
    try:
        yield controller
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        metrics.FINDINGS.clear()


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 — the condition is a metric or a list
            await asyncio.sleep(0.005)


def count(key: Id) -> float | None:
    return metrics.REGISTRY.get_sample_value("dragoman_findings", {"finding": str(key)})


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TICK", 0.005)


def lost() -> tuple[Json, ...]:
    return next(one for one in cases() if one.id is Id.DEVICE_LOST).bad


async def test_findings_are_counted_and_posted_once() -> None:
    server = Server(lost())
    async with running(server):
        await until(lambda: server.posted)
        before = server.lists
        await until(lambda: server.lists > before + 20)  # two further examinations
        assert count(Id.DEVICE_LOST) == 1
        assert count(Id.POOL_INVALID) == 0
    [event] = server.posted
    assert event["reason"] == "DeviceLost"
    assert event["regarding"]["name"] == "claim"
    assert event["metadata"]["namespace"] == "w2"
    assert "is in no slice; pod pod has no controller: save its manifest" in event["note"]


async def test_a_finding_that_returns_is_posted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.kube.events.REPEAT_AFTER", 0.0)
    server = Server(lost())
    async with running(server):
        await until(lambda: len(server.posted) == 1)
        for place in [one for one in server.objects if one.plural != "events"]:
            server.remove(place)
        await until(lambda: count(Id.DEVICE_LOST) == 0)
        server.store(*lost())
        await until(lambda: len(server.posted) == 2)


async def test_a_follower_neither_counts_nor_posts() -> None:
    server = Server(lost())
    async with running(server, leading=False):
        await asyncio.sleep(0.1)
    assert server.lists == 0
    assert count(Id.DEVICE_LOST) is None


async def test_an_outage_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Backoff", type("B", (), {"next": lambda *_: 0.01}))
    server = Server(lost())
    server.failing = True
    async with running(server):
        await asyncio.sleep(0.05)
        server.failing = False
        await until(lambda: server.posted)


async def test_what_may_not_be_listed_leaves_the_other_findings() -> None:
    server = Server(lost())
    server.refused = {"nodes", "validatingwebhookconfigurations"}
    async with running(server):
        await until(lambda: count(Id.DEVICE_LOST) == 1)


async def test_events_name_no_claims_of_other_namespaces() -> None:
    server = Server(next(one for one in cases() if one.id is Id.SHARE_OVER_CAPACITY).bad)
    async with running(server):
        await until(lambda: server.posted)
    [event] = [one for one in server.posted if one["reason"] == "ShareOverCapacity"]
    assert event["regarding"]["kind"] == "ResourceSlice"
    assert "share-1" not in event["note"]
    assert "125% of memory is allocated" in event["note"]


def test_pods_without_devices_are_not_kept() -> None:
    world = World("w")
    plain = world.pod()
    assert not concerns_devices("pods", plain)
    assert concerns_devices("pods", world.pod(claims={"gpu": "claim"}))
    assert concerns_devices("pods", world.plugin(0))
    plain["status"]["extendedResourceClaimStatus"] = {"resourceClaimName": "x"}
    assert concerns_devices("pods", plain)
    assert concerns_devices("nodes", world.node())


def test_an_unknown_release_is_examined_as_the_newest_known() -> None:
    whole = builders.snapshot(*lost())
    later = type(whole)(whole.taken, "v1.99.0", whole.objects)
    assert [one.id for one in diagnose(later)[0].findings] == [Id.DEVICE_LOST]


async def test_an_examination_keeps_no_process_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At exit, Python waits for threads that are not daemons."""
    threads: list[threading.Thread] = []
    diagnose = module.diagnose

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return diagnose(*arguments)

    monkeypatch.setattr(module, "diagnose", noted)
    async with running(Server(lost())):
        await until(lambda: threads)
    assert threads[0] is not threading.main_thread()
    assert threads[0].daemon
