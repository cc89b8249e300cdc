"""Which keys a change wakes; after TestEventHandlers of the stock controller."""

from dataclasses import replace

import pytest

from dragoman.cluster.clusterstate import Since
from dragoman.controllers.claims.enqueue import ObjectKey, lane
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.model.pod import STOCK_MANAGER, Pod
from tests.unit.dragoman.claims.objects import (
    NAMESPACE,
    ClaimObject,
    Object,
    PodObject,
    claim,
    fact,
    foreign_consumer,
    group,
    pod,
    template,
)
from tests.unit.dragoman.controllers.claims.harness import Waking, later, stub, waking
from tests.unit.dragoman.kube.virtual_time import Clock

USER = pod().using("gpu", template="my-template")
BOUND = USER.bound("gpu", "made")
MADE = claim("made").generated_for(USER, "gpu")
SHARING = pod("sharing").using("gpu", claim="shared").on("node")
SHARED = claim("shared")
ELSEWHERE = pod("test-pod", uid="uid-else", namespace="elsewhere").using(
    "gpu", template="my-template"
)
EXTENDED = pod("extended").with_extended_claim("made").on("node").in_phase("Running")
TEAM = group("team").using("gpu", template="my-template")
MEMBER = pod("member").using("gpu", template="my-template").in_group("team")


def pod_key(name: str = "test-pod", namespace: str = NAMESPACE) -> ObjectKey:
    """Return the key of a pod."""
    return ObjectKey("pod", namespace, name)


def claim_key(name: str) -> ObjectKey:
    """Return the key of a claim."""
    return ObjectKey("claim", NAMESPACE, name)


GROUP_KEY = ObjectKey("podgroup", NAMESPACE, "team")


CLAIM_TABLE = [
    pytest.param([], "changed", SHARED, {claim_key("shared")}, id="a new claim"),
    pytest.param(
        [SHARED],
        "changed",
        later(SHARED.annotated("a", "b")),
        {claim_key("shared")},
        id="a claim whose labels change",
    ),
    pytest.param(
        [SHARED], "changed", later(SHARED.allocated()), {claim_key("shared")}, id="an allocation"
    ),
    pytest.param(
        [SHARED.allocated()],
        "changed",
        later(SHARED.protected()),
        {claim_key("shared")},
        id="a deallocation",
    ),
    pytest.param([SHARED], "deleted", SHARED, set(), id="a claim that nobody uses is deleted"),
    pytest.param(
        [SHARED, SHARING],
        "changed",
        later(SHARED.allocated().reserved_for(foreign_consumer())),
        {claim_key("shared")},
        id="who uses a claim is no business of its other users",
    ),
    pytest.param(
        [SHARING],
        "changed",
        SHARED,
        {claim_key("shared"), pod_key("sharing")},
        id="a claim that a pod waits for",
    ),
    pytest.param(
        [BOUND, MADE], "deleted", MADE, {pod_key()}, id="a generated claim is deleted: its pod"
    ),
    pytest.param(
        [USER, MADE],
        "deleted",
        stub(MADE),
        {pod_key()},
        id="an unpublished claim vanished during an outage: its owner",
    ),
    pytest.param(
        [BOUND, MADE.allocated()],
        "changed",
        later(MADE.allocated().deleting()),
        {claim_key("made"), pod_key()},
        id="a generated claim begins to go",
    ),
    pytest.param([SHARED], "changed", SHARED, set(), id="the same state again"),
]

