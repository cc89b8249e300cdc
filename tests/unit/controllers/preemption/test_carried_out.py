"""What mode on carries out is what report mode says, in random worlds."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random

import pytest

from dragoman.controllers.preemption.planning import PlannedPreemptions, compute, looked
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.preemption import journal as manifests
from dragoman.preemption.planner import PreemptionOutcome
from dragoman.preemption.protocol import Sight
from dragoman.preemption.stored import Journal, RequestedEviction, digest
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.inventory import device_class, pool, snapshot
from tests.support.worlds.preemption import LENIENT, budget, holding, node, waiting
from tests.support.worlds.preemption import manifests as cluster
from tests.unit.examples import examples


def with_victims(seed: int) -> tuple[Snapshot, PlannedPreemptions]:
    """Return the first random world of a seed whose plan has victims, and the plan."""
    chance = Random(seed)
    for number in count():
        state = snapshot(
            *cluster(model.random_world(chance, f"s{seed}-{number}-", cpu=bool(seed % 2)))
        )
        (pod,) = [one for one in state.of("pods") if one["metadata"]["name"] == "train"]
        planned = compute(state, {pod["metadata"]["uid"]}, LENIENT)
        if planned.plans[0].outcome is PreemptionOutcome.PLANNED:
            return state, planned
    raise AssertionError


@pytest.mark.parametrize("seed", range(examples(60)))
def test_on_carries_out_what_report_says(seed: int) -> None:
    state, planned = with_victims(seed)
    (made,) = planned.plans
    assert made.chosen is not None
    uid = made.subject.pod.pod.metadata.uid
    report = manifests.document(made)["spec"]
    document = manifests.preempting(made, planned.reserved[uid], 1)
    assert {**document["spec"], "mode": "Report"}.items() >= report.items()

    document["metadata"]["uid"] = "uid-journal"
    journal = Journal.parse(document)
    look = looked(state, journal, LENIENT, lambda: False)

    assert look.sight is Sight.SAME
    assert look.victims == made.chosen.victims
    # A process ended after the first eviction: the others follow, and no pod in place of them.
    gone = {look.victims[0].pod.name}
    pods = tuple(one for one in state.of("pods") if one["metadata"]["name"] not in gone)
    rest = replace(state, objects={**state.objects, "pods": pods})
    begun = replace(
        journal, evictions=(RequestedEviction(digest(look.victims[0].pod.uid), "", 1.0),)
    )
    after = looked(rest, begun, LENIENT, lambda: False)
    assert after.sight in {Sight.SAME, Sight.ROOM}
    assert {one.pod.name for one in after.victims} <= {one.pod.name for one in look.victims} - gone
    fewer = replace(journal, victims=journal.victims - {digest(look.victims[0].pod.uid)})
    assert looked(state, fewer, LENIENT, lambda: False).sight is Sight.CHANGED


def test_a_budget_that_counts_an_eviction_already_makes_the_preemption_wait() -> None:
    """A budget counts an eviction for two minutes whose pod stays, as after a lost connection."""
    state = [
        *(device_class(), node("n"), pool("n", 1)),
        *holding("batch", "n", [0], labels={"app": "batch"}),
        *waiting(1),
    ]
    uid = "uid-of-ns-train"
    planned = compute(snapshot(*state), {uid}, LENIENT)
    (made,) = planned.plans
    document = manifests.preempting(made, planned.reserved[uid], 1)
    document["metadata"]["uid"] = "uid-journal"
    journal = Journal.parse(document)
    begun = replace(journal, evictions=(RequestedEviction(digest("uid-of-ns-batch"), "", 1.0),))
    after = snapshot(*state, budget("batch", {"app": "batch"}, 0))

    assert looked(after, journal, LENIENT, lambda: False).sight is Sight.CHANGED
    look = looked(after, begun, LENIENT, lambda: False)
    assert look.sight is Sight.SAME
    assert [one.pod.name for one in look.victims] == ["batch"]
