"""What mode on carries out is what report mode says, in random worlds."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import pytest

from dragoman.controllers.context import Context
from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.controller import PreemptionController
from dragoman.controllers.preemption.planning import PlannedPreemptions, compute, looked
from dragoman.controllers.preemption.preemptions import Preemptions
from dragoman.kube.events import EventRecorder
from dragoman.kube.resources import Resource
from dragoman.preemption import journal as manifests
from dragoman.preemption import protocol
from dragoman.preemption.planner import PreemptionOutcome
from dragoman.preemption.protocol import Sight
from dragoman.preemption.reservation import toleration
from dragoman.preemption.stored import Journal, PreemptionLimits, RequestedEviction, digest, moment
from tests.support.apiserver import CREATED, ApiServer, place_of
from tests.support.manifests import Json
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.inventory import device_class, pool, snapshot
from tests.support.worlds.preemption import LENIENT, budget, holding, node, waiting
from tests.support.worlds.preemption import manifests as cluster
from tests.unit.examples import examples

TRAIN = "uid-of-ns-train"
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
RULES = Resource("resource.k8s.io", "v1beta2", "devicetaintrules")


def with_victims(seed: int) -> tuple[list[Json], PlannedPreemptions]:
    """Return the first random world of a seed whose plan has victims, and the plan."""
    chance = Random(seed)
    for number in count():
        world = model.random_world(chance, f"s{seed}-{number}-", cpu=bool(seed % 2))
        planned = compute(snapshot(*cluster(world)), {TRAIN}, LENIENT)
        if planned.plans[0].outcome is PreemptionOutcome.PLANNED:
            return cluster(world), planned
    raise AssertionError


class Evicting(ApiServer):
    """Ends pods that are evicted, and releases their claims.

    Attributes:
        evicted: Their names.
    """

    def __init__(self, *manifests: Json) -> None:
        super().__init__()
        self.evicted: list[str] = []
        self.store(*manifests)

    async def post(
        self, path: str, body: Mapping[str, Any], *, dry_run: bool = False, strict: bool = False
    ) -> Json:
        """Create an object, or evict a pod."""
        place = place_of(path)
        if place.subresource != "eviction":
            return await super().post(path, body, dry_run=dry_run, strict=strict)
        gone = self.remove(place._replace(subresource=""))["metadata"]
        self.evicted.append(gone["name"])
        for claim in self.of("resourceclaims"):
            consumers = claim.get("status", {}).get("reservedFor", ())
            if [one["uid"] for one in consumers] == [gone["uid"]]:
                del claim["status"]
        return {}


async def played(server: Evicting, *, on: bool) -> Json:
    """Run the controller until it has planned, or evicted; return the object that says so."""
    client: Any = server
    begins = moment(CREATED)
    limits = PreemptionLimits(per_hour=1000, per_namespace=1000)
    carrier = Carrier(
        client, CLAIMS, CLAIMS, RULES, lambda _: LENIENT, limits, clock=lambda: begins
    )
    made = PreemptionController(
        Context(client, EventRecorder(client)),
        LENIENT,
        after=0.0,
        tick=0.001,
        preemptions=Preemptions(client, carrier, LENIENT) if on else None,
    )
    task = asyncio.create_task(made.run())
    wanted = "Placing" if on else "Reported"
    try:
        async with asyncio.timeout(20):
            while True:
                for one in server.of("devicepreemptions"):
                    if one.get("status", {}).get("phase") == wanted:
                        return one
                await asyncio.sleep(0.001)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("seed", range(examples(20)))
async def test_on_evicts_the_pods_of_the_report(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SETTLE", 0.0)
    state, _ = with_victims(seed)
    (claim,) = [one for one in state if one["metadata"]["name"] == "train-gpu"]
    claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = [toleration(TRAIN)]
    space = {"kind": "Namespace", "metadata": {"name": "ns"}}
    told, does = Evicting(space, *state), Evicting(space, *state)

    report = (await played(told, on=False))["spec"]
    journal = (await played(does, on=True))["spec"]

    assert {**journal, "mode": "Report"}.items() >= report.items()
    assert does.evicted == [one["name"] for one in report["victims"]]
    assert (told.evicted, report["victimsElsewhere"]) == ([], 0)
    reserved = [one["spec"]["deviceSelector"] for one in does.of("devicetaintrules")]
    assert sorted(map(str, reserved)) == sorted(map(str, journal["reserved"]))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_on_carries_out_what_report_says(seed: int) -> None:
    world, planned = with_victims(seed)
    state = snapshot(*world)
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
