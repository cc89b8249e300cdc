"""Findings that compare two readings: slices that are written all the time, or are gone."""

import copy
from collections.abc import Sequence

import pytest

from dragoman.allocation import profile
from dragoman.doctor.doctorfacts import DoctorFacts, Reading, Thresholds
from dragoman.doctor.examination import Diagnosis, examine
from dragoman.doctor.finding import Finding, Id
from dragoman.doctor.over_time import reading
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import World

WORLD = World("w")
DRIVER = WORLD.driver
NODES = tuple(make(index=index) for index in range(3) for make in (WORLD.node, WORLD.plugin))


def facts(manifests: Sequence[Json], second: int, before: Reading | None = None) -> DoctorFacts:
    """Return a reading that was taken at a second of a minute."""
    made = builders.snapshot(*manifests)
    taken = f"{made.taken[:17]}{second:02d}Z"
    snapshot = Snapshot(taken, made.kubernetes, made.objects)
    inventory = take(parse(snapshot), profile("1.36"))
    return DoctorFacts(snapshot, inventory, Thresholds(settle=0, idle=0), before)


def compared(before: Sequence[Json], after: Sequence[Json]) -> list[Finding]:
    """Return the findings over time of two readings, 30 seconds apart."""
    first = reading(facts(before, 0))
    found = examine(facts(after, 30, first))
    assert found.unjudged == ()
    return [one for one in found.findings if one.id in (Id.SLICE_WRITE_STORM, Id.SLICES_MISSING)]


def changed(generation: int) -> tuple[Json, ...]:
    made = WORLD.slice()
    made["metadata"] |= {"generation": generation, "uid": "slice-uid"}
    return (WORLD.node(), made)


def slices(*nodes: int) -> tuple[Json, ...]:
    return tuple(WORLD.slice(index=index) for index in nodes)


def once(*manifests: Json) -> Diagnosis:
    return examine(facts(manifests, 0))


def test_one_reading_judges_neither() -> None:
    found = once(*NODES, *slices(0, 1))
    assert found.unjudged == (Id.SLICE_WRITE_STORM, Id.SLICES_MISSING)
    assert examine(facts(NODES, 0), [Id.CLAIM_IDLE]).unjudged == ()


@pytest.mark.parametrize(("writes", "storm"), [(2, False), (3, True), (300, True)])
def test_a_pool_that_is_written_again_and_again(writes: int, *, storm: bool) -> None:
    found = compared(changed(4), changed(4 + writes))
    assert [one.subject.text for one in found] == ([f"{DRIVER}/w-n0"] if storm else [])
    assert all(f"{writes} writes of its slices in 30 s" in one.message for one in found)


def test_slices_that_are_made_anew_each_time_are_written_too() -> None:
    new = copy.deepcopy(changed(3))
    new[1]["metadata"]["uid"] = "another-uid"
    assert [one.id for one in compared(changed(1), new)] == [Id.SLICE_WRITE_STORM]


def test_the_slices_of_a_node_are_gone_while_its_plugin_runs() -> None:
    [found] = compared((*NODES, *slices(0, 1, 2)), (*NODES, *slices(0, 1)))
    assert found.id is Id.SLICES_MISSING
    assert found.subject.text == f"{DRIVER} on w-n2"
    assert "gone" in found.message


def test_the_only_slice_of_a_driver_is_gone() -> None:
    node = NODES[:2]
    [found] = compared((*node, *slices(0)), node)
    assert found.subject.text == f"{DRIVER} on w-n0"


def test_a_node_without_slices_among_nodes_that_have_some() -> None:
    world = (*NODES, *slices(0, 1))
    [found] = compared(world, world)
    assert found.subject.text == f"{DRIVER} on w-n2"


def test_most_nodes_of_a_driver_have_no_devices() -> None:
    world = (*NODES, *slices(0))
    assert compared(world, world) == []


def test_a_plugin_that_is_not_ready_is_no_driver_that_forgot_its_slices() -> None:
    starting = (*NODES[:5], WORLD.plugin(2, ready=False))
    before = (*NODES, *slices(0, 1, 2))
    found = compared(before, (*starting, *slices(0, 1)))
    assert [one.id for one in found] == []


def test_a_pool_without_devices_is_published() -> None:
    world = (*NODES, *slices(0, 1), WORLD.slice((), index=2))
    assert compared(world, world) == []
