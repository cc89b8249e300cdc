"""Bodies of hostile shapes take a bounded amount of memory, one at a time and many at once."""

import asyncio
import json
import ssl
import sys
from collections.abc import Callable

import pytest

from dragoman_webhooks.http.requests import BODY_LIMIT
from tests.support.hostile import scaled
from tests.support.worlds import reviews as builders
from tests.support.worlds.reviews import claim, post
from tests.unit.dragoman.webhook.process import MIB, Webhook, webhook

pytestmark = [
    pytest.mark.hostile("memory"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and limits RLIMIT_DATA"),
]
CHART_LIMIT = 512
"""MiB of the chart's limit for the webhook."""
BEYOND = 60
"""MiB that one body may take beside its own size."""

SHAPES: dict[str, tuple[Callable[[int], bytes], int]] = {
    "objects": (lambda count: b",".join([b'{"a":{}}'] * count), 85_000),
    "nested objects": (
        lambda count: b",".join([b'{"a":' * 100 + b"1" + b"}" * 100] * (count // 100)),
        145_000,
    ),
    "objects with keys of their own": (
        lambda count: b",".join(
            b'{"k%07d":{"m%07d":1.5}}' % (number, number) for number in range(count // 2)
        ),
        125_000,
    ),
    "arrays": (lambda count: b",".join([b"[" * 100 + b"]" * 100] * (count // 100)), 330_000),
    "fractions": (lambda count: b",".join([b"1.5"] * count), 440_000),
    "texts": (lambda count: b",".join([b'"abc"'] * count), 440_000),
}
"""Values by shape, and about as many of them as the estimate of their memory allows."""


def hostile(make: Callable[[int], bytes], count: int) -> bytes:
    """Make a review of 8 MiB with so many values in it."""
    body = json.dumps(builders.review(claim({"x": "@"}))).encode()
    body = body.replace(b'"@"', b"[" + make(count) + b"]")
    return body.replace(b"{", b"{" + b" " * (BODY_LIMIT - len(body)), 1)


async def sent(running: Webhook, request: bytes) -> int | None:
    """Send a request; return the status, or None if the connection ends without one."""
    context = ssl.create_default_context(cadata=running.ca)
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port, ssl=context)
    writer.write(request)
    try:
        line = await reader.readline()
    except ConnectionError:
        line = b""
    writer.transport.abort()
    return int(line.split()[1]) if line else None


async def test_one_body_takes_a_bounded_amount_of_memory_in_every_shape() -> None:
    async with webhook(CHART_LIMIT) as running:
        assert await sent(running, post()) == 200
        figures = {}
        for shape, (make, count) in SHAPES.items():
            running.forget_peak()
            before = running.peak()
            assert await sent(running, post(hostile(make, count))) == 200
            figures[shape] = running.peak() - before
    print({shape: f"{taken:.0f} MiB" for shape, taken in figures.items()})
    assert max(figures.values()) <= BEYOND + BODY_LIMIT / MIB


async def test_a_body_in_tiny_chunks_takes_about_its_own_size() -> None:
    count = scaled(100, least=20)
    chunks = b"2\r\nxx\r\n" * 16_000  # less than one read of the transport, so none is refused
    request = post(chunks, "Transfer-Encoding: chunked")
    async with webhook(CHART_LIMIT) as running:
        context = ssl.create_default_context(cadata=running.ca)
        opened = [
            await asyncio.open_connection("127.0.0.1", running.port, ssl=context)
            for _ in range(count)
        ]
        running.forget_peak()
        before = running.peak()
        for _, writer in opened:
            writer.write(request)
        assert await sent(running, post()) == 200
        taken = (running.peak() - before) / count
        for _, writer in opened:
            writer.transport.abort()
    print(f"{count} bodies of {len(chunks) >> 10} KiB in chunks: {taken * 1024:.0f} KiB each")
    assert taken < 0.5


@pytest.mark.slow
async def test_many_bodies_beside_idle_connections_stay_below_the_limit() -> None:
    shapes = [hostile(make, count) for make, count in SHAPES.values()]
    async with webhook(CHART_LIMIT) as running:
        context = ssl.create_default_context(cadata=running.ca)
        idle = [
            await asyncio.open_connection("127.0.0.1", running.port, ssl=context)
            for _ in range(400)
        ]
        requests = [post(shapes[number % len(shapes)]) for number in range(64)]
        statuses = await asyncio.gather(*(sent(running, request) for request in requests))
        # Those that did not fit were refused, or gave way to a larger one.
        assert set(statuses) <= {200, 503, None}
        assert 200 in statuses
        assert await sent(running, post()) == 200
        print(f"peak {running.peak():.0f} MiB, {statuses.count(200)} of 64 reviewed")
        assert running.peak() < CHART_LIMIT
        for _, writer in idle:
            writer.transport.abort()
