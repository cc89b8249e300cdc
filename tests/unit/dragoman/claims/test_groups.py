"""PodGroups (KEP-5729): claims that the pods of a group share."""

import pytest

from dragoman.claims.naming import claim_name
from tests.unit.dragoman.claims.cases import GROUP, Case, claim_place, params
from tests.unit.dragoman.claims.objects import claim, foreign_consumer, group, pod, template
from tests.unit.dragoman.claims.worlds import world

ENTRY = "acme-resource"
NAME = claim_name(owner="test-pod", owner_uid="uid-test-pod", entry=ENTRY)
SHARED = claim_name(owner="test-group", owner_uid="uid-group-test-group", entry=ENTRY)
CREATED = (
    f"ClaimFromTemplate: create {NAME} for {ENTRY}",
    f"ClaimBound: publish {ENTRY}={NAME}",
)
CREATED_FOR_GROUP = (
    f"ClaimFromTemplate: create {SHARED} for {ENTRY}",
    f"ClaimBound: publish {ENTRY}={SHARED}",
)

UNGROUPED = (
    "create ResourceClaim for grouped Pod with claim"
    " when DRAWorkloadResourceClaims feature is disabled"
)
WITHOUT_GATE = "create ResourceClaim for Pod with PodGroup claim when feature is disabled"
BARE = group("test-group")
TEAM = BARE.using(ENTRY, template="my-template")
MEMBER = pod().using(ENTRY, template="my-template").in_group("test-group")
PLACED = MEMBER.on("node").in_phase("Running")
OURS = claim("ours").generated_for(TEAM, ENTRY)

CREATION = (
    Case(
        title="a member of a group without claims gets a claim of its own",
        upstream=("create for Pod in PodGroup",),
        world=world(MEMBER, BARE, template()),
        told=CREATED,
    ),
    Case(
        title="a member whose group does not exist waits for it",
        upstream=("skip-create-for-pod-podgroup-does-not-exist",),
        world=world(MEMBER, template()),
        pending=frozenset({"PodGroupNotFound"}),
    ),
    Case(
        title="a running member whose group was deleted keeps its own claim in peace",
        world=world(PLACED.bound(ENTRY, "made"), claim("made").generated_for(PLACED, ENTRY)),
    ),
    Case(
        title="a group gets one claim and its name in the status",
        upstream=("create for PodGroup",),
        world=world(TEAM, template()),
        place=GROUP,
        told=CREATED_FOR_GROUP,
    ),
    Case(
        title="a member waits for the group's claim when there is no template",
        upstream=("skip create for Pod with PodGroup before template exists",),
        world=world(MEMBER, TEAM),
        pending=frozenset({"PodGroupClaimPending"}),
    ),
    Case(
        title="a member leaves the making of the group's claim to the group",
        upstream=("skip create for Pod with PodGroup after template exists",),
        world=world(MEMBER, TEAM, template()),
        pending=frozenset({"PodGroupClaimPending"}),
    ),
    Case(
        title="a member's status gets the name of the group's claim",
        upstream=("update Pod status with PodGroup claim",),
        world=world(MEMBER, TEAM.bound(ENTRY, "ours"), template(), OURS),
        told=(f"ClaimBound: publish {ENTRY}=ours",),
    ),
    Case(
        title="a member that already has a claim of its own keeps it",
        world=world(
            MEMBER.bound(ENTRY, "made"),
            TEAM.bound(ENTRY, "ours"),
            OURS,
            claim("made").generated_for(MEMBER, ENTRY),
        ),
    ),
    Case(
        title="a member is not bound to a claim that only pretends to be the group's",
        world=world(MEMBER, TEAM.bound(ENTRY, "theirs"), claim("theirs")),
        pending=frozenset({"PodGroupClaimPending"}),
    ),
    Case(
        title="an entry that differs from the group's has a claim of its own",
        world=world(MEMBER, BARE.using(ENTRY, template="another"), template()),
        told=CREATED,
    ),
    Case(
        title="a claim of the group for another entry of that name is not adopted",
        world=world(
            MEMBER,
            BARE.using(ENTRY, template="another").bound(ENTRY, "ours"),
            template(),
            OURS,
        ),
        told=CREATED,
    ),
    Case(
        title="where no PodGroups are served every pod has a claim of its own",
        upstream=(UNGROUPED, WITHOUT_GATE),
        world=world(MEMBER, template(), groups_served=False),
        told=CREATED,
    ),
    Case(
        title="a pod without a group gets its claim where PodGroups are served",
        world=world(pod().using(ENTRY, template="my-template"), TEAM, template()),
        told=CREATED,
    ),
    Case(
        title="a group whose claim is there needs nothing",
        upstream=("nop for PodGroup",),
        world=world(TEAM.bound(ENTRY, "ours"), template(), OURS),
        place=GROUP,
    ),
    Case(
        title="a group's claim that does not exist is made again",
        upstream=("recreate for PodGroup",),
        world=world(TEAM.bound(ENTRY, "lost"), template()),
        place=GROUP,
        told=(f"ClaimLost: create {SHARED} for {ENTRY}", f"ClaimBound: publish {ENTRY}={SHARED}"),
    ),
    Case(
        title="a group whose status names a claim of another owner gets one of its own",
        upstream=("recreate-wrong-owner-podgroup",),
        world=world(TEAM.bound(ENTRY, "theirs"), template(), claim("theirs")),
        place=GROUP,
        told=(
            f"ForeignResourceClaim: create {SHARED} for {ENTRY}",
            f"ClaimBound: publish {ENTRY}={SHARED}",
        ),
        pending=frozenset({"ForeignResourceClaim"}),
    ),
    Case(
        title="a group waits for its template",
        upstream=("missing-template-podgroup",),
        world=world(TEAM),
        place=GROUP,
        pending=frozenset({"TemplateNotFound"}),
    ),
    Case(
        title="a group's claim that was never published is adopted",
        upstream=("find-existing-claim-by-label-podgroup",),
        world=world(TEAM, OURS),
        place=GROUP,
        told=(f"ClaimBound: publish {ENTRY}=ours",),
    ),
    Case(
        title="a group that is gone needs nothing",
        upstream=("no-such-podgroup",),
        world=world(),
        place=GROUP,
    ),
    Case(
        title="a group that is being deleted gets no claim",
        upstream=("podgroup-deleted",),
        world=world(TEAM.deleting(), template()),
        place=GROUP,
    ),
    Case(
        title="a group ignores a claim of the same name in another namespace",
        upstream=("create-with-other-claim-podgroup",),
        world=world(TEAM, template(), claim(SHARED, namespace="elsewhere")),
        place=GROUP,
        told=CREATED_FOR_GROUP,
    ),
    Case(
        title="a group does not adopt an un-owned claim that looks like its own",
        upstream=("wrong-claim-owner-podgroup",),
        world=world(TEAM, claim("x").annotated("resource.kubernetes.io/pod-claim-name", ENTRY)),
        place=GROUP,
        pending=frozenset({"TemplateNotFound"}),
    ),
)

