"""Consumers that leave, devices that come free, generated claims that end."""

import pytest

from tests.unit.dragoman.claims.cases import Case, claim_place, params
from tests.unit.dragoman.claims.objects import Object, claim, foreign_consumer, pod, reservation
from tests.unit.dragoman.claims.worlds import world

ENTRY = "acme-resource"
MINE = claim_place("mine")
SHARED = claim("mine").allocated()
USER = pod().using(ENTRY, claim="mine").on("node").in_phase("Running")
GONE = pod("gone")
OWNER = pod("owner").using(ENTRY, template="my-template").bound(ENTRY, "mine")
RUNNING = OWNER.on("node").in_phase("Running")
FINISHED = OWNER.on("node").in_phase("Succeeded")
GENERATED = claim("mine").generated_for(OWNER, ENTRY)
REPLACED = pod("owner", uid="uid-new").using(ENTRY, template="my-template")

FREED = "LastConsumerGone: reserve for nobody and free the devices"
LATER = 3600.0

CONSUMERS = (
    Case(
        title="a live pod that is known keeps its reservation",
        upstream=("stay-reserved-seen",),
        world=world(USER, SHARED.reserved_for(USER)),
        place=MINE,
    ),
    Case(
        title="a pod that never was frees the devices, and then the finalizer goes",
        upstream=("clear-reserved-structured",),
        world=world(SHARED.reserved_for(GONE), deleted=[GONE.uid]),
        place=MINE,
        told=(FREED, "NothingToProtect: unprotect mine"),
        patience=LATER,
    ),
    Case(
        title="a missing pod leaves, a live one stays, and with it the devices",
        upstream=("dont-clear-reserved-structured", "remove-reserved"),
        world=world(USER, SHARED.reserved_for(USER, GONE), deleted=[GONE.uid]),
        place=MINE,
        told=("ConsumersGone: reserve for test-pod",),
    ),
    Case(
        title="a deleted claim of a missing pod frees its devices and may go",
        upstream=("clear-reserved-structured-deleted",),
        world=world(SHARED.reserved_for(GONE).deleting(), deleted=[GONE.uid]),
        place=MINE,
        told=(FREED, "ClaimDeleted: unprotect mine"),
    ),
    Case(
        title="a deleted claim that nobody uses frees its devices and may go",
        upstream=("structured-deleted",),
        world=world(SHARED.deleting()),
        place=MINE,
        told=(
            "ClaimDeleted: reserve for nobody and free the devices",
            "ClaimDeleted: unprotect mine",
        ),
    ),
    Case(
        title="a deleted claim in use waits for its users",
        world=world(USER, SHARED.reserved_for(USER).deleting()),
        place=MINE,
    ),
    Case(
        title="a deleted claim loses our finalizer only",
        world=world(SHARED.finalized("example.com/other").deleting()),
        place=MINE,
        told=(
            "ClaimDeleted: reserve for nobody and free the devices",
            "ClaimDeleted: unprotect mine",
        ),
    ),
    Case(
        title="a finished pod leaves; devices that others allocated stay allocated",
        upstream=("clear-reserved-when-done",),
        world=world(
            USER.in_phase("Succeeded"),
            claim("mine").allocated_by_others().reserved_for(USER),
        ),
        place=MINE,
        told=("LastConsumerGone: reserve for nobody",),
    ),
    Case(
        title="a failed pod frees the devices of a user's claim, which stays",
        world=world(USER.in_phase("Failed"), SHARED.reserved_for(USER)),
        place=MINE,
        told=(FREED, "NothingToProtect: unprotect mine"),
        patience=LATER,
    ),
    Case(
        title="a running pod that is being deleted still has its devices",
        world=world(USER.deleting(), SHARED.reserved_for(USER)),
        place=MINE,
    ),
    Case(
        title="a pod that is deleted before it got a node leaves",
        world=world(pod().using(ENTRY, claim="mine").deleting(), SHARED.reserved_for(pod())),
        place=MINE,
        told=(FREED, "NothingToProtect: unprotect mine"),
        patience=LATER,
    ),
    Case(
        title="a pod that was replaced under its name leaves",
        world=world(
            pod(uid="uid-new").using(ENTRY, claim="other"),
            SHARED.reserved_for(USER, foreign_consumer()),
            deleted=[USER.uid],
        ),
        place=MINE,
        told=("ConsumersGone: reserve for foo",),
    ),
    Case(
        title="somebody else's consumer stays and keeps the devices, the finished pod leaves",
        upstream=("clean up pod reservation with non-pod reservation present",),
        world=world(USER.in_phase("Succeeded"), SHARED.reserved_for(USER, foreign_consumer())),
        place=MINE,
        told=("ConsumersGone: reserve for foo",),
    ),
    Case(
        title="a claim with devices that nobody reserved stays as it is",
        world=world(SHARED),
        place=MINE,
        patience=LATER,
    ),
    Case(
        title="the finalizer before an allocation is the scheduler's for a minute",
        world=world(claim("mine").protected()),
        place=MINE,
        pending=frozenset({"NothingToProtect"}),
        patience=59.0,
    ),
    Case(
        title="a release that stopped after its first write is finished",
        world=world(claim("mine").protected()),
        place=MINE,
        told=("NothingToProtect: unprotect mine",),
        patience=60.0,
    ),
)

