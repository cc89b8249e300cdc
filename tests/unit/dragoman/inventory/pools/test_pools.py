"""Which slices of a pool count, and what is wrong with those that do not."""

import pytest

from dragoman.inventory.inventory import DeviceState
from tests.support.worlds.inventory import DRIVER, device, device_class, inventory, pool

COUNTERS = [{"name": "set", "counters": {"memory": {"value": "8Gi"}}}]


def counters(node: str) -> dict[str, object]:
    made = pool(node, [], part=1, resourceSliceCount=2)
    del made["spec"]["devices"]
    made["spec"]["sharedCounters"] = COUNTERS
    return made


def consuming(name: str, counter_set: str = "set", counter: str = "memory") -> dict[str, object]:
    amounts = {counter: {"value": "4Gi"}}
    return device(name, consumesCounters=[{"counterSet": counter_set, "counters": amounts}])


@pytest.mark.parametrize(
    ("slices", "state"),
    [
        pytest.param([pool("n", 2)], "Complete", id="one slice of one"),
        pytest.param(
            [pool("n", 1, resourceSliceCount=2)], "Incomplete (1 of 2)", id="a slice is missing"
        ),
        pytest.param(
            [pool("n", ["a"]), pool("n", ["b"], part=1)],
            "Incomplete (2 of 1)",
            id="more slices than announced",
        ),
        pytest.param(
            [
                pool("n", ["a"], resourceSliceCount=2),
                pool("n", ["a"], part=1, resourceSliceCount=2),
            ],
            "Invalid (duplicate device name a)",
            id="two devices of one name",
        ),
        pytest.param(
            [pool("n", [consuming("a")], resourceSliceCount=2), counters("n")],
            "Complete",
            id="counters that exist",
        ),
        pytest.param(
            [pool("n", [consuming("a", "other")], resourceSliceCount=2), counters("n")],
            "Invalid (counter set other not found)",
            id="a counter set that does not exist",
        ),
        pytest.param(
            [pool("n", [consuming("a", "set", "cores")], resourceSliceCount=2), counters("n")],
            "Invalid (counter cores not found in counter set set)",
            id="a counter that does not exist",
        ),
        pytest.param(
            [pool("n", ["a"]), pool("n", ["b"], part=1, generation=2)],
            "Complete",
            id="the highest generation alone counts",
        ),
    ],
)
def test_state(slices: list[dict[str, object]], state: str) -> None:
    (found,) = inventory(*slices).pools.values()
    assert str(found) == state


def test_slices_of_older_generations_are_named() -> None:
    (found,) = inventory(pool("n", ["a"]), pool("n", ["b"], part=1, generation=2)).pools.values()
    assert found.obsolete == (f"n-{DRIVER}-0",)
    assert [one.name for one in found.slices] == [f"n-{DRIVER}-1"]


def test_devices_of_an_incomplete_pool_are_unusable() -> None:
    taken = inventory(device_class(), pool("n", 2, resourceSliceCount=2))
    assert {one.state for one in taken.devices.values()} == {DeviceState.UNUSABLE}


def test_a_pool_of_several_nodes_may_repeat_a_device_name() -> None:
    first, second = pool("n", ["a"], resourceSliceCount=2), pool("m", ["a"], resourceSliceCount=2)
    second["spec"]["pool"]["name"] = "n"
    (found,) = inventory(first, second).pools.values()
    assert found.usable
    assert found.node == ""
