"""The order of reviews: dear ones hold up at most each other; what is hopeless is told at once."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dragoman_webhooks import executor, metrics
from dragoman_webhooks.admission import Answer, answer
from dragoman_webhooks.executor import AT_ONCE, Overload, Reviewer
from dragoman_webhooks.server import Limits
from tests.unit.driverconfigs import builders as worlds
from tests.unit.webhooks.http.test_connection import post, response, wire
from tests.unit.webhooks.reviews import GOOD, Client, Json, claim, review, serving

WAITING = "dragoman_webhook_reviews_in_flight"
PAIRS = "self.all(x, self.all(y, x + y > 0))"
LIST = {
    "type": "array",
    "items": {"type": "integer"},
    "maxItems": 900,
    "x-kubernetes-validations": [{"rule": PAIRS}],
}
REGISTRY = worlds.registry(worlds.schema(worlds.config({"v": LIST, "level": {"type": "integer"}})))


def sized(count: int, name: int = 0) -> bytes:
    """Make a review of some steps for each pair of so many numbers."""
    made = claim({**worlds.KIND, "v": [1] * count, "level": name})
    return json.dumps(review(made)).encode()


def dear(name: int = 0) -> Json:
    return claim({**worlds.KIND, "v": [1] * 300, "level": name})


@contextmanager
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold up dear reviews until the event is set."""
    release = threading.Event()

    def slow(*given: Any) -> Answer:
        release.wait(30)
        return answer(*given)

    monkeypatch.setattr(executor, "answer", slow)
    yield release
    release.set()


async def until_waiting(count: int) -> None:
    """Wait until so many reviews wait for the thread."""
    async with asyncio.timeout(30):
        while metrics.REGISTRY.get_sample_value(WAITING) != count:  # noqa: ASYNC110 — a metric
            await asyncio.sleep(0.01)


async def posted(client: Client, body: Json) -> tuple[int, str | None]:
    """Send a review; returns the status and when to come again."""
    async with client.session.post(f"{client.url}/validate", json=body) as answered:
        return answered.status, answered.headers.get("Retry-After")


async def test_a_dear_review_has_the_verdict_that_it_would_have_alone() -> None:
    made = Reviewer(deadline=60, places=8)
    bodies = [sized(300, name) for name in range(4)]
    assert [made.at_once(body, REGISTRY) for body in bodies] == [None] * 4
    answers = await asyncio.gather(*(made.later(body, REGISTRY) for body in bodies))
    assert answers == [answer(body, REGISTRY) for body in bodies]
    assert [made.at_once(body, REGISTRY) for body in bodies] == answers
    made.close()


async def test_more_dear_reviews_than_can_be_made_in_time_are_told_at_once_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "LASTING", 20.0)
    monkeypatch.setattr(executor, "VAIN_SECONDS", 60.0)  # also where the machine is slow
    async with serving(REGISTRY, limits=Limits(deadline=50)) as client:
        with held_up(monkeypatch) as release:
            sent = [asyncio.create_task(posted(client, review(dear(n)))) for n in range(5)]
            ended = asyncio.as_completed(sent)
            assert [await next(ended) for _ in range(3)] == [(503, "1")] * 3
            release.set()
            assert [await one for one in ended] == [(200, None)] * 2


async def test_a_machine_on_which_no_dear_review_is_done_in_time_still_tries() -> None:
    made = Reviewer(deadline=60, places=8)
    made._lasting = 1000.0  # no machine at hand is as slow
    first = await made.later(sized(300), REGISTRY)
    assert first == answer(sized(300), REGISTRY)
    made.close()


async def test_other_reviews_pass_while_dear_ones_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = worlds.schema(worlds.config({"level": {"type": "nonsense"}}))
    large = {**claim(), "metadata": {"annotations": {"a": "x" * AT_ONCE}}}
    async with serving(REGISTRY, limits=Limits(deadline=60)) as client:
        with held_up(monkeypatch) as release:
            slow = [asyncio.create_task(posted(client, review(dear(n)))) for n in range(3)]
            await until_waiting(3)
            assert (await client.reviewed(review(claim(GOOD))))["allowed"] is True
            others = [asyncio.create_task(client.reviewed(review(one))) for one in (schema, large)]
            await until_waiting(5)
            release.set()
            # Two of the three are in front at most: the one under way and the one behind it.
            done: list[Any] = []
            for task in (*slow, *others):
                task.add_done_callback(done.append)
            await asyncio.gather(*slow, *others)
    assert done[-1] in slow
    assert [task.result()["allowed"] for task in others] == [False, True]


async def test_ordinary_reviews_come_at_once_however_many_dear_ones_were_tried() -> None:
    made = Reviewer(deadline=60, places=8)
    for name in range(60):
        assert made.at_once(sized(200, name), REGISTRY) is None
    assert made.at_once(sized(3), REGISTRY) == answer(sized(3), REGISTRY)
    # Between the two, whoever has to wait for the thread gets the same answer there.
    medium = sized(60)
    given = made.at_once(medium, REGISTRY) or await made.later(medium, REGISTRY)
    assert given == answer(medium, REGISTRY)
    made.close()


async def test_more_reviews_than_the_places_are_refused_and_later_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(REGISTRY, limits=Limits(deadline=60, waiting=1)) as client:
        with held_up(monkeypatch) as release:
            first = asyncio.create_task(posted(client, review(dear(1))))
            await until_waiting(1)
            assert await posted(client, review(dear(2))) == (503, "1")
            release.set()
            assert await first == (200, None)
        assert await posted(client, review(dear(2))) == (200, None)


async def test_a_client_that_leaves_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(REGISTRY, limits=Limits(deadline=60, waiting=2)) as client:
        with held_up(monkeypatch) as release:
            for name in range(4):
                async with wire(client) as (_, writer):
                    writer.write(post(sized(300, name)))
                    await until_waiting(1)
                await until_waiting(0)
            last = asyncio.create_task(posted(client, review(dear(9))))
            await until_waiting(1)
            release.set()
            assert await last == (200, None)


async def test_a_review_beyond_its_places_is_an_overload() -> None:
    made = Reviewer(deadline=60, places=0)
    with pytest.raises(Overload):
        await made.later(sized(300), REGISTRY)
    made.close()


async def test_requests_that_never_end_take_no_places() -> None:
    async with serving(limits=Limits(waiting=1, reading=30)) as client, wire(client) as (_, writer):
        writer.write(post()[:-10])
        async with wire(client) as (reader, other):
            other.write(post())
            assert (await response(reader))[0] == 200
