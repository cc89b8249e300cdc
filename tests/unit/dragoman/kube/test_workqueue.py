"""The work queue: nothing twice, nothing lost, nobody starved, patience with failures."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kube.workqueue import ACTIVE, WorkQueue
from dragoman.metrics import REGISTRY
from tests.unit.dragoman.kube.virtual_time import in_virtual_time, now
from tests.unit.examples import examples

LONG = 10_000.0


def queue(jitter: float = 0.5) -> WorkQueue[str]:
    """Return an open queue whose lanes are the keys' first letters; 0.5 is no jitter."""
    made: WorkQueue[str] = WorkQueue("test", lambda key: key[0], jitter=lambda: jitter)
    made.open()
    return made


async def next_key(work: WorkQueue[str], lane: str = "a", within: float = LONG) -> str | None:
    """Return the next key of a lane, or None when there is none within some seconds."""
    try:
        async with asyncio.timeout(within):
            return await work.get(lane)
    except TimeoutError:
        return None


async def drained(work: WorkQueue[str], lane: str = "a") -> list[tuple[float, str]]:
    """Return all keys that come, each with its time."""
    came = []
    while (key := await next_key(work, lane)) is not None:
        came.append((now(), key))
        work.done(key)
    return came


@in_virtual_time
async def test_a_key_that_waits_comes_once() -> None:
    work = queue()
    for key in ("a1", "a2", "a1", "a1"):
        work.add(key)
    assert await drained(work) == [(0, "a1"), (0, "a2")]


@in_virtual_time
async def test_the_depth_is_how_many_keys_wait_for_a_worker() -> None:
    def depth() -> float | None:
        return REGISTRY.get_sample_value("workqueue_depth", {"name": "test"})

    work = queue()
    for key in ("a1", "a2", "a3"):
        work.add(key)
    assert depth() == 3
    assert await next_key(work) == "a1"
    work.add("a1")
    assert depth() == 2, "one is at work, and comes again after that"
    work.done("a1")
    assert depth() == 3
    work.close()
    assert depth() == 0


@in_virtual_time
async def test_a_key_at_work_is_given_to_nobody_else_and_comes_again_once() -> None:
    work = queue()
    work.add("a1")
    assert await next_key(work) == "a1"
    work.add("a1")
    work.add("a1")
    assert await next_key(work, within=5.0) is None
    work.done("a1")
    assert await drained(work) == [(5.0, "a1")]


@in_virtual_time
@pytest.mark.hostile("fairness")
async def test_a_full_lane_does_not_delay_the_other() -> None:
    work = queue()
    for index in range(1000):
        work.add(f"a{index}")
    work.add("b1")
    assert await next_key(work, "b", within=0.001) == "b1"
    assert len(work) == 1000


def by_namespace(share: int = 2) -> WorkQueue[str]:
    """Return an open queue of keys `NAMESPACE/NAME`."""
    made: WorkQueue[str] = WorkQueue(
        "test", lambda _: "a", namespace=lambda key: key.split("/")[0], share=share
    )
    made.open()
    return made


@in_virtual_time
@pytest.mark.hostile("fairness")
async def test_namespaces_take_turns() -> None:
    work = by_namespace()
    for number in range(3000):
        work.add(f"crowd/{number}")
    work.add("honest/0")
    work.add("honest/1")
    first = [await next_key(work) for _ in range(4)]
    assert first == ["crowd/0", "honest/0", "crowd/1", "honest/1"]


@in_virtual_time
@pytest.mark.hostile("fairness")
async def test_a_namespace_gets_no_more_than_its_share_while_others_wait() -> None:
    work = by_namespace(share=2)
    for number in range(10):
        work.add(f"crowd/{number}")
    taken = [await next_key(work) for _ in range(2)]
    for number in range(4):
        work.add(f"honest/{number}")
    assert [await next_key(work) for _ in range(2)] == ["honest/0", "honest/1"]
    work.done(str(taken[0]))
    assert await next_key(work) == "crowd/2"


