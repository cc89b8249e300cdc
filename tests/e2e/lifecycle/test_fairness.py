"""Thousands of pods of one namespace: the pods of other namespaces do not wait for them."""

import time
from statistics import median

import pytest

from tests.e2e.scene import Scene
from tests.support.controlplane import objects
from tests.support.controlplane.api import wait_for
from tests.support.hostile import scaled
from tests.support.tenants import Repeatedly

pytestmark = pytest.mark.hostile("fairness")
FULL_ANNOTATIONS = 262_144 - 10
"""Bytes of annotations that leave no room for the annotation of a generated claim."""


@pytest.fixture
def crowd(scene: Scene) -> str:
    """Return the namespace of the many."""
    return scene.plane.create_namespace("crowd")


def create_crowd(scene: Scene, crowd: str, pods: int) -> None:
    """Create pods that wait for a template, and wait until the operator has seen them."""
    scene.api.create_many(
        objects.pod(f"pod-{number}", crowd, templates={"a": "late"}) for number in range(pods)
    )
    scene.seen()


def claims_in(scene: Scene, namespace: str) -> int:
    """Return the number of claims, by listing one of them."""
    path = scene.api.resource("resourceclaims").path(namespace)
    page = scene.api.request("GET", path, limit=1)
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)


def test_a_flood_of_one_namespace_does_not_delay_another(scene: Scene, crowd: str) -> None:
    pods = scaled(3000, least=600)
    scene.api.create(scene.pod())
    create_crowd(scene, crowd, pods)
    scene.api.create(scene.plane.served(objects.template("late", crowd, "any")))
    wait_for(lambda: claims_in(scene, crowd), message="the crowd to be served", every=0.01)
    began = time.monotonic()
    scene.api.create(scene.plane.served(scene.template()))
    scene.published()
    waited = time.monotonic() - began
    served = claims_in(scene, crowd)
    assert served < pods, "the pod waited for the whole crowd, or the crowd was too small"
    print(f"\n{pods} pods wake: another namespace's pod waits {waited:.2f} s ({served} served)")
    wait_for(lambda: claims_in(scene, crowd) == pods, 300, "the crowd", every=0.5)


def test_a_template_that_changes_all_the_time_does_not_defeat_back_off(
    scene: Scene, crowd: str
) -> None:
    pods = scaled(1000, least=100)
    scene.apply(scene.template())
    create_crowd(scene, crowd, pods)
    since = scene.plane.audit.mark()
    full = {"annotations": {"full": "x" * (FULL_ANNOTATIONS - len("full"))}}
    scene.api.create(scene.plane.served(objects.template("late", crowd, "any", metadata=full)))

    def label(turn: int) -> object:
        body = {"metadata": {"labels": {"turn": str(turn)}}}
        return scene.api.patch("resourceclaimtemplates", "late", crowd, body)

    waited = []
    with Repeatedly(label, every=0.1) as patches:
        wait_for(lambda: patches.done >= 20, message="some patches")
        for number in range(10):
            began = time.monotonic()
            scene.api.create(scene.pod(f"honest-{number}"))
            scene.published(f"honest-{number}")
            waited.append(time.monotonic() - began)
        wait_for(lambda: patches.done >= 50, message="more patches")
    refused = scene.plane.audit.counts(scene.user, since, namespace=crowd, refused=True)
    attempts = refused["create resourceclaims"] / pods
    print(
        f"\n{pods} refused pods, {patches.done} patches: {attempts:.1f} attempts a pod; "
        f"honest pods wait {median(waited):.2f} s, at most {max(waited):.2f} s"
    )
    assert 1 <= attempts < patches.done / 2
