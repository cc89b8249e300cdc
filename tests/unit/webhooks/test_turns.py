"""Clients take turns in a thread, and a flood of one refuses no call of another."""

import asyncio
import threading

import pytest

from dragoman_webhooks.turns import FairThread, OverloadedError


class Work:
    """Calls of clients in a thread that waits for `go`.

    Attributes:
        order: The clients in the order of their turns.
    """

    def __init__(self, places: int = 32, share: int = 8) -> None:
        self.thread = FairThread("test", places=places, share=share)
        self.go = threading.Event()
        self.order: list[str] = []

    async def begin(self, client: str, calls: int = 1) -> list[asyncio.Task[str]]:
        """Make calls that wait until `go` is set."""

        def work() -> str:
            self.go.wait(30)
            self.order.append(client)
            return client

        begun = [asyncio.create_task(self.thread.run(client, work)) for _ in range(calls)]
        await asyncio.sleep(0.01)
        return begun


async def test_clients_take_turns() -> None:
    work = Work()
    calls = await work.begin("flood", 4) + await work.begin("api-server", 2)
    calls += await work.begin("other")
    assert work.thread.waiting == 7
    work.go.set()
    assert await asyncio.gather(*calls) == ["flood"] * 4 + ["api-server"] * 2 + ["other"]
    assert work.order == ["flood", "flood", "api-server", "other", "flood", "api-server", "flood"]
    assert work.thread.waiting == 0
    work.thread.close()


async def test_a_client_with_its_share_is_refused_and_others_are_not() -> None:
    work = Work(share=2)
    calls = await work.begin("flood", 3)
    for refused in await work.begin("flood", 2):
        with pytest.raises(OverloadedError):
            await refused
    calls += await work.begin("api-server", 2)
    work.go.set()
    assert len(await asyncio.gather(*calls)) == 5
    work.thread.close()


async def test_where_no_place_is_left_the_client_with_the_most_calls_loses_one() -> None:
    work = Work(places=3, share=3)
    running = await work.begin("flood")
    flood = await work.begin("flood", 3)
    (honest,) = await work.begin("api-server")
    with pytest.raises(OverloadedError):
        await flood[-1]
    (second,) = await work.begin("other")
    with pytest.raises(OverloadedError):
        await flood[-2]
    (refused,) = await work.begin("one-more")
    with pytest.raises(OverloadedError):
        await refused
    work.go.set()
    assert await asyncio.gather(*running, honest, second, flood[0])
    work.thread.close()


async def test_a_client_that_leaves_keeps_its_turn_until_its_work_ends() -> None:
    work = Work(share=1)
    (running,) = await work.begin("leaves")
    (waiting,) = await work.begin("leaves")
    (honest,) = await work.begin("api-server")
    for call in (waiting, running):
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert work.thread.waiting == 2
    assert not honest.done()
    (again,) = await work.begin("leaves")
    work.go.set()
    assert [await honest, await again] == ["api-server", "leaves"]
    work.thread.close()


async def test_an_error_ends_a_turn() -> None:
    thread = FairThread("test", places=1, share=1)

    def fail() -> None:
        raise ValueError("expected")

    for _ in range(2):
        with pytest.raises(ValueError, match="expected"):
            await thread.run("a", fail)
    assert thread.waiting == 0
    thread.close()


async def test_a_call_that_is_refused_while_its_client_leaves_passes_no_turn_on() -> None:
    work = Work(places=3)
    calls = await work.begin("flood", 4)
    makes_room = asyncio.create_task(work.begin("api-server"))
    await asyncio.sleep(0)  # its call begins after this step, and the other client leaves after it
    asyncio.get_running_loop().call_soon(calls[-1].cancel)
    calls += await makes_room
    assert work.thread.waiting == 4
    work.go.set()
    await asyncio.gather(*calls, return_exceptions=True)
    assert work.order == ["flood", "flood", "api-server", "flood"]
    work.thread.close()