RELEASE = (
    Case(
        title="a group that is gone frees the devices, and the garbage collector has the claim",
        upstream=("clear-reserved-podgroup",),
        world=world(OURS.allocated().reserved_for(TEAM), deleted=[TEAM.uid]),
        place=claim_place("ours"),
        told=(
            "LastConsumerGone: reserve for nobody and free the devices",
            "NothingToProtect: unprotect ours",
        ),
        patience=3600.0,
    ),
    Case(
        title="a reservation for a group stays where no PodGroups are served",
        upstream=("dont-clear-reserved-podgroup-feature-disabled",),
        world=world(
            claim("ours").allocated().reserved_for(TEAM), deleted=[TEAM.uid], groups_served=False
        ),
        place=claim_place("ours"),
    ),
    Case(
        title="a group has its claim as long as it exists, whatever its pods do",
        world=world(
            TEAM.bound(ENTRY, "ours"),
            MEMBER.bound(ENTRY, "ours").in_phase("Succeeded"),
            OURS.allocated().reserved_for(TEAM),
        ),
        place=claim_place("ours"),
    ),
)

RESERVATION = (
    Case(
        title="the group's claim is reserved for the group, not for its pod",
        world=world(PLACED.bound(ENTRY, "ours"), TEAM.bound(ENTRY, "ours"), OURS.allocated()),
        place=claim_place("ours"),
        told=("PodScheduled: reserve for test-group",),
    ),
    Case(
        title="a member's own claim is reserved for the group where the group shares the entry",
        upstream=("add-reserved-podgroup",),
        world=world(
            PLACED.bound(ENTRY, "made"),
            TEAM,
            template(),
            claim("made").generated_for(PLACED, ENTRY).allocated(),
        ),
        place=claim_place("made"),
        told=("PodScheduled: reserve for test-group",),
    ),
    Case(
        title="two pods of a group make one reservation",
        world=world(
            PLACED.bound(ENTRY, "ours"),
            pod("second").using(ENTRY, template="my-template").in_group("test-group").on("node"),
            TEAM.bound(ENTRY, "ours"),
            OURS.allocated().reserved_for(foreign_consumer()),
        ),
        place=claim_place("ours"),
        told=("PodScheduled: reserve for foo, test-group",),
    ),
    Case(
        title="a claim of others is not reserved for the group whose status names it",
        world=world(
            PLACED.bound(ENTRY, "theirs"),
            TEAM.bound(ENTRY, "theirs"),
            claim("theirs").allocated(),
        ),
        place=claim_place("theirs"),
    ),
    Case(
        title="nobody is reserved for while the member's group is unknown",
        world=world(
            pod().using(ENTRY, claim="mine").in_group("test-group").on("node"),
            claim("mine").allocated(),
        ),
        place=claim_place("mine"),
    ),
    Case(
        title="a user's claim that the group names is reserved for the group",
        world=world(
            pod().using(ENTRY, claim="mine").in_group("test-group").on("node"),
            BARE.using(ENTRY, claim="mine"),
            claim("mine").allocated(),
        ),
        place=claim_place("mine"),
        told=("PodScheduled: reserve for test-group",),
    ),
    Case(
        title="where no PodGroups are served a pod of a group holds its own claim itself",
        upstream=("add-reserved-podgroup-feature-disabled",),
        world=world(
            PLACED.bound(ENTRY, "made"),
            claim("made").generated_for(PLACED, ENTRY).allocated(),
            groups_served=False,
        ),
        place=claim_place("made"),
        told=("PodScheduled: reserve for test-pod",),
    ),
    Case(
        title="where no PodGroups are served nobody is reserved for in a group's place",
        upstream=("skip-add-reserved-podgroup-workloadresourceclaims-disabled",),
        world=world(
            PLACED.bound(ENTRY, "ours"),
            claim("ours").generated_for(TEAM, ENTRY).allocated(),
            deleted=[TEAM.uid],
            groups_served=False,
        ),
        place=claim_place("ours"),
    ),
)

CASES = CREATION + RELEASE + RESERVATION


@pytest.mark.parametrize("case", params(CREATION))
def test_creation_in_groups(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", params(RELEASE))
def test_release_of_groups(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", params(RESERVATION))
def test_reservation_for_groups(case: Case) -> None:
    case.check()