@in_virtual_time
async def test_a_namespace_that_is_alone_gets_every_worker() -> None:
    work = by_namespace(share=2)
    for number in range(5):
        work.add(f"crowd/{number}")
    assert [await next_key(work) for _ in range(5)] == [f"crowd/{n}" for n in range(5)]


@in_virtual_time
@pytest.mark.hostile("fairness")
async def test_workers_stay_free_for_a_namespace_that_was_active_a_moment_ago() -> None:
    work = by_namespace(share=2)
    work.add("honest/0")
    work.done(str(await next_key(work)))
    for number in range(5):
        work.add(f"crowd/{number}")
    assert [await next_key(work) for _ in range(2)] == ["crowd/0", "crowd/1"]
    assert await next_key(work, within=1.0) is None
    work.add("honest/1")
    assert await next_key(work, within=0.0) == "honest/1"
    work.done("honest/1")
    await asyncio.sleep(ACTIVE + 0.1)
    assert [await next_key(work) for _ in range(3)] == ["crowd/2", "crowd/3", "crowd/4"]


@in_virtual_time
async def test_a_worker_that_waits_gets_the_next_key_when_another_is_cancelled() -> None:
    work = queue()
    waiting = [asyncio.create_task(work.get("a")) for _ in range(3)]
    await asyncio.sleep(0)
    work.add("a1")
    waiting[0].cancel()
    await asyncio.sleep(0.1)
    assert [one.done() for one in waiting] == [True, True, False]
    assert waiting[1].result() == "a1"
    waiting[2].cancel()


@in_virtual_time
async def test_a_delayed_key_comes_at_its_time() -> None:
    work = queue()
    work.add_after("a1", 30.0)
    assert await next_key(work, within=29.0) is None
    assert work.delayed == 1
    assert await drained(work) == [(30.0, "a1")]


@in_virtual_time
async def test_of_several_times_the_earliest_holds() -> None:
    work = queue()
    for seconds in (30.0, 10.0, 20.0):
        work.add_after("a1", seconds)
    assert await drained(work) == [(10.0, "a1")]


@in_virtual_time
async def test_an_event_needs_no_patience_and_comes_once() -> None:
    work = queue()
    work.add_after("a1", 30.0)
    work.add("a1")
    assert await drained(work) == [(0, "a1")]


@in_virtual_time
async def test_a_waiting_key_is_not_put_off() -> None:
    work = queue()
    work.add("a1")
    work.add_after("a1", 30.0)
    assert await drained(work) == [(0, "a1")]


@in_virtual_time
async def test_a_key_at_work_can_ask_to_come_later() -> None:
    work = queue()
    work.add("a1")
    await next_key(work)
    work.add_after("a1", 3.0)
    work.done("a1")
    assert await drained(work) == [(3.0, "a1")]


@in_virtual_time
async def test_a_key_that_is_due_while_at_work_comes_right_after() -> None:
    work = queue()
    work.add("a1")
    await next_key(work)
    work.add_after("a1", 3.0)
    await asyncio.sleep(5.0)
    work.done("a1")
    assert await drained(work) == [(5.0, "a1")]


@in_virtual_time
async def test_a_closed_queue_holds_and_takes_nothing() -> None:
    work = queue()
    work.add("a1")
    work.add_after("a2", 1.0)
    work.close()
    work.add("a3")
    work.add_after("a4", 1.0)
    assert (len(work), work.delayed) == (0, 0)
    assert await drained(work) == []


@in_virtual_time
async def test_a_queue_takes_nothing_before_it_is_opened() -> None:
    work: WorkQueue[str] = WorkQueue("test", lambda key: key[0])
    work.add("a1")
    work.add_after("a2", 1.0)
    work.open()
    assert await drained(work) == []


@in_virtual_time
async def test_a_queue_can_be_opened_again() -> None:
    work = queue()
    work.add("a1")
    work.close()
    work.open()
    work.add("a2")
    assert await drained(work) == [(0, "a2")]


