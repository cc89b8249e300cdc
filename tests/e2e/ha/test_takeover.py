"""Two or three operators: who leads, who follows, and what it costs in time and writes."""

import signal
import time
from collections import Counter

import pytest

from tests.e2e.ha.conftest import MakeReplicas
from tests.e2e.ha.replicas import SHORT_DURATION, Replicas, seconds
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.support.controlplane.api import wait_for

MARGIN = 2.0


def make_pods(setup: Setup, prefix: str, count: int) -> list[str]:
    """Create pods of one claim each; returns their names."""
    names = [f"{prefix}-{number}" for number in range(count)]
    setup.api.create_many(setup.pod(name) for name in names)
    return names


def check_claims(setup: Setup, replicas: Replicas, pods: list[str]) -> None:
    """See that each pod has one claim, and that each was written once."""
    bound = {name: setup.published(name)["a"] for name in pods}
    replicas.settled()
    assert sorted(bound.values()) == sorted(setup.claims())
    assert len(bound) == len({*bound.values()})
    made = Counter(
        write.name
        for write in setup.plane.audit.writes(namespace=setup.namespace, verb="create")
        if write.resource == "resourceclaims"
    )
    assert {name for name, count in made.items() if count > 1} == set()


def test_kubectl_shows_the_holder_and_only_the_holder_writes(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(2)
    leader = replicas.start()
    shown = setup.plane.kubectl("get", "lease", "-n", setup.namespace).stdout
    assert f"{leader.environment['POD_NAME']}_" in shown
    setup.apply(setup.template())
    pods = make_pods(setup, "pod", 20)
    check_claims(setup, replicas, pods)
    (other,) = replicas.others(leader)
    written = setup.plane.audit.counts(other.user.name, namespace=setup.namespace, refused=None)
    assert written == {}


def take_over_after_a_kill(setup: Setup, replicas: Replicas, within: float) -> None:
    leader = replicas.start()
    setup.apply(setup.template())
    pods = make_pods(setup, "before", 40)
    began = time.monotonic()
    leader.kill()
    pods += make_pods(setup, "after", 10)
    replicas.leader(but=leader, timeout=within + 5)
    assert seconds(began) <= within
    check_claims(setup, replicas, pods)


def test_a_leader_that_was_killed_is_followed_within_lease_duration_and_two_seconds(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    take_over_after_a_kill(setup, make_replicas(3), SHORT_DURATION + MARGIN)


@pytest.mark.slow
def test_with_the_default_terms_it_takes_seventeen_seconds_at_most(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    take_over_after_a_kill(setup, make_replicas(2, "--log-level=info"), 15 + MARGIN)


def test_a_clean_stop_hands_over_in_under_two_seconds_with_the_default_terms(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(2, "--log-level=info")
    leader = replicas.start()
    setup.apply(setup.template())
    pods = make_pods(setup, "before", 20)
    for name in pods:
        setup.published(name)
    leader.signal(signal.SIGTERM)
    mine = f"{leader.environment['POD_NAME']}_"
    wait_for(lambda: not lease_holder(setup).startswith(mine), 5, "the release", every=0.01)
    began = time.monotonic()
    wait_for(lambda: lease_holder(setup) != "", 10, "a follower", every=0.01)
    assert seconds(began) < MARGIN
    follower = replicas.leader(but=leader)
    assert leader.wait(5) == 0
    pods += make_pods(setup, "after", 10)
    check_claims(setup, replicas, pods)
    assert "Synced" not in follower.said().rpartition("Leading")[2], "it had to list first"


@pytest.mark.slow
def test_sigterm_ends_a_leader_that_is_writing_within_five_seconds(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(1)
    leader = replicas.start()
    setup.apply(setup.template())
    pods = make_pods(setup, "pod", 250)
    wait_for(lambda: len(setup.claims()) > 5, message="the work to begin", every=0.01)
    began = time.monotonic()
    assert leader.stop(grace=5) == 0
    assert seconds(began) < 5
    assert replicas.holder() == ""
    named = {setup.statuses(name).get("a") for name in pods}
    assert {*setup.claims()} <= named, "a claim was made and not published"
    leader.start()
    check_claims(setup, replicas, pods)


@pytest.mark.parametrize(
    "busy",
    [
        pytest.param(False, id="in peace", marks=pytest.mark.slow),
        pytest.param(True, id="in the middle of its work"),
    ],
)
def test_a_paused_leader_changes_nothing_after_its_term(
    setup: Setup, make_replicas: MakeReplicas, busy: bool
) -> None:
    replicas = make_replicas(2)
    leader = replicas.start()
    setup.apply(setup.template())
    pods = make_pods(setup, "before", 30)
    if not busy:
        for name in pods:
            setup.published(name)
        replicas.settled()
    leader.signal(signal.SIGSTOP)
    try:
        replicas.leader(but=leader, timeout=SHORT_DURATION + 5)
        pods += make_pods(setup, "meanwhile", 30)
        for name in pods:
            setup.published(name)
        setup.plane.audit.settled()
        since = setup.plane.audit.mark()
    finally:
        leader.signal(signal.SIGCONT)
    wait_for(lambda: "No longer leading" in leader.said(), message="it to notice")
    pods += make_pods(setup, "after", 10)
    check_claims(setup, replicas, pods)
    audit = setup.plane.audit
    late = audit.writes(leader.user.name, since, namespace=setup.namespace, refused=None)
    # What was on its way to the socket when it was stopped still goes out: idempotent, all of it.
    assert [one for one in late if not busy or (one.verb != "patch" and not one.refused)] == []
    assert replicas.leader() is not leader


def test_a_lease_that_was_stolen_by_hand_is_respected_until_it_ends(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(1)
    leader = replicas.start()
    setup.apply(setup.template())
    steal(setup, leader)
    pods = make_pods(setup, "during", 5)
    time.sleep(SHORT_DURATION / 2)
    assert setup.claims() == {}
    assert replicas.leader() is leader
    check_claims(setup, replicas, pods)


def lease_holder(setup: Setup) -> str:
    """Return the holder's identity, as the API has it."""
    lease = setup.api.get("leases", "dragoman-operator", setup.namespace)
    return str(lease["spec"].get("holderIdentity", ""))


def steal(setup: Setup, leader: OperatorProcess) -> None:
    """Put another name into the Lease, and wait until the leader steps down."""
    body = {"spec": {"holderIdentity": "a-thief"}}
    setup.api.patch("leases", "dragoman-operator", setup.namespace, body)
    wait_for(lambda: "No longer leading" in leader.said(), message="the leader to step down")


@pytest.mark.slow
def test_three_operators_die_one_after_the_other_and_nothing_is_lost(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = make_replicas(3)
    leader = replicas.start()
    setup.apply(setup.template())
    pods: list[str] = []
    for number in range(2):
        pods += make_pods(setup, f"round-{number}", 40)
        leader.kill()
        leader = replicas.leader(but=leader, timeout=SHORT_DURATION + 5)
    pods += make_pods(setup, "last", 10)
    check_claims(setup, replicas, pods)
