"""An operator that starts late, dies at a bad moment or has a twin: nothing twice, nothing lost."""

from collections.abc import Iterator

import pytest

from tests.e2e.rbac import OPERATOR_RULES, rules_without
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import ANNOTATION, PROTECTION, Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import API_SERVER, ControlPlane

USER = "dragoman-restarts"
ALONE = "--no-leader-elect"
"""Nobody waits for the Lease of a leader that was killed."""
ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


@pytest.fixture
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Return an operator that the test starts, and starts again."""
    stopped = OperatorProcess(plane, plane.user(USER, OPERATOR_RULES), ALONE)
    yield stopped
    stopped.stop()
    assert stopped.faults() == []
    plane.user(USER, OPERATOR_RULES)


def zombie(setup: Setup, name: str, pod_uid: str = "no-such-uid") -> None:
    """Make a claim that is deleted, allocated, reserved for a vanished pod, and protected."""
    setup.api.create(setup.plane.served(setup.claim(name, finalizers=[PROTECTION])))
    device = {"request": "devices", "driver": "x.example.com", "pool": "p", "device": "d"}
    body = {
        "status": {
            "allocation": {"devices": {"results": [device]}},
            "reservedFor": [{"resource": "pods", "name": "vanished", "uid": pod_uid}],
        }
    }
    setup.api.patch("resourceclaims", name, setup.namespace, body, subresource="status")
    setup.api.delete("resourceclaims", name, setup.namespace)


def test_what_was_there_before_the_start_is_served(setup: Setup, operator: OperatorProcess) -> None:
    pods = [f"pod-{number}" for number in range(30)]
    setup.apply(setup.template(), *(setup.pod(name) for name in pods))
    operator.start()
    for name in pods:
        setup.published(name)
    setup.wrote({"create resourceclaims": 30, "patch pods/status": 30})


def test_a_restart_costs_nothing_with_finished_and_live_pods(
    setup: Setup, operator: OperatorProcess
) -> None:
    finished = [f"finished-{number}" for number in range(75)]
    live = [f"live-{number}" for number in range(75)]
    setup.apply(setup.template(), setup.claim())
    setup.api.create_many(setup.pod(name) for name in (*finished, *live))
    placed = {"nodeName": "by-hand", "claims": {"a": "shared"}}
    setup.api.create(setup.pod("placed", **placed))
    operator.start()
    for name in (*finished, *live):
        setup.published(name)
    assert len(setup.claims()) == 151, "150 claims beside the shared one"
    setup.finish(*finished, "placed")
    wait_for(lambda: len(setup.claims()) == 76, message="claims of finished pods to go")
    setup.writes()
    operator.kill()
    setup.forget()
    operator.start()
    setup.seen()
    assert setup.writes(refused=None) == {}
    assert len(setup.claims()) == 76


def test_a_death_between_post_and_status_patch_leads_to_adoption(
    plane: ControlPlane, setup: Setup, operator: OperatorProcess
) -> None:
    plane.user(USER, rules_without("pods/status"))
    setup.apply(setup.template(), setup.pod())
    operator.start()
    wait_for(lambda: setup.counts(refused=True)["patch pods/status"], message="a refused patch")
    operator.kill()
    (made,) = setup.claims()
    assert setup.statuses() == {}
    plane.user(USER, OPERATOR_RULES)
    operator.start()
    assert setup.published() == {"a": made}
    setup.wrote(ONE_CLAIM)


def test_a_status_patch_that_was_refused_for_a_while_is_done_later(
    plane: ControlPlane, setup: Setup, operator: OperatorProcess
) -> None:
    plane.user(USER, rules_without("pods/status"))
    setup.apply(setup.template(), setup.pod())
    operator.start()
    wait_for(lambda: setup.counts(refused=True)["patch pods/status"] > 2, message="refusals")
    plane.user(USER, OPERATOR_RULES)
    setup.published()
    setup.wrote(ONE_CLAIM)


def test_a_claim_of_another_name_made_before_the_start_is_adopted(
    setup: Setup, operator: OperatorProcess
) -> None:
    setup.apply(setup.template(), setup.pod(templates={"a": "template", "b": "template"}))
    owner = objects.owner_reference(setup.get("pods", "pod"))
    made = setup.claim("from-before", annotations={ANNOTATION: "a"}, ownerReferences=[owner])
    setup.api.create(setup.plane.served(made))
    operator.start()
    assert setup.published(entries=["a", "b"])["a"] == "from-before"
    setup.wrote(ONE_CLAIM)


def test_zombie_claims_are_finished_at_the_start(setup: Setup, operator: OperatorProcess) -> None:
    zombie(setup, "zombie")
    operator.start()
    setup.gone("zombie")
    setup.wrote({"patch resourceclaims/status": 1, "patch resourceclaims": 1})


def test_a_death_between_the_two_writes_of_a_release_is_made_good(
    setup: Setup, operator: OperatorProcess
) -> None:
    zombie(setup, "half-freed")
    body = {"status": {"allocation": None, "reservedFor": None}}
    setup.api.patch("resourceclaims", "half-freed", setup.namespace, body, subresource="status")
    operator.start()
    setup.gone("half-freed")
    setup.wrote({"patch resourceclaims": 1})


def test_pods_that_finished_or_vanished_unseen_give_their_claims_back(
    setup: Setup, operator: OperatorProcess
) -> None:
    setup.apply(
        setup.claim("shared", setup.devices()),
        *(setup.pod(name, claims={"a": "shared"}) for name in ("finished", "vanished")),
    )
    operator.start()
    setup.scheduled("shared", "finished", "vanished")
    operator.kill()
    setup.finish("finished")
    setup.delete_pods("vanished")
    setup.forget()
    operator.start()
    setup.reserved("shared")
    assert not setup.allocated("shared")
    setup.wrote({"patch resourceclaims/status": 1}, others=True)


def test_two_operators_at_once_make_one_claim_a_pod(
    plane: ControlPlane, setup: Setup, operator: OperatorProcess
) -> None:
    pods = [f"pod-{number}" for number in range(100)]
    twin = plane.user(f"{USER}-twin", OPERATOR_RULES)
    setup.apply(setup.template())
    operator.start()
    with OperatorProcess(plane, twin, ALONE) as second:
        setup.api.create_many(setup.pod(name) for name in pods)
        bound = {name: setup.published(name)["a"] for name in pods}
        for user in (USER, twin.name):
            plane.audit.settled(user)
        assert second.faults() == []
    assert sorted(bound.values()) == sorted(setup.claims())
    made = plane.audit.writes(namespace=setup.namespace, resource="resourceclaims", verb="create")
    assert len(made) == len(pods)


def test_a_dying_api_server_makes_no_claim_twice(
    plane: ControlPlane, setup: Setup, operator: OperatorProcess
) -> None:
    pods = [f"pod-{number}" for number in range(120)]
    setup.apply(setup.template())
    operator.start()
    setup.api.create_many(setup.pod(name) for name in pods[:100])
    plane.kill(API_SERVER)
    plane.revive(API_SERVER)
    setup.api.create_many(setup.pod(name) for name in pods[100:])
    bound = {name: setup.published(name)["a"] for name in pods}
    assert sorted(bound.values()) == sorted(setup.claims())


def test_sigterm_ends_it_in_order_while_it_works(setup: Setup, operator: OperatorProcess) -> None:
    pods = [f"pod-{number}" for number in range(300)]
    setup.apply(setup.template())
    setup.api.create_many(setup.pod(name) for name in pods)
    operator.start()
    assert operator.stop() == 0
    unpublished = {*setup.claims()} - {setup.statuses(name).get("a") for name in pods}
    operator.start()
    bound = {name: setup.published(name)["a"] for name in pods}
    assert sorted(bound.values()) == sorted(setup.claims())
    assert unpublished == set()