def delays(failures: int, jitter: float = 0.5) -> list[float]:
    """Return the delays of so many failures in a row, at most 60 seconds each."""

    @in_virtual_time
    async def fail() -> list[float]:
        work = queue(jitter)
        return [work.retry("a1", longest=60.0) for _ in range(failures)]

    return fail()


def test_delays_double() -> None:
    assert delays(5) == [0.005, 0.01, 0.02, 0.04, 0.08]


@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.999])
def test_delays_never_pass_the_longest(jitter: float) -> None:
    told = delays(60, jitter)
    assert max(told) <= 60.0
    assert min(told[30:]) >= 45.0


def test_jitter_spreads_delays_by_a_quarter_each_way() -> None:
    assert (delays(1, 0.0), delays(1, 1.0)) == ([0.00375], [0.00625])


@in_virtual_time
async def test_a_success_begins_anew_with_short_delays() -> None:
    work = queue()
    for _ in range(10):
        work.retry("a1", longest=60.0)
    work.forget("a1")
    assert work.retry("a1", longest=60.0) == 0.005


@in_virtual_time
async def test_failures_of_one_key_do_not_slow_down_another() -> None:
    work = queue()
    for _ in range(10):
        work.retry("a1", longest=60.0)
    assert work.retry("a2", longest=60.0) == 0.005


@in_virtual_time
async def test_a_server_that_asks_for_patience_gets_it() -> None:
    work = queue()
    assert work.retry("a1", longest=60.0, shortest=90.0) == 90.0
    assert await drained(work) == [(90.0, "a1")]


@in_virtual_time
async def test_an_event_wakes_a_key_in_the_middle_of_its_patience() -> None:
    work = queue()
    for _ in range(20):
        work.retry("a1", longest=300.0)
    work.add("a1")
    assert await drained(work) == [(0, "a1")]


@in_virtual_time
async def test_it_tells_whether_workers_are_at_it() -> None:
    work = queue()
    work.add("a1")
    await next_key(work)
    assert work.busy == 1
    assert work.longest_running() >= 0.0
    work.done("a1")
    assert (work.busy, work.longest_running()) == (0, 0.0)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "later", "fail", "pass"]),
        st.sampled_from(["a1", "a2", "b1"]),
        st.floats(0.0, 3.0),
    ),
    max_size=30,
)


@settings(max_examples=examples(40), deadline=None)
@given(steps=STEPS, durations=st.lists(st.floats(0.0, 2.0), min_size=1, max_size=5))
def test_no_key_is_lost_and_none_is_with_two_workers(
    steps: list[tuple[str, str, float]], durations: list[float]
) -> None:
    began: dict[str, list[float]] = {"a1": [], "a2": [], "b1": []}
    wanted: dict[str, float] = {}
    at_work: set[str] = set()

    async def worker(work: WorkQueue[str], lane: str) -> None:
        while True:
            key = await work.get(lane)
            assert key not in at_work
            at_work.add(key)
            began[key].append(now())
            await asyncio.sleep(durations[len(began[key]) % len(durations)])
            at_work.discard(key)
            work.done(key)

    @in_virtual_time
    async def play() -> None:
        work = queue()
        workers = [asyncio.create_task(worker(work, lane)) for lane in "aabb"]
        for step, key, seconds in steps:
            match step:
                case "add":
                    work.add(key)
                    wanted[key] = now()
                case "later":
                    work.add_after(key, seconds)
                    wanted[key] = now()
                case "fail":
                    work.retry(key, longest=5.0)
                    wanted[key] = now()
                case _:
                    await asyncio.sleep(seconds)
        await asyncio.sleep(100.0)
        assert (len(work), work.delayed, work.busy) == (0, 0, 0)
        for task in workers:
            assert not task.done()
            task.cancel()

    play()
    for key, at in wanted.items():
        assert max(began[key]) >= at
