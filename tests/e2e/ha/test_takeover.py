"""Two or three operators: who leads, who follows, and what it costs in time and writes."""

import signal
import time
from collections import Counter

import pytest

from tests.e2e.ha.conftest import MakeReplicas
from tests.e2e.ha.replicas import SHORT_DURATION, Replicas, seconds
from tests.e2e.running import OperatorProcess
from tests.e2e.scene import Scene
from tests.support.controlplane.api import wait_for

MARGIN = 2.0


def make_pods(scene: Scene, prefix: str, count: int) -> list[str]:
    """Create pods of one claim each; returns their names."""
    names = [f"{prefix}-{number}" for number in range(count)]
    scene.api.create_many(scene.pod(name) for name in names)
    return names


def check_claims(scene: Scene, replicas: Replicas, pods: list[str]) -> None:
    """See that each pod has one claim, and that each was written once."""
    bound = {name: scene.published(name)["a"] for name in pods}
    replicas.settled()
    assert sorted(bound.values()) == sorted(scene.claims())
    assert len(bound) == len({*bound.values()})
    made = Counter(
        write.name
        for write in scene.plane.audit.writes(namespace=scene.namespace, verb="create")
        if write.resource == "resourceclaims"
    )
    assert {name for name, count in made.items() if count > 1} == set()


def test_kubectl_shows_the_holder_and_only_the_holder_writes(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(2)
    leader = replicas.start()
    shown = scene.plane.kubectl("get", "lease", "-n", scene.namespace).stdout
    assert f"{leader.environment['POD_NAME']}_" in shown
    scene.apply(scene.template())
    pods = make_pods(scene, "pod", 20)
    check_claims(scene, replicas, pods)
    (other,) = replicas.others(leader)
    written = scene.plane.audit.counts(other.user.name, namespace=scene.namespace, refused=None)
    assert written == {}


def take_over_after_a_kill(scene: Scene, replicas: Replicas, within: float) -> None:
    leader = replicas.start()
    scene.apply(scene.template())
    pods = make_pods(scene, "before", 40)
    began = time.monotonic()
    leader.kill()
    pods += make_pods(scene, "after", 10)
    replicas.leader(but=leader, timeout=within + 5)
    assert seconds(began) <= within
    check_claims(scene, replicas, pods)


def test_a_leader_that_was_killed_is_followed_within_lease_duration_and_two_seconds(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    take_over_after_a_kill(scene, make_replicas(3), SHORT_DURATION + MARGIN)


@pytest.mark.slow
def test_with_the_default_terms_it_takes_seventeen_seconds_at_most(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    take_over_after_a_kill(scene, make_replicas(2, "--log-level=info"), 15 + MARGIN)


def test_a_clean_stop_hands_over_in_under_two_seconds_with_the_default_terms(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(2, "--log-level=info")
    leader = replicas.start()
    scene.apply(scene.template())
    pods = make_pods(scene, "before", 20)
    for name in pods:
        scene.published(name)
    leader.signal(signal.SIGTERM)
    mine = f"{leader.environment['POD_NAME']}_"
    wait_for(lambda: not lease_holder(scene).startswith(mine), 5, "the release", every=0.01)
    began = time.monotonic()
    wait_for(lambda: lease_holder(scene) != "", 10, "a follower", every=0.01)
    assert seconds(began) < MARGIN
    follower = replicas.leader(but=leader)
    assert leader.wait(5) == 0
    pods += make_pods(scene, "after", 10)
    check_claims(scene, replicas, pods)
    assert "Synced" not in follower.said().rpartition("Leading")[2], "it had to list first"


def test_sigterm_ends_a_leader_that_is_writing_within_five_seconds(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(1)
    leader = replicas.start()
    scene.apply(scene.template())
    pods = make_pods(scene, "pod", 250)
    wait_for(lambda: len(scene.claims()) > 5, message="the work to begin", every=0.01)
    began = time.monotonic()
    assert leader.stop(grace=5) == 0
    assert seconds(began) < 5
    assert replicas.holder() == ""
    named = {scene.statuses(name).get("a") for name in pods}
    assert {*scene.claims()} <= named, "a claim was made and not published"
    leader.start()
    check_claims(scene, replicas, pods)


@pytest.mark.parametrize("busy", [False, True], ids=["in peace", "in the middle of its work"])
def test_a_paused_leader_changes_nothing_after_its_term(
    scene: Scene, make_replicas: MakeReplicas, busy: bool
) -> None:
    replicas = make_replicas(2)
    leader = replicas.start()
    scene.apply(scene.template())
    pods = make_pods(scene, "before", 30)
    if not busy:
        for name in pods:
            scene.published(name)
        replicas.settled()
    leader.signal(signal.SIGSTOP)
    try:
        replicas.leader(but=leader, timeout=SHORT_DURATION + 5)
        pods += make_pods(scene, "meanwhile", 30)
        for name in pods:
            scene.published(name)
        scene.plane.audit.settled()
        since = scene.plane.audit.mark()
    finally:
        leader.signal(signal.SIGCONT)
    wait_for(lambda: "No longer leading" in leader.said(), message="it to notice")
    pods += make_pods(scene, "after", 10)
    check_claims(scene, replicas, pods)
    audit = scene.plane.audit
    late = audit.writes(leader.user.name, since, namespace=scene.namespace, refused=None)
    # What was on its way to the socket when it was stopped still goes out: idempotent, all of it.
    assert [one for one in late if not busy or (one.verb != "patch" and not one.refused)] == []
    assert replicas.leader() is not leader


def test_a_lease_that_was_stolen_by_hand_is_respected_until_it_ends(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(1)
    leader = replicas.start()
    scene.apply(scene.template())
    steal(scene, leader)
    pods = make_pods(scene, "during", 5)
    time.sleep(SHORT_DURATION / 2)
    assert scene.claims() == {}
    assert replicas.leader() is leader
    check_claims(scene, replicas, pods)


def lease_holder(scene: Scene) -> str:
    """Return the holder's identity, as the API has it."""
    lease = scene.api.get("leases", "dragoman-operator", scene.namespace)
    return str(lease["spec"].get("holderIdentity", ""))


def steal(scene: Scene, leader: OperatorProcess) -> None:
    """Put another name into the Lease, and wait until the leader steps down."""
    body = {"spec": {"holderIdentity": "a-thief"}}
    scene.api.patch("leases", "dragoman-operator", scene.namespace, body)
    wait_for(lambda: "No longer leading" in leader.said(), message="the leader to step down")


def test_three_operators_die_one_after_the_other_and_nothing_is_lost(
    scene: Scene, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(3)
    leader = replicas.start()
    scene.apply(scene.template())
    pods: list[str] = []
    for number in range(2):
        pods += make_pods(scene, f"round-{number}", 40)
        leader.kill()
        leader = replicas.leader(but=leader, timeout=SHORT_DURATION + 5)
    pods += make_pods(scene, "last", 10)
    check_claims(scene, replicas, pods)
