"""The order of reviews: expensive ones delay each other at most; hopeless ones are refused."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from dragoman_webhooks import executor, metrics
from dragoman_webhooks.admission import ReviewResult, review
from dragoman_webhooks.executor import INLINE_BYTES, Lane, ReviewExecutor
from dragoman_webhooks.server import ServerLimits
from dragoman_webhooks.targets import Matches
from dragoman_webhooks.turns import OverloadedError
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds import reviews as builders
from tests.support.worlds.reviews import GOOD, Json, claim, post
from tests.unit.webhooks.harness import Client, response, serving, wire

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
    return json.dumps(builders.review(made)).encode()


def expensive(name: int = 0) -> Json:
    return claim({**worlds.KIND, "v": [1] * 300, "level": name})


@contextmanager
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold up expensive reviews until the event is set."""
    release = threading.Event()

    def slow(*given: Any) -> ReviewResult:
        release.wait(30)
        return review(*given)

    monkeypatch.setattr(executor, "review", slow)
    yield release
    release.set()


@dataclass(frozen=True)
class Held:
    """Reviews of schemas that do not end.

    Attributes:
        started: Set when one runs.
        release: Set it to let them end.
    """

    started: threading.Event
    release: threading.Event


@contextmanager
def held_schemas(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Hold up reviews of schemas until `release` is set."""
    held = Held(threading.Event(), threading.Event())

    def slow(body: bytes, *rest: Any) -> ReviewResult:
        if b"driverconfigschemas" in body:
            held.started.set()
            held.release.wait(30)
        return review(body, *rest)

    monkeypatch.setattr(executor, "review", slow)
    yield held
    held.release.set()


async def until_waiting(count: int) -> None:
    """Wait until so many reviews wait for a thread."""
    async with asyncio.timeout(30):
        while metrics.REGISTRY.get_sample_value(WAITING) != count:  # noqa: ASYNC110 — a metric
            await asyncio.sleep(0.01)


async def posted(client: Client, body: Json) -> tuple[int, str | None]:
    """Send a review; returns the status and when to retry."""
    async with client.session.post(f"{client.url}/validate", json=body) as answered:
        return answered.status, answered.headers.get("Retry-After")


async def test_an_expensive_review_has_the_verdict_that_it_has_alone() -> None:
    made = ReviewExecutor(deadline=60, places=8)
    bodies = [sized(300, name) for name in range(4)]
    assert [made.inline(body, REGISTRY) for body in bodies] == [Lane.EXPENSIVE] * 4
    results = await asyncio.gather(
        *(made.queued(body, REGISTRY, Lane.EXPENSIVE) for body in bodies)
    )
    assert results == [review(body, REGISTRY) for body in bodies]
    assert [made.inline(body, REGISTRY) for body in bodies] == results
    made.close()


async def test_expensive_reviews_beyond_the_deadline_are_refused_before_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "EXPENSIVE_SECONDS", 20.0)
    async with serving(REGISTRY, limits=ServerLimits(deadline=50)) as client:
        with held_up(monkeypatch) as release:
            bodies = [builders.review(expensive(n)) for n in range(5)]
            sent = [asyncio.create_task(posted(client, body)) for body in bodies]
            await until_waiting(5)
            release.set()
            answers = [await one for one in asyncio.as_completed(sent)]
    assert sorted(answers, key=str) == [(200, None)] * 3 + [(503, "1")] * 2
    assert answers[-1] == (200, None)


async def test_one_expensive_review_is_tried_whatever_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "EXPENSIVE_SECONDS", 1000.0)
    made = ReviewExecutor(deadline=60, places=8)
    assert await made.queued(sized(300), REGISTRY, Lane.UNTRIED) == review(sized(300), REGISTRY)
    made.close()


async def test_other_reviews_pass_while_expensive_ones_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = worlds.schema(worlds.config({"level": {"type": "nonsense"}}))
    large = {**claim(), "metadata": {"annotations": {"a": "x" * INLINE_BYTES}}}
    async with serving(REGISTRY, limits=ServerLimits(deadline=60)) as client:
        with held_up(monkeypatch) as release:
            bodies = [builders.review(expensive(n)) for n in range(3)]
            slow = [asyncio.create_task(posted(client, body)) for body in bodies]
            await until_waiting(3)
            assert (await client.reviewed(builders.review(claim(GOOD))))["allowed"] is True
            others = [
                asyncio.create_task(client.reviewed(builders.review(one)))
                for one in (schema, large)
            ]
            await until_waiting(5)
            release.set()
            # At most two of the three are in front: the one that runs and the one behind it.
            done: list[Any] = []
            for task in (*slow, *others):
                task.add_done_callback(done.append)
            await asyncio.gather(*slow, *others)
    assert done[-1] in slow
    assert [task.result()["allowed"] for task in others] == [False, True]


@pytest.mark.hostile("schemas")
async def test_configs_do_not_wait_for_a_schema_that_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = builders.review(worlds.schema(worlds.config()))
    large = {**claim(), "metadata": {"annotations": {"a": "x" * INLINE_BYTES}}}
    async with serving(REGISTRY, limits=ServerLimits(deadline=60)) as client:
        with held_schemas(monkeypatch) as held:
            compiling = asyncio.create_task(client.reviewed(schema))
            await until_waiting(1)
            for document in (claim(GOOD), large, expensive()):
                assert (await client.reviewed(builders.review(document)))["allowed"] is True
            assert not compiling.done()
            held.release.set()
            assert (await compiling)["allowed"] is True


@pytest.mark.hostile("schemas")
async def test_schemas_are_refused_while_one_compiles_for_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "SCHEMA_PATIENCE", 0.0)
    schema = builders.review(worlds.schema(worlds.config()))
    async with serving(REGISTRY, limits=ServerLimits(deadline=60)) as client:
        with held_schemas(monkeypatch) as held:
            compiling = asyncio.create_task(client.reviewed(schema))
            await asyncio.to_thread(held.started.wait, 30)
            async with client.session.post(f"{client.url}/validate", json=schema) as refused:
                assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
                assert "another DriverConfigSchema is being compiled" in await refused.text()
            held.release.set()
            assert (await compiling)["allowed"] is True
        assert (await client.reviewed(schema))["allowed"] is True


@pytest.mark.hostile("schemas")
async def test_a_schema_whose_client_left_still_counts_as_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "SCHEMA_PATIENCE", 0.0)
    body = json.dumps(builders.review(worlds.schema(worlds.config()))).encode()
    made = ReviewExecutor(deadline=0.2, places=8)
    with held_schemas(monkeypatch) as held:
        with pytest.raises(TimeoutError):
            await made.queued(body, REGISTRY, Lane.SCHEMA)
        with pytest.raises(OverloadedError):
            await made.queued(body, REGISTRY, Lane.SCHEMA)
        held.release.set()
    made.close()


@pytest.mark.hostile("schemas")
async def test_a_flood_of_schemas_takes_no_places_of_configs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = builders.review(worlds.schema(worlds.config()))
    limits = ServerLimits(deadline=60, queued_reviews=executor.SCHEMA_PLACES + 1)
    async with serving(REGISTRY, limits=limits) as client:
        with held_schemas(monkeypatch) as held:
            flood = [
                asyncio.create_task(posted(client, schema))
                for _ in range(executor.SCHEMA_PLACES * 2)
            ]
            await until_waiting(executor.SCHEMA_PLACES)
            assert (await client.reviewed(builders.review(expensive())))["allowed"] is True
            held.release.set()
            answers = [await one for one in flood]
    accepted = answers.count((200, None))
    assert accepted >= executor.SCHEMA_PLACES
    assert accepted + answers.count((503, "1")) == len(flood)


@pytest.mark.hostile("targets")
async def test_reviews_of_targets_delay_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without devices to count, and where the object decides, targets need no thread at all."""
    release, started = threading.Event(), threading.Event()

    def count(_: Any) -> Matches:
        started.set()
        release.wait(30)
        return Matches(some=True, every=False, published=2)

    monkeypatch.setattr(executor, "SCHEMA_PATIENCE", 0.0)
    limits = ServerLimits(deadline=60, queued_reviews=2)
    async with serving(REGISTRY, limits=limits, count_devices=count) as client:
        flood = [
            asyncio.create_task(posted(client, target({"where": f"{one} > 0"})))
            for one in range(executor.TARGET_SHARE * 2)
        ]
        await asyncio.to_thread(started.wait, 30)
        schema = builders.review(worlds.schema(worlds.config()))
        for body in (schema, builders.review(claim(GOOD)), builders.review(expensive())):
            assert (await client.reviewed(body))["allowed"] is True
        assert (await client.reviewed(target({})))["allowed"] is False
        rule = target({"driver": "a"}, "DeviceTaintRule")
        assert (await client.reviewed(rule))["allowed"] is True
        release.set()
        answers = [await one for one in flood]
    assert answers.count((200, None)) == executor.TARGET_SHARE + 1
    assert answers.count((503, "1")) == executor.TARGET_SHARE - 1


def target(selector: Json, kind: str = "DeviceMaintenance") -> Json:
    """Return a review of a target."""
    group, plural, field = {
        "DeviceMaintenance": ("dragoman.dev", "devicemaintenances", "target"),
        "DeviceTaintRule": ("resource.k8s.io", "devicetaintrules", "deviceSelector"),
    }[kind]
    request = {
        "uid": "0a1b",
        "operation": "CREATE",
        "resource": {"group": group, "version": "v1", "resource": plural},
        "kind": {"kind": kind},
        "object": {"kind": kind, "metadata": {"name": "m"}, "spec": {field: selector}},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def test_ordinary_reviews_run_inline_however_many_expensive_ones_were_tried() -> None:
    made = ReviewExecutor(deadline=60, places=8)
    for name in range(60):
        assert made.inline(sized(200, name), REGISTRY) is Lane.EXPENSIVE
    assert made.inline(sized(3), REGISTRY) == review(sized(3), REGISTRY)
    made.close()


async def test_attempts_inline_are_brief_while_an_expensive_review_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = ReviewExecutor(deadline=60, places=8)
    assert isinstance(made.inline(sized(20), REGISTRY), ReviewResult)
    with held_up(monkeypatch) as release:
        running = asyncio.create_task(made.queued(sized(300), REGISTRY, Lane.UNTRIED))
        while not made._expensive:  # noqa: ASYNC110 — until its first attempt has ended
            await asyncio.sleep(0.01)
        assert made.inline(sized(20, name=1), REGISTRY) is Lane.UNTRIED
        assert isinstance(made.inline(sized(3), REGISTRY), ReviewResult)
        release.set()
        await running
    assert isinstance(made.inline(sized(20, name=2), REGISTRY), ReviewResult)
    made.close()


async def test_the_switch_interval_of_the_process_changes_only_during_a_review_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = sys.getswitchinterval()
    seen: list[float] = []

    def observed(*given: Any) -> ReviewResult:
        seen.append(sys.getswitchinterval())
        return review(*given)

    monkeypatch.setattr(executor, "review", observed)
    async with serving(REGISTRY) as client:
        await client.reviewed(builders.review(claim(GOOD)))
        assert sys.getswitchinterval() == before
        await client.reviewed(builders.review(worlds.schema(worlds.config())))
    assert seen[0] < before
    assert sys.getswitchinterval() == before


async def test_more_reviews_than_the_places_are_refused_and_later_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(REGISTRY, limits=ServerLimits(deadline=60, queued_reviews=1)) as client:
        with held_up(monkeypatch) as release:
            first = asyncio.create_task(posted(client, builders.review(expensive(1))))
            await until_waiting(1)
            assert await posted(client, builders.review(expensive(2))) == (503, "1")
            release.set()
            assert await first == (200, None)
        assert await posted(client, builders.review(expensive(2))) == (200, None)


async def test_a_client_that_leaves_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(REGISTRY, limits=ServerLimits(deadline=60, queued_reviews=2)) as client:
        with held_up(monkeypatch) as release:
            for name in range(4):
                async with wire(client) as (_, writer):
                    writer.write(post(sized(300, name)))
                    await until_waiting(1)
                await until_waiting(0)
            last = asyncio.create_task(posted(client, builders.review(expensive(9))))
            await until_waiting(1)
            release.set()
            assert await last == (200, None)


async def test_a_review_beyond_the_places_is_an_overload() -> None:
    made = ReviewExecutor(deadline=60, places=0)
    with pytest.raises(OverloadedError):
        await made.queued(sized(300), REGISTRY, Lane.UNTRIED)
    made.close()


async def test_incomplete_requests_take_no_places() -> None:
    limits = ServerLimits(queued_reviews=1, read_timeout=30)
    async with serving(limits=limits) as client, wire(client) as (_, writer):
        writer.write(post()[:-10])
        async with wire(client) as (reader, other):
            other.write(post())
            assert (await response(reader))[0] == 200
