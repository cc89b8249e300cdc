"""What happens when the operator knows less than the API server."""

from collections.abc import Callable

import pytest

from dragoman.claims.actions import CreateClaim, PublishClaims
from dragoman.claims.naming import claim_name
from dragoman.claims.policies import WATCH_LAG
from tests.unit.dragoman.claims.cases import GROUP, POD, claim_place, describe
from tests.unit.dragoman.claims.model_server import Place, Server
from tests.unit.dragoman.claims.objects import (
    ClaimObject,
    HolderObject,
    claim,
    group,
    pod,
    template,
)
from tests.unit.dragoman.claims.reconciling import DivergedError, Reconciler, View, send
from tests.unit.dragoman.claims.worlds import ClusterState, world

ENTRY = "acme-resource"
USER = pod().using(ENTRY, template="my-template")
TEAM = group("test-group").using(ENTRY, template="my-template")
HOLDERS = [pytest.param(USER, POD, id="a pod"), pytest.param(TEAM, GROUP, id="a PodGroup")]
MINE = claim_place("mine")


def name(holder: HolderObject, attempt: int = 0) -> str:
    """Return the name of the claim of a holder's entry."""
    return claim_name(owner=holder.name, owner_uid=holder.uid, entry=ENTRY, attempt=attempt)


def blind(server: Server, *unknown: Place) -> Reconciler:
    """Return a reconciler that does not know some places yet."""
    reconciler = Reconciler(server)
    for place in unknown:
        del reconciler.view.facts[place]
    return reconciler


@pytest.mark.parametrize(("holder", "place"), HOLDERS)
def test_an_own_claim_is_known_before_the_watch(holder: HolderObject, place: Place) -> None:
    server = Server.holding(world(holder, template()))
    reconciler = Reconciler(server)
    creation = reconciler.view.plan(place, {}).actions[0]
    assert reconciler.perform(creation)
    (told,) = reconciler.settle(place).actions
    assert describe(told) == f"ClaimBound: publish {ENTRY}={name(holder)}"


@pytest.mark.parametrize(("holder", "place"), HOLDERS)
@pytest.mark.parametrize(
    ("taken_by", "attempt"),
    [
        pytest.param(lambda holder, made: made.generated_for(holder, ENTRY), 0, id="our own claim"),
        pytest.param(lambda _, made: made, 1, id="a user's claim"),
        pytest.param(
            lambda holder, made: made.generated_for(holder, ENTRY).allocated().deleting(),
            1,
            id="our own claim that is going away",
        ),
    ],
)
def test_a_name_that_was_taken_unseen_is_looked_at(
    holder: HolderObject,
    place: Place,
    taken_by: Callable[[HolderObject, ClaimObject], ClaimObject],
    attempt: int,
) -> None:
    taken = taken_by(holder, claim(name(holder)))
    server = Server.holding(world(holder, template(), taken))
    blind(server, claim_place(name(holder))).settle(place)
    (published,) = server.get(place)["status"]["resourceClaimStatuses"]
    assert published["resourceClaimName"] == name(holder, attempt)
    assert server.writes.count("POST resourceclaims") == 1 + attempt


def test_two_writers_make_one_claim() -> None:
    server = Server.holding(world(USER, template()))
    first, second = Reconciler(server), Reconciler(server)
    first.settle(POD)
    second.settle(POD)
    assert [found.name for found in server.objects("ResourceClaim")] == [name(USER)]
    assert server.writes.count("POST resourceclaims") == 2


def test_a_crash_between_creation_and_publication_is_made_good_by_the_next_process() -> None:
    server = Server.holding(world(USER, template()))
    send(server, Reconciler(server).view.plan(POD, {}).actions[0])
    actions = Reconciler(server).settle(POD).actions
    assert [type(action) for action in actions] == [PublishClaims]


def test_a_lost_answer_to_a_creation_makes_no_second_claim() -> None:
    server = Server.holding(world(USER, template()))
    reconciler = Reconciler(server)
    creation = reconciler.view.plan(POD, {}).actions[0]
    send(server, creation)
    assert isinstance(creation, CreateClaim)
    reconciler.settle(POD)
    assert [found.name for found in server.objects("ResourceClaim")] == [creation.name]


def test_a_published_claim_that_is_not_known_yet_is_looked_up_live() -> None:
    made = claim("made").generated_for(USER, ENTRY)
    server = Server.holding(world(USER.bound(ENTRY, "made"), template(), made))
    assert blind(server, claim_place("made")).settle(POD).actions == ()


def test_a_consumer_that_is_not_known_is_looked_up_live() -> None:
    user = pod().using(ENTRY, claim="mine").on("node")
    server = Server.holding(world(user, claim("mine").allocated().reserved_for(user)))
    assert blind(server, POD).settle(MINE).actions == ()


def test_an_owner_that_is_not_known_is_looked_up_live() -> None:
    made = claim("mine").generated_for(USER, ENTRY)
    server = Server.holding(world(USER.bound(ENTRY, "mine"), made))
    reconciler = blind(server, POD)
    reconciler.view.patience = 3600.0
    assert reconciler.settle(MINE).actions == ()


