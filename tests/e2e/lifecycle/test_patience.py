"""What must not happen at once: graces of ten, thirty and (slow) sixty seconds.

All scenes are set up together, so that their times run side by side.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.running import Running
from tests.e2e.scene import ANNOTATION, PROTECTION, Scene
from tests.support.controlplane import objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

DELETE = {"delete resourceclaims": 1}


@dataclass(frozen=True, slots=True)
class Scenes:
    """One scene for each test.

    Attributes:
        vanished: A pod was deleted whose claim was never allocated.
        freed: A pod was deleted whose claim had devices.
        replaced: A pod was deleted and made anew several times.
        kept: A vanished pod's claims that are somebody else's affair.
        unclaimed: A pod names a claim that nobody makes.
        half_freed: A claim has the scheduler's finalizer and nothing else.
    """

    vanished: Scene
    freed: Scene
    replaced: Scene
    kept: Scene
    unclaimed: Scene
    half_freed: Scene


@pytest.fixture(scope="module")
def scenes(
    plane: ControlPlane, operator: Running, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scenes]:
    """Set all scenes up and start their clocks."""

    def scene(name: str) -> Scene:
        folder: Path = tmp_path_factory.mktemp(name)
        return Scene(plane, plane.create_namespace(name), operator.user.name, folder)

    made = Scenes(*(scene(name.replace("_", "-")) for name in Scenes.__slots__))
    half_free(made.half_freed)
    made.unclaimed.apply(made.unclaimed.pod(claims={"a": "nobodys"}))
    vanish(made.vanished)
    vanish_with_device(made.freed)
    replace(made.replaced)
    vanish_from_other_claims(made.kept)
    yield made
    for name in Scenes.__slots__:
        getattr(made, name).clear()


def half_free(scene: Scene) -> None:
    """Leave a claim as an operator does that dies between the two writes of a release."""
    scene.api.create(scene.plane.served(scene.claim("half-freed", finalizers=[PROTECTION])))


def vanish(scene: Scene) -> None:
    """Delete a pod whose claim has no devices; a pod with a node is not done before it is gone."""
    scene.apply(scene.template(), scene.pod(nodeName="by-hand"))
    scene.published()
    scene.forget()
    scene.delete_pods("pod")


def vanish_with_device(scene: Scene) -> None:
    """Delete a pod whose claim has a device."""
    scene.apply(scene.template(device_class=scene.devices()), scene.pod())
    scene.reserved(scene.published()["a"], "pod")
    wait_for(lambda: scene.node_of("pod"), message="the pod to be scheduled")
    scene.forget()
    scene.delete_pods("pod")


def replace(scene: Scene) -> None:
    """Make and delete a pod of one name several times, and leave the last one."""
    scene.apply(scene.template())
    for _ in range(5):
        scene.api.create(scene.pod(nodeName="by-hand"))
        scene.delete_pods("pod")
    scene.api.create(scene.pod(nodeName="by-hand"))


def vanish_from_other_claims(scene: Scene) -> None:
    """Delete a pod that owned a claim which no template made, and used one of a user."""
    claims = {"a": "owned", "b": "users"}
    scene.apply(scene.pod(claims=claims, nodeName="by-hand"), scene.claim("users"))
    owner = objects.owner_reference(scene.get("pods", "pod"))
    scene.api.create(scene.plane.served(scene.claim("owned", ownerReferences=[owner])))
    stranger = owner | {"kind": "Job", "apiVersion": "batch/v1", "uid": "gone"}
    generated = scene.claim("jobs", ownerReferences=[stranger], annotations={ANNOTATION: "a"})
    scene.api.create(scene.plane.served(generated))
    scene.forget()
    scene.delete_pods("pod")


def test_the_claim_of_a_vanished_pod_is_deleted_where_no_garbage_collector_is(
    scenes: Scenes,
) -> None:
    wait_for(lambda: not scenes.vanished.claims(), message="the claim to be deleted")
    assert scenes.vanished.writes() == DELETE


def test_the_device_of_a_vanished_pod_is_free_before_its_claim_is_deleted(scenes: Scenes) -> None:
    wait_for(lambda: not scenes.freed.claims(), message="the claim to be deleted")
    order = scenes.freed.order()
    assert order[0] == "patch resourceclaims/status"
    assert sorted(order[1:]) == ["delete resourceclaims", "patch resourceclaims"]


def test_a_pod_that_replaces_others_of_its_name_gets_its_own_claim(scenes: Scenes) -> None:
    scene = scenes.replaced
    claim = scene.claim_of("pod")
    name, (owner,) = claim["metadata"]["name"], claim["metadata"]["ownerReferences"]
    assert owner["uid"] == scene.get("pods", "pod")["metadata"]["uid"]
    wait_for(lambda: [*scene.claims()] == [name], message="claims of replaced pods to go")
    made = scene.writes()
    assert made["create resourceclaims"] == made["delete resourceclaims"] + 1
    assert made["patch pods/status"] <= made["create resourceclaims"]


def test_claims_that_no_template_made_outlive_their_pods(scenes: Scenes) -> None:
    wait_for(lambda: not scenes.vanished.claims(), message="the grace to be over")
    assert sorted(scenes.kept.claims()) == ["jobs", "owned", "users"]
    assert scenes.kept.writes() == {}


def test_a_claim_of_a_user_that_stays_missing_is_told(scenes: Scenes) -> None:
    (event,) = wait_for(
        lambda: scenes.unclaimed.events("ResourceClaimNotFound"), 60, "an Event", every=0.5
    )
    assert event["note"] == 'PodResourceClaim a: resource claim "nobodys" not found'
    assert scenes.unclaimed.writes() == {"create events": 1}


@pytest.mark.slow
def test_a_release_cut_short_is_finished_when_it_is_clear_that_nobody_allocates(
    scenes: Scenes,
) -> None:
    scene = scenes.half_freed
    wait_for(
        lambda: not scene.get("resourceclaims", "half-freed")["metadata"].get("finalizers"),
        90,
        "the finalizer to go",
        every=0.5,
    )
    assert scene.writes() == {"patch resourceclaims": 1}
