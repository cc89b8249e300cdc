"""What must not happen at once: graces of ten, thirty and (slow) sixty seconds.

All setups are set up together, so that their times run side by side.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.running import Running
from tests.e2e.setup import ANNOTATION, PROTECTION, Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

DELETE = {"delete resourceclaims": 1}


@dataclass(frozen=True, slots=True)
class Scenes:
    """One setup for each test.

    Attributes:
        vanished: A pod was deleted whose claim was never allocated.
        freed: A pod was deleted whose claim had devices.
        replaced: A pod was deleted and made anew several times.
        kept: A vanished pod's claims that are somebody else's affair.
        unclaimed: A pod names a claim that nobody makes.
        half_freed: A claim has the scheduler's finalizer and nothing else.
    """

    vanished: Setup
    freed: Setup
    replaced: Setup
    kept: Setup
    unclaimed: Setup
    half_freed: Setup


@pytest.fixture(scope="module")
def setups(
    plane: ControlPlane, operator: Running, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scenes]:
    """Set all setups up and start their clocks."""

    def setup(name: str) -> Setup:
        folder: Path = tmp_path_factory.mktemp(name)
        return Setup(plane, plane.create_namespace(name), operator.user.name, folder)

    made = Scenes(*(setup(name.replace("_", "-")) for name in Scenes.__slots__))
    half_free(made.half_freed)
    made.unclaimed.apply(made.unclaimed.pod(claims={"a": "nobodys"}))
    vanish(made.vanished)
    vanish_with_device(made.freed)
    replace(made.replaced)
    vanish_from_other_claims(made.kept)
    yield made
    for name in Scenes.__slots__:
        getattr(made, name).clear()


def half_free(setup: Setup) -> None:
    """Leave a claim as an operator does that dies between the two writes of a release."""
    setup.api.create(setup.plane.served(setup.claim("half-freed", finalizers=[PROTECTION])))


def vanish(setup: Setup) -> None:
    """Delete a pod whose claim has no devices; a pod with a node is not done before it is gone."""
    setup.apply(setup.template(), setup.pod(nodeName="by-hand"))
    setup.published()
    setup.forget()
    setup.delete_pods("pod")


def vanish_with_device(setup: Setup) -> None:
    """Delete a pod whose claim has a device."""
    setup.apply(setup.template(device_class=setup.devices()), setup.pod())
    setup.scheduled(setup.published()["a"], "pod")
    setup.forget()
    setup.delete_pods("pod")


def replace(setup: Setup) -> None:
    """Make and delete a pod of one name several times, and leave the last one."""
    setup.apply(setup.template())
    for _ in range(5):
        setup.api.create(setup.pod(nodeName="by-hand"))
        setup.delete_pods("pod")
    setup.api.create(setup.pod(nodeName="by-hand"))


def vanish_from_other_claims(setup: Setup) -> None:
    """Delete a pod that owned a claim which no template made, and used one of a user."""
    claims = {"a": "owned", "b": "users"}
    setup.apply(setup.pod(claims=claims, nodeName="by-hand"), setup.claim("users"))
    owner = objects.owner_reference(setup.get("pods", "pod"))
    setup.api.create(setup.plane.served(setup.claim("owned", ownerReferences=[owner])))
    stranger = owner | {"kind": "Job", "apiVersion": "batch/v1", "uid": "gone"}
    generated = setup.claim("jobs", ownerReferences=[stranger], annotations={ANNOTATION: "a"})
    setup.api.create(setup.plane.served(generated))
    setup.forget()
    setup.delete_pods("pod")


def test_the_claim_of_a_vanished_pod_is_deleted_where_no_garbage_collector_is(
    setups: Scenes,
) -> None:
    wait_for(lambda: not setups.vanished.claims(), message="the claim to be deleted")
    setups.vanished.wrote(DELETE)


def test_the_device_of_a_vanished_pod_is_free_before_its_claim_is_deleted(setups: Scenes) -> None:
    wait_for(lambda: not setups.freed.claims(), message="the claim to be deleted")
    order = setups.freed.order()
    assert order[0] == "patch resourceclaims/status"
    assert sorted(order[1:]) == ["delete resourceclaims", "patch resourceclaims"]


def test_a_pod_that_replaces_others_of_its_name_gets_its_own_claim(setups: Scenes) -> None:
    setup = setups.replaced
    claim = setup.claim_of("pod")
    name, (owner,) = claim["metadata"]["name"], claim["metadata"]["ownerReferences"]
    assert owner["uid"] == setup.get("pods", "pod")["metadata"]["uid"]
    wait_for(lambda: [*setup.claims()] == [name], message="claims of replaced pods to go")
    made = setup.writes()
    assert made["create resourceclaims"] == made["delete resourceclaims"] + 1
    assert made["patch pods/status"] <= made["create resourceclaims"]


def test_claims_that_no_template_made_outlive_their_pods(setups: Scenes) -> None:
    wait_for(lambda: not setups.vanished.claims(), message="the grace to be over")
    assert sorted(setups.kept.claims()) == ["jobs", "owned", "users"]
    assert setups.kept.writes() == {}


def test_a_claim_of_a_user_that_stays_missing_is_told(setups: Scenes) -> None:
    (event,) = wait_for(
        lambda: setups.unclaimed.events("ResourceClaimNotFound"), 60, "an Event", every=0.5
    )
    assert event["note"] == 'PodResourceClaim a: resource claim "nobodys" not found'
    setups.unclaimed.wrote({"create events": 1})


@pytest.mark.slow
def test_a_release_cut_short_is_finished_when_it_is_clear_that_nobody_allocates(
    setups: Scenes,
) -> None:
    setup = setups.half_freed
    wait_for(
        lambda: not setup.get("resourceclaims", "half-freed")["metadata"].get("finalizers"),
        90,
        "the finalizer to go",
        every=0.5,
    )
    setup.wrote({"patch resourceclaims": 1})
