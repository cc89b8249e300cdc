"""An operator that starts late, dies at a bad moment or has a twin: nothing twice, nothing lost."""

from collections.abc import Iterator

import pytest

from tests.e2e.rbac import OPERATOR_RULES, rules_without
from tests.e2e.running import OperatorProcess
from tests.e2e.scene import ANNOTATION, PROTECTION, Scene
from tests.support.controlplane import objects
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


def zombie(scene: Scene, name: str, pod_uid: str = "no-such-uid") -> None:
    """Make a claim that is deleted, allocated, reserved for a vanished pod, and protected."""
    scene.api.create(scene.plane.served(scene.claim(name, finalizers=[PROTECTION])))
    device = {"request": "devices", "driver": "x.example.com", "pool": "p", "device": "d"}
    body = {
        "status": {
            "allocation": {"devices": {"results": [device]}},
            "reservedFor": [{"resource": "pods", "name": "vanished", "uid": pod_uid}],
        }
    }
    scene.api.patch("resourceclaims", name, scene.namespace, body, subresource="status")
    scene.api.delete("resourceclaims", name, scene.namespace)


def test_what_was_there_before_the_start_is_served(scene: Scene, operator: OperatorProcess) -> None:
    pods = [f"pod-{number}" for number in range(30)]
    scene.apply(scene.template(), *(scene.pod(name) for name in pods))
    operator.start()
    for name in pods:
        scene.published(name)
    assert scene.writes() == {"create resourceclaims": 30, "patch pods/status": 30}


def test_a_restart_costs_nothing_with_finished_and_live_pods(
    scene: Scene, operator: OperatorProcess
) -> None:
    finished = [f"finished-{number}" for number in range(75)]
    live = [f"live-{number}" for number in range(75)]
    scene.apply(scene.template(), scene.claim())
    scene.api.create_many(scene.pod(name) for name in (*finished, *live))
    placed = {"nodeName": "by-hand", "claims": {"a": "shared"}}
    scene.api.create(scene.pod("placed", **placed))
    operator.start()
    wait_for(lambda: len(scene.claims()) == 151, message="150 claims beside the shared one")
    scene.finish(*finished, "placed")
    wait_for(lambda: len(scene.claims()) == 76, message="claims of finished pods to go")
    scene.writes()
    operator.kill()
    scene.forget()
    operator.start()
    scene.seen()
    assert scene.writes(refused=None) == {}
    assert len(scene.claims()) == 76


def test_a_death_between_post_and_status_patch_leads_to_adoption(
    plane: ControlPlane, scene: Scene, operator: OperatorProcess
) -> None:
    plane.user(USER, rules_without("pods/status"))
    scene.apply(scene.template(), scene.pod())
    operator.start()
    wait_for(lambda: scene.counts(refused=True)["patch pods/status"], message="a refused patch")
    operator.kill()
    (made,) = scene.claims()
    assert scene.statuses() == {}
    plane.user(USER, OPERATOR_RULES)
    operator.start()
    assert scene.published() == {"a": made}
    assert scene.writes() == ONE_CLAIM


def test_a_status_patch_that_was_refused_for_a_while_is_done_later(
    plane: ControlPlane, scene: Scene, operator: OperatorProcess
) -> None:
    plane.user(USER, rules_without("pods/status"))
    scene.apply(scene.template(), scene.pod())
    operator.start()
    wait_for(lambda: scene.counts(refused=True)["patch pods/status"] > 2, message="refusals")
    plane.user(USER, OPERATOR_RULES)
    scene.published()
    assert scene.writes() == ONE_CLAIM


def test_a_claim_of_another_name_made_before_the_start_is_adopted(
    scene: Scene, operator: OperatorProcess
) -> None:
    scene.apply(scene.template(), scene.pod(templates={"a": "template", "b": "template"}))
    owner = objects.owner_reference(scene.get("pods", "pod"))
    made = scene.claim("from-before", annotations={ANNOTATION: "a"}, ownerReferences=[owner])
    scene.api.create(scene.plane.served(made))
    operator.start()
    assert scene.published(entries=["a", "b"])["a"] == "from-before"
    assert scene.writes() == ONE_CLAIM


def test_zombie_claims_are_finished_at_the_start(scene: Scene, operator: OperatorProcess) -> None:
    zombie(scene, "zombie")
    operator.start()
    scene.gone("zombie")
    assert scene.writes() == {"patch resourceclaims/status": 1, "patch resourceclaims": 1}


def test_a_death_between_the_two_writes_of_a_release_is_made_good(
    scene: Scene, operator: OperatorProcess
) -> None:
    zombie(scene, "half-freed")
    body = {"status": {"allocation": None, "reservedFor": None}}
    scene.api.patch("resourceclaims", "half-freed", scene.namespace, body, subresource="status")
    operator.start()
    scene.gone("half-freed")
    assert scene.writes() == {"patch resourceclaims": 1}


def test_pods_that_finished_or_vanished_unseen_give_their_claims_back(
    scene: Scene, operator: OperatorProcess
) -> None:
    scene.apply(
        scene.claim("shared", scene.devices()),
        *(scene.pod(name, claims={"a": "shared"}) for name in ("finished", "vanished")),
    )
    operator.start()
    scene.reserved("shared", "finished", "vanished")
    operator.kill()
    scene.finish("finished")
    scene.delete_pods("vanished")
    scene.forget()
    operator.start()
    scene.reserved("shared")
    assert not scene.allocated("shared")
    assert scene.writes()["patch resourceclaims/status"] == 1


def test_two_operators_at_once_make_one_claim_a_pod(
    plane: ControlPlane, scene: Scene, operator: OperatorProcess
) -> None:
    pods = [f"pod-{number}" for number in range(100)]
    twin = plane.user(f"{USER}-twin", OPERATOR_RULES)
    scene.apply(scene.template())
    operator.start()
    with OperatorProcess(plane, twin, ALONE) as second:
        scene.api.create_many(scene.pod(name) for name in pods)
        bound = {name: scene.published(name)["a"] for name in pods}
        for user in (USER, twin.name):
            plane.audit.settled(user)
        assert second.faults() == []
    assert sorted(bound.values()) == sorted(scene.claims())
    made = plane.audit.writes(namespace=scene.namespace, resource="resourceclaims", verb="create")
    assert len(made) == len(pods)


def test_a_dying_api_server_makes_no_claim_twice(
    plane: ControlPlane, scene: Scene, operator: OperatorProcess
) -> None:
    pods = [f"pod-{number}" for number in range(200)]
    scene.apply(scene.template())
    operator.start()
    scene.api.create_many(scene.pod(name) for name in pods[:100])
    for _ in range(2):
        plane.kill(API_SERVER)
        plane.revive(API_SERVER)
    scene.api.create_many(scene.pod(name) for name in pods[100:])
    bound = {name: scene.published(name)["a"] for name in pods}
    assert sorted(bound.values()) == sorted(scene.claims())


def test_sigterm_ends_it_in_order_while_it_works(scene: Scene, operator: OperatorProcess) -> None:
    pods = [f"pod-{number}" for number in range(300)]
    scene.apply(scene.template())
    scene.api.create_many(scene.pod(name) for name in pods)
    operator.start()
    assert operator.stop() == 0
    unpublished = {*scene.claims()} - {scene.statuses(name).get("a") for name in pods}
    operator.start()
    bound = {name: scene.published(name)["a"] for name in pods}
    assert sorted(bound.values()) == sorted(scene.claims())
    assert unpublished == set()
