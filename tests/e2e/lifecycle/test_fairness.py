"""Thousands of pods of one namespace: the pods of other namespaces do not wait for them."""

import time
from collections.abc import Iterator
from statistics import median

import pytest

from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.hostile import scaled
from tests.support.tenants import Repeatedly

pytestmark = pytest.mark.hostile("fairness")
FULL_ANNOTATIONS = 262_144 - 10
"""Bytes of annotations that leave no room for the annotation of a generated claim."""


@pytest.fixture
def crowd(setup: Setup) -> Iterator[str]:
    """Return the namespace of the many."""
    name = setup.plane.create_namespace("crowd")
    yield name
    setup.plane.clear_namespace(name)


def create_crowd(setup: Setup, crowd: str, pods: int) -> None:
    """Create pods that wait for a template, and wait until the operator has seen them."""
    setup.api.create_many(
        objects.pod(f"pod-{number}", crowd, templates={"a": "late"}) for number in range(pods)
    )
    setup.seen()


def claims_in(setup: Setup, namespace: str) -> int:
    """Return the number of claims, by listing one of them."""
    path = setup.api.resource("resourceclaims").path(namespace)
    page = setup.api.request("GET", path, limit=1)
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)


def refused(setup: Setup, namespace: str, since: int) -> int:
    """Return how many claims of a namespace the API server has refused."""
    found = setup.plane.audit.counts(setup.user, since, namespace=namespace, refused=True)
    return found["create resourceclaims"]


def test_a_flood_of_one_namespace_does_not_delay_another(setup: Setup, crowd: str) -> None:
    pods = scaled(3000, least=600)
    setup.api.create(setup.pod())
    create_crowd(setup, crowd, pods)
    setup.api.create(setup.plane.served(objects.template("late", crowd, "any")))
    wait_for(lambda: claims_in(setup, crowd), message="the crowd to be served", every=0.01)
    began = time.monotonic()
    setup.api.create(setup.plane.served(setup.template()))
    setup.published()
    waited = time.monotonic() - began
    served = claims_in(setup, crowd)
    assert served < pods, "the pod waited for the whole crowd, or the crowd was too small"
    print(f"\n{pods} pods wake: another namespace's pod waits {waited:.2f} s ({served} served)")
    wait_for(lambda: claims_in(setup, crowd) == pods, 300, "the crowd", every=0.5)


@pytest.mark.slow
def test_a_template_that_changes_all_the_time_does_not_defeat_back_off(
    setup: Setup, crowd: str
) -> None:
    pods = scaled(1000, least=100)
    setup.apply(setup.template())
    create_crowd(setup, crowd, pods)
    since = setup.plane.audit.mark()
    full = {"annotations": {"full": "x" * (FULL_ANNOTATIONS - len("full"))}}
    setup.api.create(setup.plane.served(objects.template("late", crowd, "any", metadata=full)))

    def label(turn: int) -> object:
        body = {"metadata": {"labels": {"turn": str(turn)}}}
        return setup.api.patch("resourceclaimtemplates", "late", crowd, body)

    waited = []
    with Repeatedly(label, every=0.1) as patches:
        wait_for(lambda: patches.done >= 20, 300, "some patches")
        for number in range(10):
            began = time.monotonic()
            setup.api.create(setup.pod(f"honest-{number}"))
            setup.published(f"honest-{number}")
            waited.append(time.monotonic() - began)
        wait_for(lambda: patches.done >= 50, 300, "more patches")
        wait_for(lambda: refused(setup, crowd, since) >= pods, 300, "an attempt for each pod")
    attempts = refused(setup, crowd, since) / pods
    print(
        f"\n{pods} refused pods, {patches.done} patches: {attempts:.1f} attempts a pod; "
        f"honest pods wait {median(waited):.2f} s, at most {max(waited):.2f} s"
    )
    assert 1 <= attempts < patches.done / 2
