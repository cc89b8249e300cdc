"""What happens to connections at the worst moment: nothing hangs, and nothing is left behind."""

import asyncio
import gc
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dragoman.kube.http import pool as pools
from dragoman.kube.http.connection import Connection
from dragoman.kube.http.faults import WireError
from dragoman.kube.http.pool import Pool
from tests.controlplane.certificates import Authority
from tests.unit.kube.http.speaking import GET, answer, silent, speaking, then_close
from tests.unit.kube.http.test_transport import serving, trusting
from tests.unit.kube.scripted import eventually


class SlowContext(ssl.SSLContext):
    """Takes its time, in which a server can reset the connection that it is for."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        time.sleep(0.01)
        return super().wrap_bio(*args, **kwargs)


@contextmanager
def resetting() -> Iterator[int]:
    """Run a server that resets each connection as soon as it is made; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                accepted, _ = listening.accept()
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                accepted.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


async def test_a_server_that_resets_at_once_does_not_hold_up_the_end() -> None:
    with resetting() as port:
        pool = Pool(f"https://127.0.0.1:{port}", partial(SlowContext, ssl.PROTOCOL_TLS_CLIENT))
        for _ in range(5):
            with pytest.raises((WireError, OSError)):
                await pool.ask(GET, repeatable=True)
        async with asyncio.timeout(5):
            await pool.close()


async def test_a_question_does_not_outlive_its_pool() -> None:
    async with speaking(answer(b"1"), silent, answer(b"2")) as (speaker, pool):
        await pool.ask(GET, repeatable=True)
        waiting = asyncio.create_task(pool.ask(GET, repeatable=True))
        await eventually(lambda: len(speaker.requests) == 2)
        await pool.close()
        with pytest.raises(WireError):
            await waiting
        with pytest.raises(WireError, match="closed"):
            await pool.ask(GET, repeatable=True)
        assert speaker.connections == 1


async def test_a_connection_counts_as_closed_from_the_moment_it_is_closing() -> None:
    """Else the next question could be lost on it in the turn of the loop that is left."""
    loop = asyncio.get_running_loop()
    async with speaking(then_close()) as (speaker, _):
        transport, connection = await loop.create_connection(
            lambda: Connection(None, "", lambda _: None), "127.0.0.1", speaker.port
        )
        connection.write(GET)
        while not transport.is_closing():  # noqa: ASYNC110 — it is the one turn that matters
            await asyncio.sleep(0)
        assert connection.closed


async def test_a_reset_in_the_middle_of_a_write_is_an_error_and_the_pool_goes_on() -> None:
    async def impatient(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(100)
        writer.transport.abort()

    async with await asyncio.start_server(impatient, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        pool = Pool(f"http://127.0.0.1:{port}", lambda: None)
        post = b"POST / HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n" + bytes(9_000_000)
        for _ in range(2):
            with pytest.raises(WireError):
                await pool.ask(post, repeatable=False)
        await pool.close()


async def test_a_server_that_never_shakes_hands_is_given_up_and_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "CONNECT", 0.3)
    ended = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while await reader.read(1000):
                pass
        writer.close()
        ended.set()

    async with asyncio.timeout(5), await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        pool = Pool(f"https://127.0.0.1:{port}", ssl.create_default_context)
        with pytest.raises(WireError, match=f"no connection to {pool.server} in 0.3 s"):
            await pool.ask(GET, repeatable=True)
        await ended.wait()
        await pool.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return addresses by name, to be filled: there is no resolver that tests could ask."""
    known: dict[str, list[str]] = {}
    ask = socket.getaddrinfo

    def look_up(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        found = known.get(host, [host])
        return [one for address in found for one in ask(address, port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


async def test_one_address_of_a_name_that_hears_is_enough(names: dict[str, list[str]]) -> None:
    # On 127.0.0.2 nobody listens; on 127.0.0.3 connections hang, for nobody takes them on.
    names["several.example"] = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    async with speaking(answer(b"heard"), host="several.example") as (speaker, pool):
        with socket.socket() as hanging, socket.socket() as fills, socket.socket() as fills_too:
            hanging.bind(("127.0.0.3", speaker.port))
            hanging.listen(0)
            for filling in (fills, fills_too):
                filling.setblocking(False)
                filling.connect_ex(("127.0.0.3", speaker.port))
            assert (await pool.ask(GET, repeatable=True)).content == b"heard"


async def test_a_name_may_end_in_a_dot_as_resolvers_write_it(
    tmp_path: Path, names: dict[str, list[str]]
) -> None:
    authority = Authority(tmp_path)
    names["api.example."] = ["127.0.0.1"]
    server = serving(authority.serving("server", ("api.example",)))
    client = trusting(authority)
    async with speaking(answer(b"heard"), server=server, client=client, host="api.example.") as (
        _,
        pool,
    ):
        assert (await pool.ask(GET, repeatable=True)).content == b"heard"


async def test_a_question_that_is_given_up_in_a_handshake_leaves_nothing() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
    with resetting() as port:
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        pool = Pool(f"https://127.0.0.1:{port}", lambda: trust)
        for turns in range(30):
            asking = asyncio.create_task(pool.ask(GET, repeatable=True))
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait({asking})
            with suppress(asyncio.CancelledError):
                asking.exception()
        async with asyncio.timeout(5):
            await pool.close()
    await asyncio.sleep(0.05)
    gc.collect()
    assert complaints == []
