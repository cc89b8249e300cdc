"""What requests want together is looked for within the time of an answer."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.allocation import TimeBudget, TooExpensiveError
from dragoman.diagnosis.crowding import crowded
from dragoman.diagnosis.meant import RequestDevices
from dragoman.model.amounts import amount
from dragoman.model.deviceid import DeviceID, PoolID

GPU = "gpu.example.com"


def partitioned(nodes: int) -> tuple[Any, RequestDevices]:
    """Return nodes with cards of seven slices, and a request for two partitions of four."""
    takes = SimpleNamespace(counter_set="card", counters={"slices": amount("4")})
    partition: Any = SimpleNamespace(consumes=(takes,), shareable=False)
    has = SimpleNamespace(name="card", counters={"slices": amount("7")})
    request: Any = SimpleNamespace(
        everything=False, admin=False, exact=SimpleNamespace(count=2), name="gpu"
    )
    meant = {
        name: {DeviceID(GPU, name, f"p{at}"): partition for at in range(3)}
        for name in map(str, range(nodes))
    }
    slices = [
        SimpleNamespace(pool_id=PoolID(GPU, name), generation=1, shared_counters=(has,))
        for name in meant
    ]
    return SimpleNamespace(slices=slices), RequestDevices("ml/one", "gpu", request, meant)


def test_counters_of_each_pool_are_held_against_its_own_devices() -> None:
    world, request = partitioned(3)
    (said,) = crowded(world, [request])
    assert "wants 2 devices on one node, shared counters suffice for 1" in said


def test_a_large_cluster_takes_no_more_time_than_an_answer_may() -> None:
    world, request = partitioned(300)
    ticks = count()
    with pytest.raises(TooExpensiveError), TimeBudget(100, clock=lambda: next(ticks)):
        list(crowded(world, [request]))