def test_an_owner_that_was_replaced_is_found_out_by_a_live_look() -> None:
    made = claim("mine").generated_for(USER, ENTRY)
    server = Server.holding(world(USER.bound(ENTRY, "mine"), made))
    reconciler = Reconciler(server)
    server.remove(POD)
    server.add(pod(uid="uid-new").using(ENTRY, template="my-template"))
    del reconciler.view.facts[POD]
    reconciler.view.patience = 3600.0
    (action,) = reconciler.settle(MINE).actions
    assert describe(action) == "OwnerReplaced: delete mine"


def test_more_deleted_pods_than_anybody_remembers_are_looked_up_live() -> None:
    deleted = [pod(f"gone-{index}") for index in range(200)]
    full = claim("mine").allocated().reserved_for(*deleted)
    server = Server.holding(world(full, deleted=[each.uid for each in deleted]))
    reconciler = Reconciler(server)
    reconciler.view.deleted.clear()
    reconciler.settle(MINE)
    assert "reservedFor" not in server.get(MINE)["status"]
    assert server.writes == ["PATCH resourceclaims/status"]


def conflicting() -> list[object]:
    """Return worlds in which a claim is to be written."""
    user = pod().using(ENTRY, claim="mine").on("node")
    deleted = pod("gone")
    shared = claim("mine").allocated()
    return [
        pytest.param(world(user, shared), id="a reservation"),
        pytest.param(world(shared.reserved_for(deleted), deleted=[deleted.uid]), id="a release"),
        pytest.param(world(claim("mine").protected()), id="the finalizer"),
    ]


@pytest.mark.parametrize("start", conflicting())
def test_a_write_on_an_old_state_fails_and_is_planned_anew(start: ClusterState) -> None:
    server = Server.holding(start)
    reconciler = Reconciler(server)
    reconciler.view.patience = 3600.0
    server.change(MINE, lambda found: found.annotated("touched", "meanwhile"))
    before = len(server.writes)
    reconciler.settle(MINE)
    assert server.get(MINE)["metadata"]["annotations"] == {"touched": "meanwhile"}
    assert len(server.writes) - before >= 2


def test_the_scheduler_wins_against_the_end_of_a_release() -> None:
    server = Server.holding(world(claim("mine").protected()))
    reconciler = Reconciler(server)
    reconciler.view.patience = 3600.0
    server.change(MINE, lambda found: found.allocated_by_others())
    reconciler.settle(MINE)
    stored = server.get(MINE)
    assert stored["metadata"]["finalizers"]
    assert stored["status"]["allocation"]


def test_a_claim_that_was_replaced_under_its_name_is_not_deleted() -> None:
    done = pod("done").using(ENTRY, template="my-template").in_phase("Succeeded")
    server = Server.holding(world(done, claim("mine").generated_for(done, ENTRY)))
    reconciler = Reconciler(server)
    server.remove(MINE)
    server.add(claim("mine", uid="uid-of-a-user"))
    reconciler.settle(MINE)
    assert server.get(MINE)["metadata"]["uid"] == "uid-of-a-user"


def test_a_pod_that_was_replaced_under_its_name_is_not_told_about_the_old_claim() -> None:
    server = Server.holding(world(USER, template()))
    reconciler = Reconciler(server)
    server.remove(POD)
    server.add(pod(uid="uid-new").using(ENTRY, template="my-template"))
    reconciler.settle(POD)
    statuses = server.get(POD)["status"].get("resourceClaimStatuses") or []
    new = claim_name(owner="test-pod", owner_uid="uid-new", entry=ENTRY)
    assert [status["resourceClaimName"] for status in statuses] in ([], [new])


def test_a_template_that_comes_again_touches_no_claim() -> None:
    made = claim("made").generated_for(USER, ENTRY)
    server = Server.holding(world(USER.bound(ENTRY, "made"), template(), made))
    place = Place("resourceclaimtemplates", POD.namespace, "my-template")
    server.remove(place)
    server.add(template().changed("metadata", "uid", to="uid-again"))
    assert Reconciler(server).settle_all() == []


def test_a_pod_whose_watch_is_ahead_of_the_templates_gets_all_claims_with_one_publication() -> None:
    both = USER.using("b", template="b")
    server = Server.holding(world(both, template()))
    reconciler = Reconciler(server)
    server.add(template("b"))
    done = reconciler.settle(POD)
    assert [type(action) for action in done.actions] == [CreateClaim, CreateClaim, PublishClaims]
    assert done.pending == ()


def test_an_older_pod_is_published_without_a_look_for_its_missing_template() -> None:
    both = USER.using("b", template="b")
    server = Server.holding(world(both, template()))
    reconciler = Reconciler(server)
    reconciler.view.patience = WATCH_LAG
    server.add(template("b"))
    done = reconciler.settle(POD)
    assert [type(action) for action in done.actions] == [CreateClaim, PublishClaims]
    assert done.reasons() == {"TemplateNotFound"}


def test_a_planner_that_never_settles_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.holding(world(USER, template()))
    reconciler = Reconciler(server)
    plan = reconciler.view.plan(POD, {})
    monkeypatch.setattr(View, "plan", lambda *_: plan)
    with pytest.raises(DivergedError):
        reconciler.settle(POD)
