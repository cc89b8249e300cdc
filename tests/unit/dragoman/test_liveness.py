"""Liveness: whether only a restart helps, and whether the API server can be reached."""

import asyncio

import pytest

from dragoman import surroundings
from dragoman.kube.watchhealth import WatchHealth
from dragoman.process.health import Liveness
from tests.unit.dragoman.kube.virtual_time import Clock, in_virtual_time


class Process:
    """An operator with two watches, some time after it began.

    Attributes:
        clock: What time it is.
        watches: The health of its watches.
        stuck_for: For how long a worker has had its key.
        liveness: What is tested.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.watches = (WatchHealth(), WatchHealth())
        self.stuck_for = 0.0
        self.liveness = Liveness(self.watches, lambda: self.stuck_for)

    def after(self, seconds: float) -> None:
        """Let time pass while the loop turns."""
        self.clock.seconds += seconds
        self.liveness._beat = self.clock.seconds


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    """Return an operator in good health."""
    clock = Clock()
    monkeypatch.setattr(surroundings, "monotonic", clock)
    return Process(clock)


def test_all_is_well_while_the_loop_turns_and_watches_hear_something(process: Process) -> None:
    for _ in range(20):
        process.after(100.0)
        for watch in process.watches:
            watch.received()
        assert process.liveness.fault() is None
        assert not process.liveness.unreachable()


def test_a_loop_that_stands_still_is_a_fault(process: Process) -> None:
    process.clock.seconds += 11.5
    assert process.liveness.fault() == "the event loop is 10 s late"


def test_one_silent_watch_of_two_is_a_fault(process: Process) -> None:
    process.after(301.0)
    process.watches[0].received()
    assert process.liveness.fault() == "a watch has received nothing for 301 s"


def test_a_watch_that_tries_and_fails_is_alive_for_a_restart_would_change_nothing(
    process: Process,
) -> None:
    for _ in range(30):
        process.after(40.0)
        for watch in process.watches:
            watch.failed()
    assert process.liveness.fault() is None
    assert process.liveness.unreachable()


def test_a_worker_that_never_comes_back_is_a_fault(process: Process) -> None:
    process.stuck_for = 181.0
    assert process.liveness.fault() == "a worker has had one key for 181 s"


def test_a_watch_that_broke_once_and_is_silent_since_is_no_outage(process: Process) -> None:
    process.watches[0].failed()
    process.after(60.0)
    assert not process.liveness.unreachable()


def test_an_outage_ends_with_the_first_thing_that_comes_in(process: Process) -> None:
    watch = process.watches[0]
    for _ in range(4):
        watch.failed()
        process.after(15.0)
    assert watch.failing_for() == 45.0
    assert process.liveness.unreachable()
    watch.received()
    assert not process.liveness.unreachable()
    watch.failed()
    assert watch.failing_for() == 0.0


@in_virtual_time
async def test_the_loop_beats_each_second() -> None:
    liveness = Liveness((), lambda: 0.0)
    task = asyncio.create_task(liveness.run())
    await asyncio.sleep(100.0)
    assert liveness.fault() is None
    task.cancel()
    await asyncio.sleep(60.0)
    fault = liveness.fault()
    assert fault is not None
    assert "the event loop is" in fault


def test_a_resource_that_the_server_serves_no_more_is_a_fault(process: Process) -> None:
    """The next start finds the version that an upgrade serves in its place."""
    watch = process.watches[0]
    for _ in range(8):
        watch.failed(404)
        process.watches[1].received()
        process.after(10.0)
    assert "no longer serves" in (process.liveness.fault() or "")
    watch.failed(503)
    assert process.liveness.fault() is None


def test_a_watch_that_is_not_vital_makes_no_process_unready(process: Process) -> None:
    watch = process.watches[0]
    watch.vital = False
    for _ in range(8):
        watch.failed(404)
        process.watches[1].received()
        process.after(10.0)
    assert process.liveness.fault() is None
    assert not process.liveness.unreachable()
