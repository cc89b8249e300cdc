"""Template to claim: what is made, adopted, published or waited for."""

import pytest

from dragoman.claims.naming import claim_name
from tests.unit.dragoman.claims.cases import POD, Case, claim_place, params
from tests.unit.dragoman.claims.model_server import Server
from tests.unit.dragoman.claims.objects import PodObject, claim, pod, template
from tests.unit.dragoman.claims.reconciling import Reconciler
from tests.unit.dragoman.claims.worlds import world

ENTRY = "acme-resource"
NAME = claim_name(owner="test-pod", owner_uid="uid-test-pod", entry=ENTRY)
SECOND = claim_name(owner="test-pod", owner_uid="uid-test-pod", entry=ENTRY, attempt=1)
CREATED = f"ClaimFromTemplate: create {NAME} for {ENTRY}"
PUBLISHED = f"ClaimBound: publish {ENTRY}={NAME}"

USER = pod().using(ENTRY, template="my-template")
OTHER = pod("other-pod").using(ENTRY, template="my-template")
MADE = claim("made").generated_for(USER, ENTRY)
ADMIN = template().changed(
    "spec",
    "spec",
    to={"devices": {"requests": [{"name": "r", "exactly": {"adminAccess": True}}]}},
)
PREFERENCES = template().changed(
    "spec",
    "spec",
    to={"devices": {"requests": [{"name": "r", "firstAvailable": [{"name": "sub"}]}]}},
)

CASES = (
    Case(
        title="a pod with a template gets a claim and its name in the status",
        upstream=("create",),
        world=world(USER, template()),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="a template with admin access gives a claim with admin access",
        upstream=("create with admin and feature gate on",),
        world=world(USER, ADMIN),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="a template with alternatives is not looked into",
        world=world(USER, PREFERENCES),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="a pod behind scheduling gates gets its claim all the same",
        world=world(USER.changed("spec", "schedulingGates", to=[{"name": "wait"}]), template()),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="a published claim that is there needs nothing",
        upstream=("nop",),
        world=world(USER.bound(ENTRY, "made"), template(), MADE),
    ),
    Case(
        title="a published claim that is being deleted is still the pod's",
        world=world(USER.bound(ENTRY, "made"), template(), MADE.allocated().deleting()),
    ),
    Case(
        title="a published claim that does not exist is made again",
        upstream=("recreate",),
        world=world(USER.bound(ENTRY, "lost"), template()),
        told=(f"ClaimLost: create {NAME} for {ENTRY}", PUBLISHED),
    ),
    Case(
        title="a lost claim that had its name from us comes back without another publication",
        world=world(USER.bound(ENTRY, NAME), template()),
        told=(f"ClaimLost: create {NAME} for {ENTRY}",),
    ),
    Case(
        title="a missing template is waited for",
        upstream=("missing-template",),
        world=world(USER),
        pending=frozenset({"TemplateNotFound"}),
    ),
    Case(
        title="a template of another namespace does not count",
        world=world(USER, template(namespace="elsewhere")),
        pending=frozenset({"TemplateNotFound"}),
    ),
    Case(
        title="a claim that was made and never published is adopted without its template",
        upstream=("find-existing-claim-by-label",),
        world=world(USER, MADE),
        told=(f"ClaimBound: publish {ENTRY}=made",),
    ),
    Case(
        title="of two claims made for an entry the one in use is adopted, the other left alone",
        world=world(USER, template(), MADE, claim("zz").generated_for(USER, ENTRY).allocated()),
        told=(f"ClaimBound: publish {ENTRY}=zz",),
    ),
    Case(
        title="an unpublished claim that is being deleted is not adopted",
        world=world(USER, template(), MADE.allocated().deleting()),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="a claim for extended resources is not taken for an entry's",
        world=world(
            USER,
            template(),
            claim("made")
            .owned_by(USER)
            .annotated("resource.kubernetes.io/extended-resource-claim", "true"),
        ),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="a template that annotates its claims as extended gets one claim, not one a retry",
        world=world(
            USER,
            template(),
            MADE.annotated("resource.kubernetes.io/extended-resource-claim", "true"),
        ),
        told=("ClaimBound: publish acme-resource=made",),
    ),
    Case(title="a pod that is gone needs nothing", upstream=("no-such-pod",), world=world()),
    Case(
        title="a pod that is being deleted gets no claim",
        upstream=("pod-deleted",),
        world=world(USER.deleting(), template()),
    ),
    Case(
        title="a running pod that is being deleted gets no claim either",
        world=world(USER.on("node").in_phase("Running").deleting(), template()),
    ),
    Case(
        title="a pod that succeeded gets no claim",
        world=world(USER.on("node").in_phase("Succeeded"), template()),
    ),
    Case(
        title="a pod that failed gets no claim back for the one it lost",
        world=world(USER.bound(ENTRY, "lost").in_phase("Failed"), template()),
    ),
    Case(
        title="a finished pod's unpublished claim is not published",
        world=world(USER.in_phase("Succeeded"), MADE),
    ),
    Case(
        title="a pod without claims needs nothing",
        upstream=("no-volumes",),
        world=world(pod(), template()),
    ),
    Case(
        title="a claim of the same name in another namespace is not touched",
        upstream=("create-with-other-claim",),
        world=world(USER, template(), claim(NAME, namespace="elsewhere")),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="an un-owned claim that looks like ours is not adopted",
        upstream=("wrong-claim-owner",),
        world=world(USER, claim("made").annotated("resource.kubernetes.io/pod-claim-name", ENTRY)),
        pending=frozenset({"TemplateNotFound"}),
    ),
    Case(
        title="a name that a user's claim has taken is passed over",
        world=world(USER, template(), claim(NAME)),
        told=(
            f"ClaimFromTemplate: create {SECOND} for {ENTRY}",
            f"ClaimBound: publish {ENTRY}={SECOND}",
        ),
    ),
    Case(
        title="a published claim of another pod is left alone, replaced and told about",
        world=world(
            USER.bound(ENTRY, "theirs"),
            OTHER,
            template(),
            claim("theirs").generated_for(OTHER, ENTRY),
        ),
        told=(f"ForeignResourceClaim: create {NAME} for {ENTRY}", PUBLISHED),
        pending=frozenset({"ForeignResourceClaim"}),
    ),
    Case(
        title="an entry whose null name says that it needs no claim gets none",
        world=world(USER.bound(ENTRY, None), template()),
    ),
    Case(
        title="a null entry does not keep the others from their claims",
        world=world(
            pod()
            .using("none", template="my-template")
            .bound("none", None)
            .using(ENTRY, template="my-template"),
            template(),
        ),
        told=(CREATED, PUBLISHED),
    ),
    Case(
        title="an entry of a newer API is told about and does not stop the others",
        world=world(pod().using("new").using(ENTRY, template="my-template"), template()),
        told=(CREATED, PUBLISHED),
        pending=frozenset({"UnsupportedEntry"}),
    ),
    Case(
        title="a missing template delays no other entry",
        world=world(
            pod().using("late", template="late").using(ENTRY, template="my-template"), template()
        ),
        told=(CREATED, PUBLISHED),
        pending=frozenset({"TemplateNotFound"}),
    ),
    Case(
        title="a user's claim that is there needs nothing",
        world=world(pod().using(ENTRY, claim="mine"), claim("mine")),
    ),
    Case(
        title="a user's claim that is missing is the user's to make",
        world=world(pod().using(ENTRY, claim="mine"), template()),
        pending=frozenset({"ResourceClaimNotFound"}),
    ),
)


