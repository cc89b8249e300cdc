"""A budget of time ends what takes too long, wherever it happens; without one nothing changes."""

import pytest

from dragoman.allocation import (
    Allocated,
    Cluster,
    DoesNotFit,
    StoppedError,
    TimeBudget,
    TooExpensiveError,
    allocate,
    explain,
)
from tests.unit.dragoman.allocation.objects import (
    claim,
    cluster,
    device,
    device_class,
    pod,
    request,
    slice_,
)

NEVER = 'device.attributes["gpu.example.com"].id == "none"'
LOOPS = f"{NEVER} || {[*range(10)]}.all(a, {[*range(10)]}.all(b, a + b >= 0))"
DEVICES = [device(f"d{n}", attributes={"id": {"string": str(n)}}) for n in range(20)]
"""Unlike ones: a selector that reads the attribute is evaluated for each."""


class Clock:
    """Seconds that pass at each look."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self._step = step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def world(*expressions: str) -> Cluster:
    return cluster(slice_("s", DEVICES), classes=[device_class("gpu", *expressions)])


def test_selectors_of_many_devices_spend_one_budget() -> None:
    clock, wanted = Clock(1.0), pod(claim("c", request()))
    with TimeBudget(10, clock), pytest.raises(TooExpensiveError):
        allocate("node-1", wanted, world(NEVER))
    assert clock.now < 15


def test_what_was_evaluated_before_costs_nothing_again() -> None:
    devices, wanted = world(NEVER), pod(claim("c", request()))
    assert isinstance(allocate("node-1", wanted, devices), DoesNotFit)
    with TimeBudget(10, Clock(1.0)):
        assert isinstance(allocate("node-1", wanted, devices), DoesNotFit)


def test_a_selector_ends_in_the_middle() -> None:
    """A loop that may cost no more than is left of the time."""
    wanted = pod(claim("c", request()))
    with TimeBudget(0.0005, lambda: 0.0), pytest.raises(TooExpensiveError):
        allocate("node-1", wanted, world(LOOPS))
    with TimeBudget(0.05, lambda: 0.0):
        assert isinstance(allocate("node-1", wanted, world(LOOPS)), Allocated)


def test_a_search_spends_the_budget() -> None:
    """25 requests for 24 equal devices: millions of steps."""
    equal = [device(f"d{n}") for n in range(24)]
    wanted = pod(claim("c", *(request(f"r{n}") for n in range(25))))
    large = cluster(slice_("s", equal))
    with TimeBudget(100, Clock(1.0)), pytest.raises(TooExpensiveError):
        allocate("node-1", wanted, large)


def test_reasons_spend_the_budget() -> None:
    devices = world(NEVER)
    wanted = pod(claim("c", *(request(f"r{n}") for n in range(30))))
    outcome = allocate("node-1", wanted, devices)
    assert isinstance(outcome, DoesNotFit)
    with TimeBudget(10, Clock(1.0)), pytest.raises(TooExpensiveError):
        explain("node-1", wanted, devices, outcome)


def test_an_answer_that_is_not_needed_any_more_stops() -> None:
    looks = iter([False, False])
    budget = TimeBudget(60, lambda: 0.0, stopped=lambda: next(looks, True))
    with budget, pytest.raises(StoppedError):
        allocate("node-1", pod(claim("c", request())), world(NEVER))


def test_a_budget_ends_with_its_block() -> None:
    wanted = pod(claim("c", request()))
    with TimeBudget(1, Clock(1.0)), pytest.raises(TooExpensiveError):
        allocate("node-1", wanted, world(NEVER))
    assert isinstance(allocate("node-1", wanted, world(NEVER)), DoesNotFit)


def test_a_stopped_answer_leaves_nothing_wrong_behind() -> None:
    devices, wanted = world(LOOPS), pod(claim("c", request(count=2)))
    for seconds in (0.0001, 0.0003, 0.0005):
        with TimeBudget(seconds, lambda: 0.0), pytest.raises(TooExpensiveError):
            allocate("node-1", wanted, devices)
    found = allocate("node-1", wanted, devices)
    assert isinstance(found, Allocated)
    assert [one.device for one in found.allocations[0].devices] == ["d0", "d1"]
