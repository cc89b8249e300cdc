"""Findings that compare two readings, on a real API server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.toolkit.test_doctor import Ward, about
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.doctor import World

STORM, CALM = World("storm"), World("calm")
BARE, EMPTY = World("bare"), World("empty")
NODES = (0, 1, 2)
"""On one of them a driver publishes nothing, or an empty slice."""


@pytest.fixture(scope="module")
def ward(plane: ControlPlane) -> Iterator[Ward]:
    """Build two pools that are written, and two drivers of which one misses a slice."""
    made = Ward(plane)
    made.admit(STORM.name, [STORM.node(), STORM.slice()])
    made.admit(CALM.name, [CALM.node(), CALM.slice()])
    kept = {}
    for world in (BARE, EMPTY):
        nodes = [world.node(index) for index in NODES]
        plugins = [world.plugin(index) for index in NODES]
        for plugin in plugins:
            plugin["metadata"]["ownerReferences"][0]["uid"] = f"daemonset-of-{world.name}"
        slices = [world.slice(index=index) for index in NODES[:-1]]
        kept[world.name] = [*nodes, *slices]
        last = [world.slice((), index=NODES[-1])] if world is EMPTY else []
        made.admit(world.name, [*nodes, *slices, *last, *plugins])
    yield made
    made.discharge(STORM.name, [STORM.node(), STORM.slice()])
    made.discharge(CALM.name, [CALM.node(), CALM.slice()])
    for name, objects in kept.items():
        made.discharge(name, objects)


@contextmanager
def written(ward: Ward, world: World, interval: float, times: int) -> Iterator[None]:
    """Change the slice of a world again and again inside the block."""
    name, ended = world.slice()["metadata"]["name"], threading.Event()

    def write() -> None:
        for number in range(times):
            if ended.wait(interval):
                return
            value = {"attributes": {"number": {"int": number}}}
            devices = [{"name": "d0", **value}, {"name": "d1"}]
            ward.api.patch("resourceslices", name, "", {"spec": {"devices": devices}})

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_pool_that_is_written_all_the_time_is_a_storm_and_one_write_is_none(ward: Ward) -> None:
    with written(ward, STORM, 0.3, 1000), written(ward, CALM, 1, 1):
        found = ward.doctor("--only", "SliceWriteStorm", "--for", "6s")
    assert [one for one, _ in about(found, STORM.name)] == ["SliceWriteStorm"]
    assert about(found, CALM.name) == []


def test_a_node_without_slices_is_missed_and_one_with_an_empty_slice_is_not(ward: Ward) -> None:
    found = ward.doctor("--only", "SlicesMissing", "--for", "1s")
    subject = f"{BARE.driver} on {BARE.name}-n2"
    assert about(found, BARE.name) == [("SlicesMissing", subject)]
    assert about(found, EMPTY.name) == []


def test_slices_that_are_taken_away_between_two_readings_are_missed(ward: Ward) -> None:
    name = EMPTY.slice((), index=NODES[-1])["metadata"]["name"]
    timer = threading.Timer(2, ward.api.delete, ("resourceslices", name))
    timer.start()
    found = ward.doctor("--only", "SlicesMissing", "--for", "6s")
    timer.join()
    subject = f"{EMPTY.driver} on {EMPTY.name}-n2"
    assert about(found, EMPTY.name) == [("SlicesMissing", subject)]
    assert "gone" in next(one["message"] for one in found if EMPTY.name in one["object"]["text"])
