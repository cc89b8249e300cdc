"""Two operators that both write, as after a split: every claim is made once all the same."""

import random
from collections import Counter

import pytest

from tests.e2e.faults.expected import Settled, given_back
from tests.e2e.faults.workload import Workload
from tests.e2e.ha.conftest import MakeReplicas
from tests.e2e.ha.replicas import Replicas
from tests.e2e.setup import Setup
from tests.support.controlplane.api import wait_for

FORCED = "--no-leader-elect"
PODS, ENTRIES = 120, ("a", "b")


def start(setup: Setup, make_replicas: MakeReplicas) -> Replicas:
    replicas = make_replicas(2, FORCED)
    for replica in replicas.all:
        replica.start()
    setup.apply(setup.template())
    return replicas


def test_two_forced_leaders_make_exactly_the_claims_that_are_needed_and_delete_each_once(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = start(setup, make_replicas)
    names = [f"pod-{number}" for number in range(PODS)]
    entries = dict.fromkeys(ENTRIES, "template")
    setup.api.create_many(setup.pod(name, templates=entries) for name in names)
    bound = [claim for name in names for claim in setup.published(name, ENTRIES).values()]
    replicas.settled()
    assert sorted(bound) == sorted(setup.claims())
    assert len({*bound}) == PODS * len(ENTRIES)
    assert replicas.writes()["create resourceclaims"] == PODS * len(ENTRIES)

    done = names[: PODS // 2]
    setup.finish(*done)
    left = PODS * len(ENTRIES) // 2
    wait_for(lambda: len(setup.claims()) == left, message="the claims of finished pods to go")
    replicas.settled()
    assert len(setup.claims()) == left
    written = replicas.writes()
    assert written["create resourceclaims"] == PODS * len(ENTRIES)
    assert written["delete resourceclaims"] == left
    for name in names[PODS // 2 :]:
        assert {*setup.statuses(name).values()} <= setup.claims().keys()


def test_two_forced_leaders_free_a_shared_claim_once(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = start(setup, make_replicas)
    pods = [f"pod-{number}" for number in range(12)]
    setup.apply(setup.claim("shared", setup.devices()))
    setup.api.create_many(setup.pod(name, claims={"a": "shared"}) for name in pods)
    setup.reserved("shared", *pods)
    setup.finish(*pods)
    setup.reserved("shared")
    wait_for(lambda: not setup.allocated("shared"), message="the devices to come free")
    replicas.settled()
    assert setup.consumers("shared") == []
    assert 1 <= replicas.writes()["patch resourceclaims/status"] <= len(pods)


@pytest.mark.slow
def test_two_forced_leaders_under_churn_make_each_claim_once(
    setup: Setup, make_replicas: MakeReplicas
) -> None:
    replicas = start(setup, make_replicas)
    workload = Workload(setup.plane, setup.namespace, setup.devices(6), random.Random(7))
    workload.prepare()
    with workload:
        workload.lasts(300, timeout=180)

    def right() -> bool:
        kept = given_back(setup.plane, setup.namespace)
        return not Settled.read(setup.api, setup.namespace).differences(kept)

    wait_for(right, 90, "the world to be right", every=0.5)
    replicas.settled()
    made = Counter(
        write.name
        for replica in replicas.all
        for write in setup.plane.audit.writes(
            replica.user.name, resource="resourceclaims", verb="create", namespace=setup.namespace
        )
    )
    assert len(made) > 100
    assert {name: count for name, count in made.items() if count > 1} == {}