@pytest.mark.parametrize("case", params(CASES))
def test_creation(case: Case) -> None:
    case.check()


def test_publication_of_a_second_entry_keeps_the_first() -> None:
    both = pod().using("a", template="my-template").using("b", template="my-template")
    name = claim_name(owner="test-pod", owner_uid="uid-test-pod", entry="b")
    case = Case(
        title="flapping",
        world=world(both.bound("a", "made"), template(), claim("made").generated_for(both, "a")),
        told=(f"ClaimFromTemplate: create {name} for b", f"ClaimBound: publish b={name}"),
    )
    server = case.check()
    assert server.get(POD)["status"]["resourceClaimStatuses"] == [
        {"name": "a", "resourceClaimName": "made"},
        {"name": "b", "resourceClaimName": name},
    ]
    assert server.writes == ["POST resourceclaims", "PATCH pods/status"]


def test_thirty_two_entries_take_one_publication() -> None:
    entries = [f"entry-{index}" for index in range(32)]
    user = pod()
    for entry in entries:
        user = user.using(entry, template="my-template")
    names = {
        entry: claim_name(owner="test-pod", owner_uid="uid-test-pod", entry=entry)
        for entry in entries
    }
    created = [f"ClaimFromTemplate: create {name} for {entry}" for entry, name in names.items()]
    publication = ", ".join(f"{entry}={name}" for entry, name in names.items())
    case = Case(
        title="32 entries",
        world=world(user, template()),
        told=(*created, f"ClaimBound: publish {publication}"),
    )
    assert len(set(names.values())) == 32
    assert case.check().writes[-1] == "PATCH pods/status"


def test_a_foreign_claim_stays_as_it_was() -> None:
    theirs = claim("theirs").generated_for(OTHER, ENTRY)
    case = Case(
        title="foreign",
        world=world(USER.bound(ENTRY, "theirs"), OTHER, template(), theirs),
        told=(f"ForeignResourceClaim: create {NAME} for {ENTRY}", PUBLISHED),
        pending=frozenset({"ForeignResourceClaim"}),
    )
    stored = case.check().get(claim_place("theirs"))
    assert stored["metadata"]["ownerReferences"] == theirs.document["metadata"]["ownerReferences"]
    assert stored["spec"] == theirs.document["spec"]


@pytest.mark.parametrize(
    ("user", "message"),
    [
        pytest.param(
            USER,
            'PodResourceClaim acme-resource: resource claim template "my-template": '
            'resourceclaimtemplate.resource.k8s.io "my-template" not found',
            id="a missing template",
        ),
        pytest.param(
            pod().using(ENTRY, claim="mine"),
            'PodResourceClaim acme-resource: resource claim "mine" not found',
            id="a missing claim of a user",
        ),
        pytest.param(
            pod().using(ENTRY),
            "PodResourceClaim acme-resource: names neither a claim nor a template",
            id="an entry of a newer API",
        ),
    ],
)
def test_what_cannot_be_done_is_told_to_people(user: PodObject, message: str) -> None:
    reconciler = Reconciler(Server.holding(world(user)))
    reconciler.view.patience = 3600.0
    (wait,) = reconciler.settle(POD).pending
    assert wait.message == message
    assert wait.report


def test_a_young_pod_may_wait_for_its_users_claim_in_silence() -> None:
    reconciler = Reconciler(Server.holding(world(pod().using(ENTRY, claim="mine"))))
    reconciler.view.patience = 5.0
    (wait,) = reconciler.settle(POD).pending
    assert not wait.report
    assert wait.after == pytest.approx(25.0)
