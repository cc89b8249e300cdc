"""Devices of slices: what many of them share, and that each still has what is its own."""

import copy
from typing import Any

from dragoman.model.device import parse_device

Json = dict[str, Any]

DRIVER = "gpu.example.com"


def gpu(name: str, **more: Any) -> Json:
    """Return a device with a capacity and a taint."""
    return {
        "name": name,
        "capacity": {"memory": {"value": "80Gi"}},
        "taints": [{"key": "example.com/ill", "effect": "NoSchedule"}],
        **more,
    }


def numbered(number: int) -> Json:
    return gpu(f"gpu-{number}", attributes={"uuid": {"string": f"GPU-{number}"}})


def test_devices_that_differ_in_attributes_share_all_the_rest() -> None:
    given = [numbered(1), numbered(2), gpu("plain"), gpu("empty", attributes={})]
    before = copy.deepcopy(given)
    found = [parse_device(one, DRIVER, "") for one in given]
    assert given == before
    assert [{**one.content.document, "name": one.name} for one in found] == given
    assert [dict(one.content.attributes) for one in found] == [
        {"uuid": {"string": "GPU-1"}},
        {"uuid": {"string": "GPU-2"}},
        {},
        {},
    ]
    first = found[0].content
    assert all(one.content.capacity is first.capacity for one in found)
    assert all(one.content.taints is first.taints for one in found)
    assert all(one.content.traits is first.traits for one in found)


def test_devices_that_differ_in_their_driver_or_in_more_than_attributes_share_nothing() -> None:
    smaller = gpu("gpu-1", capacity={"memory": {"value": "40Gi"}})
    one, other = parse_device(gpu("gpu-1"), DRIVER, ""), parse_device(smaller, DRIVER, "")
    assert one.content.capacity != other.content.capacity
    assert one.content.traits is not other.content.traits
    foreign = parse_device(gpu("gpu-1"), "other.example.com", "").content
    assert (foreign.driver, foreign.capacity) == ("other.example.com", one.content.capacity)


def test_a_device_is_a_copy_of_its_document() -> None:
    given = [numbered(1), numbered(2)]
    found = [parse_device(one, DRIVER, "").content for one in given]
    for one in given:
        one["attributes"]["uuid"]["string"] = "changed"
        one["capacity"]["memory"]["value"] = "1"
    assert [one.document["attributes"]["uuid"]["string"] for one in found] == ["GPU-1", "GPU-2"]
    assert {one.document["capacity"]["memory"]["value"] for one in found} == {"80Gi"}
    assert parse_device(numbered(1), DRIVER, "").content is found[0]
