"""Random bytes: every connection ends in time, none allows an object, every fault has an id."""

import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_webhooks.admission import review
from dragoman_webhooks.request import UnreviewableError
from dragoman_webhooks.server import ServerLimits, WebhookServer
from tests.support.worlds.reviews import BODY, DENIED, REGISTRY, post
from tests.unit.examples import examples

pytestmark = pytest.mark.hostile("shapes of HTTP")

PATIENCE = 30.0
cases = settings(max_examples=examples(40), deadline=None)


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Run a webhook in a thread."""
    ready, ended = threading.Event(), threading.Event()
    found: list[tuple[str, int]] = []

    async def serve() -> None:
        server = WebhookServer(
            lambda: REGISTRY, lambda: None, tls=None, limits=ServerLimits(read_timeout=PATIENCE)
        )
        found.append(await server.start("127.0.0.1", 0))
        ready.set()
        await asyncio.to_thread(ended.wait)
        await server.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(PATIENCE)
    yield found[0]
    ended.set()
    thread.join(PATIENCE)


def sent(address: tuple[str, int], request: bytes) -> bytes:
    """Send bytes; return what comes back until the connection ends."""
    received = b""
    with socket.create_connection(address, timeout=PATIENCE) as wire:
        try:
            wire.sendall(request)
            wire.shutdown(socket.SHUT_WR)
            while piece := wire.recv(1 << 16):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # what came is there; the rest was not worth being read
    return received


def check_errors(received: bytes) -> None:
    """Check that internal errors carry an id, and that all else is HTTP."""
    assert received == b"" or received.startswith(b"HTTP/1.1 ")
    for fault in re.findall(rb"HTTP/1\.1 500 .*", received, re.DOTALL):
        assert re.search(rb"internal error; request [0-9a-f]{16}", fault)


@st.composite
def mutated(draw: st.DrawFn, original: bytes) -> bytes:
    """Change some bytes of a text: cut, repeat, replace, insert."""
    text = original
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        odd = draw(
            st.binary(max_size=6)
            | st.sampled_from(
                [b"", b"\x00", b"\r\n", b"\r\n\r\n", b'"', b"}", b"[" * 300, b"1e999"]
            )
            | st.just(text[start:end] * 2)
        )
        text = text[:start] + odd + text[end:]
    return text


HEAD = post(DENIED)[: -len(DENIED)]


@cases
@given(noise=st.binary(max_size=2000))
def test_noise_is_no_way_in(address: tuple[str, int], noise: bytes) -> None:
    received = sent(address, noise)
    check_errors(received)
    assert b'"allowed"' not in received


@cases
@given(head=mutated(HEAD))
def test_no_change_to_the_headers_lets_a_bad_config_in(
    address: tuple[str, int], head: bytes
) -> None:
    received = sent(address, head + DENIED)
    check_errors(received)
    assert b'"allowed":true' not in received


@cases
@given(body=mutated(DENIED) | mutated(BODY))
def test_a_changed_body_gets_the_verdict_on_what_it_says(
    address: tuple[str, int], body: bytes
) -> None:
    received = sent(address, post(body))
    check_errors(received)
    head, _, text = received.partition(b"\r\n\r\n")
    try:
        expected = review(body, REGISTRY)
    except UnreviewableError:
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b'"allowed"' not in text
    else:
        assert head.startswith(b"HTTP/1.1 200 ")
        assert text == expected.body
        document = json.loads(body.decode("utf-8", "surrogateescape"))
        assert json.loads(text)["response"]["uid"] == document["request"]["uid"]


@cases
@given(heads=st.lists(mutated(HEAD) | st.just(HEAD), min_size=2, max_size=4))
def test_nothing_gets_in_behind_another_request(
    address: tuple[str, int], heads: list[bytes]
) -> None:
    received = sent(address, b"".join(head + DENIED for head in heads))
    check_errors(received)
    assert b'"allowed":true' not in received
