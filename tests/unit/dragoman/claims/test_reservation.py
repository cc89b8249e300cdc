"""Reservations for pods that got their node without the scheduler."""

import pytest

from dragoman.model.claim import RESERVED_FOR_LIMIT
from tests.unit.dragoman.claims.cases import Case, claim_place, params
from tests.unit.dragoman.claims.model_server import Server
from tests.unit.dragoman.claims.objects import claim, foreign_consumer, pod
from tests.unit.dragoman.claims.reconciling import Reconciler
from tests.unit.dragoman.claims.worlds import world

ENTRY = "acme-resource"
MINE = claim_place("mine")
OWNER = pod().using(ENTRY, template="my-template").bound(ENTRY, "mine")
GENERATED = claim("mine").generated_for(OWNER, ENTRY)
SHARED = claim("mine").allocated()
USER = pod().using(ENTRY, claim="mine")
FILLERS = [foreign_consumer(f"foo-{i}", f"uid-foo-{i}") for i in range(RESERVED_FOR_LIMIT)]
FULL = SHARED.reserved_for(*FILLERS)

CASES = (
    Case(
        title="a pod with a node is added to its own claim",
        upstream=("add-reserved",),
        world=world(OWNER.on("node"), GENERATED.allocated()),
        place=MINE,
        told=("PodScheduled: reserve for test-pod",),
    ),
    Case(
        title="a pod with a node is added to a shared claim beside the others",
        world=world(USER.on("node"), SHARED.reserved_for(foreign_consumer())),
        place=MINE,
        told=("PodScheduled: reserve for foo, test-pod",),
    ),
    Case(
        title="a pod that names the claim twice is added once",
        world=world(USER.using("again", claim="mine").on("node"), SHARED),
        place=MINE,
        told=("PodScheduled: reserve for test-pod",),
    ),
    Case(
        title="a pod without a node is the scheduler's",
        world=world(USER, SHARED),
        place=MINE,
    ),
    Case(
        title="a claim without devices is waited for",
        world=world(USER.on("node"), claim("mine")),
        place=MINE,
    ),
    Case(
        title="a claim that is being deleted takes nobody in",
        world=world(USER.on("node"), FULL.deleting()),
        place=MINE,
    ),
    Case(
        title="a pod is not added to the claim of another owner that its status names",
        world=world(
            OWNER.on("node"),
            pod("other").using(ENTRY, template="my-template"),
            claim("mine").generated_for(pod("other"), ENTRY).allocated(),
        ),
        place=MINE,
    ),
    Case(
        title="a pod that succeeded is not added to the shared claim of others",
        world=world(USER.on("node").in_phase("Succeeded"), SHARED.reserved_for(foreign_consumer())),
        place=MINE,
    ),
    Case(
        title="a pod that failed is not added",
        world=world(USER.on("node").in_phase("Failed"), SHARED),
        place=MINE,
    ),
    Case(
        title="a pod that is being deleted is not added",
        world=world(USER.on("node").in_phase("Running").deleting(), SHARED),
        place=MINE,
    ),
    Case(
        title="one pod leaves and one comes in the same write",
        world=world(
            USER.on("node"),
            pod("done").using(ENTRY, claim="mine").on("node").in_phase("Failed"),
            SHARED.reserved_for(pod("done")),
        ),
        place=MINE,
        told=("PodScheduled: reserve for test-pod",),
    ),
    Case(
        title="pod 257 is told about and not tried",
        world=world(USER.on("node"), FULL),
        place=MINE,
        pending=frozenset({"ReservedForFull"}),
    ),
    Case(
        title="a consumer that leaves a full claim makes place for one of two that wait",
        world=world(
            USER.on("node"),
            pod("second").using(ENTRY, claim="mine").on("node"),
            SHARED.reserved_for(*FILLERS[1:], pod("gone")),
            deleted=["uid-gone"],
        ),
        place=MINE,
        told=(
            "PodScheduled: reserve for "
            + ", ".join(filler["name"] for filler in FILLERS[1:])
            + ", test-pod",
        ),
        pending=frozenset({"ReservedForFull"}),
    ),
)


@pytest.mark.parametrize("case", params(CASES))
def test_reservation(case: Case) -> None:
    case.check()


def test_the_limit_is_named() -> None:
    reconciler = Reconciler(Server.holding(world(USER.on("node"), FULL)))
    (wait,) = reconciler.settle(MINE).pending
    assert "256" in wait.message
    assert "mine" in wait.message
    assert wait.report
