"""Reviews of expensive targets, as many as clients can send, beside honest reviews."""

import asyncio
import json
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.support.hostile import Tries, scaled
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds import reviews as builders
from tests.support.worlds.reviews import GOOD, claim, post
from tests.unit.dragoman.webhook.process import Webhook, webhook
from tests.unit.dragoman.webhook.test_schema_flood import CHART_LIMIT, figures
from tests.unit.webhooks.harness import Wire, response
from tests.unit.webhooks.test_executor import target

pytestmark = pytest.mark.hostile("targets")
CLIENTS = 4
DEVICES = 4000
API_SERVER = "127.0.0.2"
"""Address of honest clients; the flood comes from 127.0.0.1."""
ID = 'device.attributes["gpu.example.com"].id'
LOOP = "[0,1,2,3,4,5,6,7,8,9]"
Json = dict[str, Any]
LONG = " && ".join(f"{ID} != {one}" for one in range(150))


def expensive(number: int) -> str:
    """Return an expression that no device meets, and that no earlier one equals."""
    loops = "true"
    for depth in range(1 + number % 6):
        loops = f"{LOOP}.all(x{depth}, {loops})"
    shapes = (
        f"{ID} < {-number} && {loops}",
        f"{loops} && {ID} < {-number}",
        f"{LONG} && {ID} < {-number}",
        f"('a' + string({ID})).matches('(a?){{50}}a{{50}}{number}')",
        f"[{ID}].map(x, x * 2).exists(x, {loops} && x < {-number})",
    )
    return shapes[number % len(shapes)]


async def connect(running: Webhook, address: str) -> Wire:
    """Open a connection from an address."""
    context = ssl.create_default_context(cadata=running.ca)
    return await asyncio.open_connection(
        "127.0.0.1", running.port, ssl=context, local_addr=(address, 0)
    )


def review_of(kind: str, number: int) -> Json:
    """Return an honest review that no earlier one equals."""
    match kind:
        case "schema":
            return builders.review(worlds.schema(worlds.config()))
        case "config":
            return builders.review(claim({**GOOD, "level": time.monotonic_ns()}))
        case "target":
            return target({"where": f"{ID} == {number}"})
        case _:
            return target({"driver": "gpu.example.com"}, "DeviceTaintRule")


async def honest(running: Webhook, kind: str, reviews: int) -> list[float]:
    """Send reviews one after the other; return the milliseconds of each."""
    reader, writer = await connect(running, API_SERVER)
    taken = []
    for number in range(reviews):
        body = review_of(kind, number)
        began = time.perf_counter()
        writer.write(post(json.dumps(body).encode()))
        status, text = await response(reader)
        taken.append((time.perf_counter() - began) * 1000)
        assert (status, json.loads(text)["response"]["allowed"]) == (200, True), text
    writer.transport.abort()
    return sorted(taken)


async def flood(running: Webhook, numbers: Iterator[int], statuses: Counter[int]) -> None:
    """Send expensive targets until cancelled."""
    while True:
        reader, writer = await connect(running, "127.0.0.1")
        try:
            while True:
                body = target({"where": expensive(next(numbers))})
                writer.write(post(json.dumps(body).encode()))
                statuses[(await response(reader))[0]] += 1
        except (ConnectionError, asyncio.IncompleteReadError):
            statuses[0] += 1
        finally:
            writer.transport.abort()


async def test_others_are_reviewed_during_a_flood_of_targets(tries: Tries) -> None:
    kinds = {"config": 2000, "schema": 100, "target": 20, "rule": 2000}
    statuses: Counter[int] = Counter()
    numbers = count(1)
    async with webhook(CHART_LIMIT, DEVICES) as running:
        calm = {
            kind: await honest(running, kind, scaled(most, least=5)) for kind, most in kinds.items()
        }
        clients = [asyncio.create_task(flood(running, numbers, statuses)) for _ in range(CLIENTS)]
        while not statuses:  # noqa: ASYNC110 — until the first target is answered
            await asyncio.sleep(0.05)
        flooded = {kind: await honest(running, kind, len(taken)) for kind, taken in calm.items()}
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        tries(max(1, statuses.total()))
        peak = running.peak()
    print(f"\n{statuses.total()} targets {dict(statuses)}, {peak:.0f} MiB (median, p99, maximum)")
    for kind in kinds:
        print(f"{kind}: {figures(calm[kind])} calm, {figures(flooded[kind])} beside them")
    assert statuses.keys() <= {200, 503}