OWNERS = (
    Case(
        title="the claim of a finished pod frees its devices, is deleted and may go",
        upstream=("delete-claim-when-done",),
        world=world(FINISHED, GENERATED.allocated().reserved_for(FINISHED)),
        place=MINE,
        told=(FREED, "OwnerDone: delete mine", "ClaimDeleted: unprotect mine"),
    ),
    Case(
        title="the claim of a finished pod that never had devices takes one write",
        world=world(FINISHED, GENERATED),
        place=MINE,
        told=("OwnerDone: delete mine",),
    ),
    Case(
        title="the claim of a pod that is deleted before it got a node is deleted",
        world=world(OWNER.deleting(), GENERATED),
        place=MINE,
        told=("OwnerDone: delete mine",),
    ),
    Case(
        title="the claim of a running pod stays",
        world=world(RUNNING, GENERATED.allocated().reserved_for(RUNNING)),
        place=MINE,
        patience=LATER,
    ),
    Case(
        title="the claim of a finished pod that another pod uses stays until that one is done",
        world=world(FINISHED, USER, GENERATED.allocated().reserved_for(FINISHED, USER)),
        place=MINE,
        told=("ConsumersGone: reserve for test-pod",),
    ),
    Case(
        title="the claim of a replaced pod is deleted",
        world=world(REPLACED, GENERATED, deleted=[OWNER.uid]),
        place=MINE,
        told=("OwnerReplaced: delete mine",),
    ),
    Case(
        title="the garbage collector goes first with the claim of a pod that is gone",
        world=world(GENERATED, deleted=[OWNER.uid]),
        place=MINE,
        pending=frozenset({"OwnerGone"}),
        patience=9.0,
    ),
    Case(
        title="where no garbage collector came the claim of a pod that is gone is deleted",
        world=world(GENERATED, deleted=[OWNER.uid]),
        place=MINE,
        told=("OwnerGone: delete mine",),
        patience=10.0,
    ),
    Case(
        title="a scheduler's claim for extended resources ends with its pod",
        world=world(
            pod("owner").with_extended_claim("mine").on("node").in_phase("Failed"),
            claim("mine")
            .owned_by(OWNER)
            .annotated("resource.kubernetes.io/extended-resource-claim", "true")
            .allocated()
            .reserved_for(OWNER),
        ),
        place=MINE,
        told=(FREED, "OwnerDone: delete mine", "ClaimDeleted: unprotect mine"),
    ),
    Case(
        title="a user's claim whose owner is gone is the garbage collector's",
        world=world(claim("mine").owned_by(OWNER), deleted=[OWNER.uid]),
        place=MINE,
        patience=LATER,
    ),
    Case(
        title="a user's claim is never deleted",
        world=world(USER.in_phase("Succeeded"), claim("mine")),
        place=MINE,
        patience=LATER,
    ),
    Case(
        title="a claim that is gone needs nothing",
        world=world(),
        place=MINE,
    ),
)

CASES = CONSUMERS + OWNERS


@pytest.mark.parametrize("case", params(CONSUMERS))
def test_consumers(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", params(OWNERS))
def test_generated_claims(case: Case) -> None:
    case.check()


@pytest.mark.parametrize(
    ("consumer", "stays"),
    [
        pytest.param(foreign_consumer(), True, id="an unknown kind"),
        pytest.param(
            {**reservation(GONE), "apiGroup": "example.com"}, True, id="pods of another group"
        ),
        pytest.param(reservation(GONE), False, id="a pod that is gone"),
    ],
)
def test_foreign_consumers_stay(consumer: dict[str, str], stays: bool) -> None:
    told = () if stays else ("ConsumersGone: reserve for test-pod",)
    case = Case(
        title="foreign",
        world=world(USER, SHARED.reserved_for(USER, consumer), deleted=[GONE.uid]),
        place=MINE,
        told=told,
    )
    left = case.check().get(MINE)["status"]["reservedFor"]
    assert left == [reservation(USER)] + [consumer] * stays


@pytest.mark.parametrize(
    ("finalizers", "kept"),
    [
        pytest.param(["a/b"], ["a/b"], id="others' finalizers stay"),
        pytest.param([], None, id="the last one goes with its object"),
    ],
)
def test_only_the_scheduler_s_finalizer_goes(finalizers: list[str], kept: list[str] | None) -> None:
    found: Object = claim("mine").protected().deleting()
    for name in finalizers:
        found = found.appended("metadata", "finalizers", item=name)
    case = Case(
        title="finalizers",
        world=world(found),
        place=MINE,
        told=("ClaimDeleted: unprotect mine",),
    )
    stored = case.check().stored.get(MINE)
    assert (stored and stored["metadata"]["finalizers"]) == kept
