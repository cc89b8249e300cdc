"""Connections are used again where that is safe, and ended where it is not."""

import asyncio

import pytest

from dragoman.kube.http import pool as pools
from dragoman.kube.http.faults import ConnectionLostError, WireError
from dragoman.kube.http.pool import Pool
from tests.unit.kube.http.speaking import (
    CHUNKED,
    GET,
    LAST,
    Say,
    answer,
    chunk,
    say,
    silent,
    speaking,
    then_break,
    then_close,
)
from tests.unit.kube.scripted import eventually


async def contents(pool: Pool, count: int) -> list[bytes]:
    """Ask so often, one after the other."""
    return [(await pool.ask(GET, repeatable=False)).content for _ in range(count)]


async def test_one_connection_carries_one_question_after_the_other() -> None:
    script = answer(b"1"), CHUNKED + chunk(b"2") + LAST, answer(b"3", status=b"404 Not Found")
    async with speaking(*script) as (speaker, pool):
        assert await contents(pool, 3) == [b"1", b"2", b"3"]
        assert speaker.connections == 1


async def test_questions_at_the_same_time_have_connections_of_their_own() -> None:
    async with speaking(*[answer(b"x")] * 8) as (speaker, pool):
        await asyncio.gather(*(pool.ask(GET, repeatable=False) for _ in range(4)))
        await asyncio.gather(*(pool.ask(GET, repeatable=False) for _ in range(4)))
        assert speaker.connections == 4


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(then_close(answer(b"1")), id="is closed by the server"),
        pytest.param(answer(b"1", b"Connection: close"), id="the server wants to close"),
        pytest.param(
            then_close(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1"), id="speaks HTTP/1.0"
        ),
        pytest.param(
            say(answer(b"1"), answer(b"not asked for"), apart=0.05),
            id="says what nobody has asked for",
        ),
        pytest.param(answer(b"1") + answer(b"not asked for"), id="gives two answers to one"),
    ],
)
async def test_no_second_question_is_asked_where_it(first: Say | bytes) -> None:
    async with speaking(first, answer(b"2")) as (speaker, pool):
        assert (await pool.ask(GET, repeatable=False)).content == b"1"
        await asyncio.sleep(0.2)
        assert (await pool.ask(GET, repeatable=False)).content == b"2"
        assert speaker.connections == 2


@pytest.mark.parametrize(
    "ends", [pytest.param(then_break(), id="resets"), pytest.param(then_close(), id="closes")]
)
async def test_a_kept_connection_that_dies_is_no_reason_not_to_read(ends: Say) -> None:
    async with speaking(answer(b"1"), ends, answer(b"2")) as (speaker, pool):
        assert await contents(pool, 1) == [b"1"]
        assert (await pool.ask(GET, repeatable=True)).content == b"2"
        assert speaker.connections == 2


@pytest.mark.parametrize(
    ("ends", "error"),
    [
        pytest.param(then_break(), ConnectionLostError, id="before an answer"),
        pytest.param(then_break(b"HTTP/1.1 2"), WireError, id="in the middle of an answer"),
    ],
)
async def test_a_write_whose_connection_dies_is_not_repeated(
    ends: Say, error: type[WireError]
) -> None:
    async with speaking(answer(b"1"), ends, answer(b"2")) as (speaker, pool):
        assert await contents(pool, 1) == [b"1"]
        with pytest.raises(error):
            await pool.ask(GET, repeatable=False)
        assert len(speaker.requests) == 2


async def test_a_read_that_dies_on_a_fresh_connection_is_not_repeated_for_ever() -> None:
    async with speaking(then_break(), then_break(), answer(b"late")) as (speaker, pool):
        with pytest.raises(WireError):
            await pool.ask(GET, repeatable=True)
        assert len(speaker.requests) == 1


async def test_nobody_gets_the_answer_to_a_question_that_was_given_up() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        await say(answer(b"late"))(writer)

    async with speaking(late, answer(b"second")) as (speaker, pool):
        given_up = asyncio.create_task(pool.ask(GET, repeatable=False))
        await eventually(lambda: len(speaker.requests) == 1)
        given_up.cancel()
        assert (await pool.ask(GET, repeatable=False)).content == b"second"
        assert speaker.connections == 2


async def test_connections_that_nobody_needs_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE", 0.2)
    monkeypatch.setattr(pools, "TICK", 0.05)
    async with speaking(answer(b"1"), answer(b"2")) as (speaker, pool):
        assert await contents(pool, 1) == [b"1"]
        await asyncio.sleep(0.5)
        assert await contents(pool, 1) == [b"2"]
        assert speaker.connections == 2


async def test_no_more_connections_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE_LIMIT", 2)
    async with speaking(*[answer(b"x")] * 10) as (speaker, pool):
        await asyncio.gather(*(pool.ask(GET, repeatable=False) for _ in range(5)))
        await asyncio.gather(*(pool.ask(GET, repeatable=False) for _ in range(5)))
        assert speaker.connections == 8


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("http://127.0.0.1:9", id="nobody listens"),
        pytest.param("http://no.such.host.invalid", id="a name that is none"),
        pytest.param("http://127.0.0.1:99999", id="a port that is none"),
        pytest.param("http://" + "x" * 70, id="a name that is too long"),
        pytest.param("http://", id="no name at all"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_an_error(server: str) -> None:
    pool = Pool(server, lambda: None)
    with pytest.raises((WireError, OSError)):
        await pool.ask(GET, repeatable=True)
    await pool.close()


async def test_closing_ends_what_is_asked_and_what_is_kept() -> None:
    async with speaking(answer(b"1"), silent) as (speaker, pool):
        assert await contents(pool, 1) == [b"1"]
        waiting = asyncio.create_task(pool.ask(GET, repeatable=False))
        await eventually(lambda: len(speaker.requests) == 2)
        await pool.close()
        with pytest.raises(WireError):
            await waiting
