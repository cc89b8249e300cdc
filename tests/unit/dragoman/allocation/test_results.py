"""Outcomes are values: frozen, and equal where they say the same."""

from dataclasses import FrozenInstanceError, fields

import pytest

from dragoman.allocation import Allocated, Outcome, allocate
from tests.unit.dragoman.allocation.objects import claim, cluster, device, pod, request, slice_

SHARED = device("d", allowMultipleAllocations=True, capacity={"memory": {"value": "8"}})


def outcome(*devices: str) -> Outcome:
    world = cluster(slice_("s", [device(name) for name in devices]))
    return allocate("node-1", pod(), world)


def test_outcomes_that_say_the_same_are_equal() -> None:
    assert outcome("d", "e") == outcome("d", "f")
    assert hash(outcome("d", "e")) == hash(outcome("d", "f"))
    assert outcome("d") != outcome("e")
    assert outcome("d") != outcome()
    assert outcome() == outcome()
    assert {outcome("d"), outcome("d")} == {outcome("d")}


@pytest.mark.parametrize("devices", [("d",), ()])
def test_nothing_of_an_outcome_can_be_set(devices: tuple[str, ...]) -> None:
    found = outcome(*devices)
    names = ("steps", "looks", "allocations") if devices else [one.name for one in fields(found)]  # type: ignore[arg-type]
    for name in names:
        before = getattr(found, name)
        with pytest.raises(FrozenInstanceError):
            setattr(found, name, before)
        with pytest.raises(FrozenInstanceError):
            delattr(found, name)
        assert getattr(found, name) == before


def test_consumed_capacity_cannot_be_changed() -> None:
    wanted = claim("c", request("r", capacity={"requests": {"memory": "2"}}))
    found = allocate("node-1", pod(wanted), cluster(slice_("s", [SHARED])))
    assert isinstance(found, Allocated)
    (device_,) = found.allocations[0].devices
    assert device_.consumed_capacity == {"memory": "2"}
    with pytest.raises(TypeError):
        device_.consumed_capacity["memory"] = "3"  # type: ignore[index]
    assert found.allocations[0].document()["devices"]["results"][0]["consumedCapacity"] == {
        "memory": "2"
    }