POD_TABLE = [
    pytest.param([], "changed", USER, {pod_key()}, id="a new pod"),
    pytest.param(
        [], "changed", ELSEWHERE, {pod_key("test-pod", "elsewhere")}, id="a pod elsewhere"
    ),
    pytest.param(
        [SHARED], "changed", SHARING, {pod_key("sharing"), claim_key("shared")}, id="a placed pod"
    ),
    pytest.param(
        [BOUND, MADE],
        "changed",
        later(BOUND.on("node").in_phase("Succeeded")),
        {claim_key("made")},
        id="a pod that finished: its claims, not itself",
    ),
    pytest.param(
        [BOUND, MADE],
        "changed",
        later(BOUND.in_phase("Failed")),
        {claim_key("made")},
        id="a pod that failed before it had a node",
    ),
    pytest.param(
        [USER, MADE],
        "changed",
        later(USER.in_phase("Failed")),
        {claim_key("made")},
        id="a finished pod whose claim was never published",
    ),
    pytest.param(
        [BOUND, MADE],
        "changed",
        later(BOUND.deleting()),
        {claim_key("made")},
        id="a pod that is deleted before it had a node",
    ),
    pytest.param([BOUND, MADE], "deleted", BOUND, {claim_key("made")}, id="a deleted pod"),
    pytest.param(
        [SHARING],
        "deleted",
        stub(SHARING),
        {claim_key("shared")},
        id="a pod vanished during an outage: the claims that it is known to have used",
    ),
    pytest.param(
        [SHARING],
        "changed",
        later(pod("sharing", uid="uid-new").using("gpu", template="my-template")),
        {pod_key("sharing"), claim_key("shared")},
        id="a pod was replaced during an outage: the claims of the old one too",
    ),
    pytest.param(
        [],
        "changed",
        EXTENDED.in_phase("Succeeded"),
        {claim_key("made")},
        id="a finished pod with a claim for extended resources",
    ),
    pytest.param(
        [],
        "changed",
        EXTENDED.using("gpu", template="my-template").bound("gpu", "other").in_phase("Failed"),
        {claim_key("made"), claim_key("other")},
        id="a failed pod with claims of both kinds",
    ),
    pytest.param(
        [EXTENDED], "deleted", EXTENDED, {claim_key("made")}, id="a deleted pod of that kind"
    ),
]

TEMPLATE_TABLE = [
    pytest.param(
        [USER, ELSEWHERE], "changed", template(), {pod_key()}, id="a template: pods that wait there"
    ),
    pytest.param(
        [USER, ELSEWHERE],
        "changed",
        template(namespace="elsewhere"),
        {pod_key("test-pod", "elsewhere")},
        id="a template of the other namespace: the pod there",
    ),
    pytest.param([BOUND, MADE], "changed", template(), set(), id="a pod that has its claim sleeps"),
    pytest.param(
        [USER.bound("gpu", "theirs"), claim("theirs")],
        "changed",
        template(),
        {pod_key()},
        id="a pod whose status names another owner's claim",
    ),
    pytest.param(
        [pod().using("gpu", template="other")], "changed", template(), set(), id="another template"
    ),
    pytest.param(
        [USER, template()],
        "changed",
        later(template().changed("metadata", "labels", "team", to="a")),
        set(),
        id="a label of a template: nothing about its claims changes",
    ),
    pytest.param([BOUND, MADE, template()], "deleted", template(), set(), id="a template goes"),
    pytest.param([TEAM], "changed", template(), {GROUP_KEY}, id="a template that a group names"),
]

GROUP_TABLE = [
    pytest.param([], "changed", TEAM, {GROUP_KEY}, id="a new group"),
    pytest.param(
        [MEMBER, USER],
        "changed",
        TEAM.bound("gpu", "ours"),
        {GROUP_KEY, pod_key("member"), claim_key("ours")},
        id="a group's claim is published: its members, and nobody else",
    ),
    pytest.param(
        [TEAM],
        "changed",
        claim("ours").generated_for(TEAM, "gpu"),
        {claim_key("ours"), GROUP_KEY},
        id="a claim made for a group",
    ),
    pytest.param(
        [MEMBER.on("node").bound("gpu", "made")],
        "changed",
        TEAM,
        {GROUP_KEY, pod_key("member"), claim_key("made")},
        id="a group that a placed member waits for: its claim as well",
    ),
    pytest.param(
        [group("team").using("gpu", claim="shared"), SHARED],
        "deleted",
        stub(TEAM),
        {GROUP_KEY, claim_key("shared")},
        id="a group vanished during an outage: the claims that it is known to have used",
    ),
    pytest.param(
        [TEAM, claim("ours").generated_for(TEAM, "gpu")],
        "deleted",
        TEAM,
        {GROUP_KEY, claim_key("ours")},
        id="a deleted group: claims made for it",
    ),
]


@pytest.mark.parametrize(
    ("before", "kind", "found", "woken"), CLAIM_TABLE + POD_TABLE + TEMPLATE_TABLE + GROUP_TABLE
)
def test_a_change_wakes_whom_it_concerns(
    before: list[Object], kind: str, found: Object, woken: set[ObjectKey]
) -> None:
    assert waking(*before).tell(kind, found) == woken


