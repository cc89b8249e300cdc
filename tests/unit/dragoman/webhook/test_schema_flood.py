"""Reviews of expensive schemas, as many as a client can send, beside honest reviews of configs."""

import asyncio
import gc
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import pytest

from dragoman_webhooks import executor
from dragoman_webhooks.admission import review_costly
from dragoman_webhooks.cache import Caches
from tests.support.hostile import Tries, scaled
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds import reviews as builders
from tests.support.worlds.reviews import GOOD, REGISTRY, claim, post
from tests.unit.dragoman.webhook.process import Webhook, webhook
from tests.unit.webhooks.harness import Wire, response

pytestmark = pytest.mark.hostile("schemas")
CHART_LIMIT = 512
"""MiB of the chart's limit for the webhook."""
CLIENTS = 12
LONGEST_TURN = 50
"""Milliseconds by which a review of a schema may delay a review of a config."""
QUIET_TURNS = 200
"""Turns without work of the review after which it has ended."""
DIFFERENT = 40
"""Schemas that are sent in turn; none of their results is cached."""
Json = dict[str, Any]


def patterns(number: int) -> Json:
    """Return properties with a pattern each, which RE2 compiles slowly."""
    return {
        f"p{one}": {"type": "string", "pattern": rf"\pL{{{20 + one % 7}}}{number}-{one}"}
        for one in range(400)
    }


def rules(number: int) -> Json:
    """Return a text with rules whose regular expressions are slow to compile."""
    texts = [f"self.matches('\\\\pL{{100}}{number}-{one}')" for one in range(90)]
    return {"v": {"type": "string", "x-kubernetes-validations": [{"rule": one} for one in texts]}}


def defaults(_: int) -> Json:
    """Return objects with defaults at every level."""
    schema: Json = {"type": "integer", "default": 1}
    for _ in range(28):
        schema = {"type": "object", "default": {}, "properties": {"a": schema, "b": schema}}
        if len(json.dumps(schema)) > 200_000:
            break
    return {"v": schema}


def loops(number: int) -> Json:
    """Return lists with rules that loop over each other."""
    rule = f"self.all(x, self.all(y, self.all(z, x + y + z > {number})))"
    numbers = {"type": "array", "maxItems": 9, "items": {"type": "integer"}}
    return {
        f"v{one}": {**numbers, "x-kubernetes-validations": [{"rule": rule}]} for one in range(60)
    }


SHAPES: tuple[Callable[[int], Json], ...] = (patterns, rules, defaults, loops)


def schema(number: int) -> bytes:
    """Return the review of an expensive schema that no earlier one equals."""
    config = worlds.config(SHAPES[number % len(SHAPES)](number))
    return json.dumps(builders.review(worlds.schema(config))).encode()


async def connect(running: Webhook) -> Wire:
    """Open a connection."""
    context = ssl.create_default_context(cadata=running.ca)
    return await asyncio.open_connection("127.0.0.1", running.port, ssl=context)


async def honest(running: Webhook, count: int) -> list[float]:
    """Review so many different configs one after the other; return the milliseconds of each."""
    reader, writer = await connect(running)
    taken = []
    for number in range(count):
        body = json.dumps(builders.review(claim({**GOOD, "level": time.monotonic_ns() + number})))
        began = time.perf_counter()
        writer.write(post(body.encode()))
        status, text = await response(reader)
        taken.append((time.perf_counter() - began) * 1000)
        assert (status, json.loads(text)["response"]["allowed"]) == (200, True)
    # Not close(), which waits for the webhook's end of TLS: the event loop may end before.
    writer.transport.abort()
    return sorted(taken)


async def flood(running: Webhook, requests: Iterator[bytes], statuses: Counter[int]) -> None:
    """Send requests until cancelled."""
    while True:
        reader, writer = await connect(running)
        try:
            while True:
                writer.write(next(requests))
                statuses[(await response(reader))[0]] += 1
        except (ConnectionError, asyncio.IncompleteReadError):
            statuses[0] += 1
        finally:
            writer.transport.abort()


def figures(taken: list[float]) -> str:
    """Return median, 99th percentile and maximum."""
    return f"{taken[len(taken) // 2]:.1f}, {taken[len(taken) * 99 // 100]:.1f}, {taken[-1]:.1f} ms"


async def test_configs_are_reviewed_during_a_flood_of_schemas(tries: Tries) -> None:
    count = scaled(2000, least=100)
    statuses: Counter[int] = Counter()
    # Made before, because this process measures too.
    requests = cycle([post(schema(number)) for number in range(DIFFERENT)])
    async with webhook(CHART_LIMIT) as running:
        calm = await honest(running, count)
        clients = [asyncio.create_task(flood(running, requests, statuses)) for _ in range(CLIENTS)]
        while not statuses:  # noqa: ASYNC110 — until the first schema is answered
            await asyncio.sleep(0.05)
        flooded = await honest(running, count)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        tries(max(1, statuses.total()))
        peak = running.peak()
    print(
        f"\n{statuses.total()} schemas {dict(statuses)}: configs (median, p99, maximum) "
        f"{figures(calm)} calm, {figures(flooded)} beside them; {peak:.0f} MiB"
    )
    assert statuses.keys() <= {200, 503}


@pytest.fixture
def frozen() -> Iterator[None]:
    """Exempt the heap of all tests from garbage collection, as the webhook does with its own."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("shape", range(len(SHAPES)), ids=[one.__name__ for one in SHAPES])
def test_a_review_of_a_schema_never_keeps_the_event_loop_from_its_turn(shape: int) -> None:
    """Measured as processor time of the review between two turns.

    A busy machine may wake the other thread late, which makes a turn longer: the shortest of some
    measurements counts.
    """
    body = schema(shape)
    longest = longest_turn(body)
    for _ in range(4):
        if longest >= LONGEST_TURN:
            longest = min(longest, longest_turn(body))
    print(f"\n{SHAPES[shape].__name__}: at most {longest:.1f} ms between two turns")
    assert longest < LONGEST_TURN


def longest_turn(body: bytes) -> float:
    """Return the most milliseconds of a review that pass between two turns of another thread."""
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.wait()
        with executor._SWITCHING.often():
            review_costly(body, REGISTRY, Caches())
        ended.wait()

    thread = threading.Thread(target=work)
    thread.start()
    clock = time.pthread_getcpuclockid(thread.ident or 0)
    began.set()
    turns, idle, last = [], 0, time.clock_gettime(clock)
    while idle < QUIET_TURNS:
        time.sleep(0.0005)
        now = time.clock_gettime(clock)
        turns.append((now - last) * 1000)
        idle = idle + 1 if now == last else 0
        last = now
    ended.set()
    thread.join()
    return max(turns)
