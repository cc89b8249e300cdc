"""When ResourcePoolStatusRequests are answered and deleted, with the clock injected."""

import asyncio
from typing import Any

import pytest

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.poolstatus import statuses
from dragoman.controllers.poolstatus.controller import PoolStatusController
from dragoman.inventory.poolstatus.status import PoolFacts, pool_statuses
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.resources import Resource
from tests.support.apiserver import ApiServer, Place
from tests.support.clusters import cluster_of
from tests.unit.dragoman.kube.virtual_time import in_virtual_time

REQUESTS = Resource("resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests")
CREATED = "2026-01-01T00:00:00Z"
T0 = 1767225600.0
Json = dict[str, Any]


class Api(ApiServer):
    """An API server that keeps one request and others, and whose statuses are written once."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[ApiError] = []
        self.fail = self._refusal
        self.store(request())

    def _refusal(self, asked: str, place: Place) -> ApiError | None:
        if not asked.startswith("PUT"):
            return None
        assert place.subresource == "status"
        if self.refusals:
            return self.refusals.pop()
        if "status" in self.objects[place._replace(subresource="")]:
            return ApiError(422, "Invalid", "field is immutable")
        return None

    @property
    def puts(self) -> int:
        return self.requests["PUT resourcepoolstatusrequests"]

    @property
    def body(self) -> Json:
        """The request `r` as it is stored."""
        return self.objects[Place("resourcepoolstatusrequests", "", "r")]

    @property
    def deleted(self) -> bool:
        return any(method == "DELETE" for method, _ in self.written)


def request(**status: Any) -> Json:
    metadata = {"name": "r", "uid": "u", "creationTimestamp": CREATED}
    found: Json = {
        "kind": "ResourcePoolStatusRequest",
        "metadata": metadata,
        "spec": {"driver": "d", "limit": 10},
    }
    return {**found, "status": status} if status else found


def a_slice(name: str, count: int = 1, driver: str = "d") -> Json:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": count}
    spec = {"driver": driver, "pool": pool, "devices": [{"name": name}]}
    return {"type": "ADDED", "object": {"metadata": {"name": name, "uid": name}, "spec": spec}}


class Setup:
    """A controller on the model, whose clock is that of the loop."""

    def __init__(self, *slices: Json, own: bool = True, leads: bool = True) -> None:
        self.api = Api()
        self.leads = leads
        loop = asyncio.get_running_loop()
        begin = loop.time()
        cluster = cluster_of(self.api, content=True)
        self.devices = cluster.part(DeviceStores)
        self.controller = PoolStatusController(
            Context(cluster.client, EventRecorder(cluster.client), lambda: self.leads),
            cluster,
            REQUESTS,
            own=own,
            clock=lambda: T0 + loop.time() - begin,
        )
        for one in slices:
            self.devices.slices.handle(one)
        self.devices.slices.synced.set()
        self.controller.informer.synced.set()
        self.controller.informer.handle({"type": "ADDED", "object": self.api.body})
        self.task = asyncio.create_task(self.controller.run())

    async def answered_within(self, seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return "status" in self.api.body


@in_virtual_time
async def test_own_answers_after_two_seconds_and_auto_after_ten() -> None:
    setup = Setup(a_slice("a"))
    assert not await setup.answered_within(1.5)
    assert await setup.answered_within(1)
    waiting = Setup(a_slice("a"), own=False)
    assert not await waiting.answered_within(9.5)
    assert await waiting.answered_within(1)
    assert waiting.api.puts == 1


@in_virtual_time
async def test_an_incomplete_pool_is_awaited_for_five_seconds() -> None:
    setup = Setup(a_slice("a", count=2))
    assert not await setup.answered_within(4.5)
    assert await setup.answered_within(1)
    assert "validationError" in setup.api.body["status"]["pools"][0]


@in_virtual_time
async def test_slices_that_come_just_after_the_request_are_in_the_answer() -> None:
    """The watch of slices may lag behind the watch of requests."""
    setup = Setup()
    assert not await setup.answered_within(0.5)
    setup.devices.slices.handle(a_slice("a"))
    assert not await setup.answered_within(0.5)
    setup.devices.slices.handle(a_slice("b", driver="another"))
    assert await setup.answered_within(1.5)
    assert setup.api.body["status"]["poolCount"] == 1


@in_virtual_time
async def test_many_requests_share_one_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str | None] = []

    def counted(facts: PoolFacts, *, attribute: str | None, views: bool) -> list[Json]:
        computed.append(attribute)
        return pool_statuses(facts, attribute=attribute, views=views)

    monkeypatch.setattr(statuses, "pool_statuses", counted)
    setup = Setup(a_slice("a"))
    for number in range(300):
        one = request()
        one["metadata"] |= {"name": f"r{number}", "uid": f"u{number}"}
        if number % 3 == 0:
            one["spec"]["poolName"] = "p" if number % 2 else "other"
        stored = setup.api.store(one)
        setup.controller.informer.handle({"type": "ADDED", "object": stored})
    await asyncio.sleep(8)
    answers = [one["status"]["poolCount"] for one in setup.api.of(REQUESTS.plural)[1:]]
    assert answers == [0 if one % 3 == 0 and one % 2 == 0 else 1 for one in range(300)]
    # When the first are due, and when those without a pool have waited for one.
    assert computed == [None, None]


@in_virtual_time
async def test_slices_that_change_all_the_time_delay_no_answer() -> None:
    setup = Setup(a_slice("a"))
    for number in range(100):
        changed = a_slice("a")
        changed["object"]["metadata"]["resourceVersion"] = str(number)
        setup.devices.slices.handle(changed)
        await asyncio.sleep(0.025)
    assert setup.api.puts == 1


@in_virtual_time
async def test_a_driver_without_pools_is_awaited_for_five_seconds() -> None:
    setup = Setup()
    assert not await setup.answered_within(4.5)
    assert await setup.answered_within(1)
    assert setup.api.body["status"]["poolCount"] == 0


@in_virtual_time
async def test_a_slice_wakes_the_request() -> None:
    setup = Setup(a_slice("a", count=2))
    setup.devices.slices.handle(a_slice("other", driver="another"))
    assert not await setup.answered_within(2.5)
    setup.devices.slices.handle(a_slice("b", count=2))
    assert await setup.answered_within(0.1)
    assert setup.api.body["status"]["pools"][0]["totalDevices"] == 2


@in_virtual_time
async def test_a_follower_does_not_answer() -> None:
    setup = Setup(a_slice("a"), leads=False)
    assert not await setup.answered_within(60)
    setup.leads = True
    assert await setup.answered_within(6)


@in_virtual_time
@pytest.mark.parametrize("code", [404, 409, 422])
async def test_a_refused_answer_is_tried_again_while_the_request_waits(code: int) -> None:
    """No event follows where a proxy or a webhook refused the write of an unchanged request."""
    setup = Setup(a_slice("a"))
    setup.api.refusals = [ApiError(code, "Refused", "not now")]
    await asyncio.sleep(30)
    assert setup.api.puts == 2
    assert setup.api.body["status"]["poolCount"] == 1


@in_virtual_time
async def test_the_answer_of_another_controller_is_not_overwritten() -> None:
    setup = Setup(a_slice("a"))
    setup.api.store(request(poolCount=7, pools=[], conditions=[]))
    await asyncio.sleep(60)
    assert setup.api.puts == 1
    assert setup.api.body["status"]["poolCount"] == 7


@pytest.mark.parametrize("own", [True, False])
def test_own_answers_are_deleted_after_an_hour(own: bool) -> None:
    @in_virtual_time
    async def run() -> bool:
        setup = Setup(a_slice("a"), own=own)
        assert await setup.answered_within(3000)
        assert not setup.api.deleted
        await asyncio.sleep(1300)
        return not setup.api.of(REQUESTS.plural)

    assert run() is own


@in_virtual_time
async def test_a_request_that_was_created_again_survives() -> None:
    setup = Setup(a_slice("a", count=2))
    setup.leads = False
    again = request()
    again["metadata"]["uid"] = "new"
    setup.api.store(again)
    await asyncio.sleep(86400 + 700)
    setup.leads = True
    await setup.controller.clean()
    assert setup.api.body["metadata"]["uid"] == "new"


@in_virtual_time
async def test_no_answer_is_older_than_its_request_where_clocks_differ() -> None:
    """The API server's clock is far behind, so that requests are due at once."""
    setup = Setup(a_slice("a"))
    await asyncio.sleep(20)
    newer = a_slice("a")
    newer["object"]["spec"]["devices"].append({"name": "b"})
    for name in ("earlier", "later"):
        late = request()
        late["metadata"] |= {"name": name, "uid": name}
        stored = setup.api.store(late)
        setup.controller.informer.handle({"type": "ADDED", "object": stored})
        await asyncio.sleep(1)
        setup.devices.slices.handle(newer)
    answered = setup.api.of(REQUESTS.plural)[1:]
    answers = [one["status"]["pools"][0]["totalDevices"] for one in answered]
    assert answers == [1, 2]


@in_virtual_time
async def test_a_clock_that_is_set_back_makes_no_answer_older() -> None:
    now = [1000.0]
    cluster = cluster_of(Api(), content=True)
    informers = cluster.part(DeviceStores)
    found = statuses.Statuses(cluster, views=True, clock=lambda: now[0])
    key = statuses.StatusKey("d", None)
    assert (await found.of(key, 1000.0)).pools == {}
    now[0] = 100.0
    informers.slices.handle(a_slice("a"))
    assert (await found.of(key, 100.0)).pools.keys() == {"p"}