def test_old_news_wakes_nobody() -> None:
    known = waking(later(BOUND), later(MADE))
    assert known.tell("changed", BOUND) == set()
    assert known.tell("changed", MADE) == set()


def test_news_of_the_dead_wakes_nobody() -> None:
    known = waking(BOUND, MADE)
    known.tell("deleted", MADE)
    assert known.tell("changed", later(MADE)) == set()


def observed() -> tuple[Waking, list[str]]:
    """Return a cluster, and what the observer of another controller reports."""
    seen: list[str] = []
    made = waking()
    other = made.intake.other = OtherController(
        made.cluster.state, lambda *_: seen.append("activity"), lambda *_: seen.append("fault")
    )
    other.begin()
    return made, seen


def test_a_watch_that_lags_behind_own_writes_shows_no_activity_of_another() -> None:
    made, seen = observed()
    user = pod("user").using("gpu", template="my-template")
    published = user.bound("gpu", "made").changed("metadata", "resourceVersion", to="9")
    made.tell("changed", claim("made").generated_for(user, "gpu"))
    seen.clear()
    for found in (user, published):
        made.tell("changed", found)
    for version in ("2", "3", "4"):
        late = user.changed("metadata", "resourceVersion", to=version)
        made.tell("changed", late)
    assert seen == []


def test_an_own_publication_beside_the_stock_controllers_shows_no_activity_of_another() -> None:
    made, seen = observed()
    stamp = [{"manager": STOCK_MANAGER, "time": "2026-01-01T00:00:00Z"}]
    user = pod("user").using("gpu", template="my-template").using("nic", template="my-template")
    stamped = user.changed("metadata", "managedFields", to=stamp).bound("gpu", "theirs")
    made.tell("changed", stamped)
    seen.clear()
    ours = stamped.bound("nic", "ours").changed("metadata", "resourceVersion", to="9")
    key = ObjectKey("pod", NAMESPACE, "user")
    made.intake.store(made.cluster.pods, Pod.parse(ours.document), key)
    assert seen == []


def test_everything_is_looked_at_in_a_full_pass() -> None:
    known = waking(USER, TEAM, MADE, template())
    known.queue.keys.clear()
    known.intake.enqueue_all()
    assert known.queue.keys == {pod_key(), GROUP_KEY, claim_key("made")}


@pytest.mark.parametrize(
    ("key", "name"),
    [(pod_key(), "create"), (GROUP_KEY, "create"), (claim_key("made"), "release")],
)
def test_creating_and_releasing_have_lanes_of_their_own(key: ObjectKey, name: str) -> None:
    assert lane(key) == name


def shared_by(count: int) -> tuple[list[PodObject], ClaimObject]:
    """Return pods that share one claim, all of them reserved."""
    users = [pod(f"user-{index}").using("gpu", claim="shared").on("node") for index in range(count)]
    return users, SHARED.allocated().reserved_for(*users)


def test_the_end_of_one_of_many_users_wakes_the_claim_only() -> None:
    users, shared = shared_by(20)
    known = waking(*users, shared)
    assert known.tell("deleted", users[7]) == {claim_key("shared")}


def test_nothing_is_remembered_of_claims_that_are_gone() -> None:
    known = waking(SHARED)
    times = known.intake.state.times = Since(Clock())
    times.began_long_ago(SHARED.uid, "idle", "1")
    known.tell("deleted", SHARED)
    assert times.elapsed(SHARED.uid, "idle", holds=True, version="1") == 0.0


def test_a_pod_that_waits_without_claims_wakes_nobody() -> None:
    """Explanations need it; the life-cycle of claims does not."""
    made = waking()
    found = replace(Pod.parse(pod("plain").document), waiting={})
    assert made.tell("changed", found) == set()
    assert made.tell("changed", replace(Pod.parse(USER.document), waiting={})) == {pod_key()}


def test_only_pods_that_use_claims_count_for_their_namespaces() -> None:
    """`auto` needs the activity of another controller in as many of them."""
    made = waking(USER, ELSEWHERE)
    plain = fact(pod("plain", namespace="third"))
    assert isinstance(plain, Pod)
    made.tell("changed", replace(plain, waiting={"spec": {}}))
    assert made.intake.pods_with_claims == {NAMESPACE: 1, "elsewhere": 1}
    made.tell("changed", later(USER))
    made.tell("deleted", ELSEWHERE)
    assert made.intake.pods_with_claims == {NAMESPACE: 1}
