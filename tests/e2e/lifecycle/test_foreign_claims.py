"""Claims that say that they were made for a pod of another namespace."""

import pytest

from tests.e2e.running import OperatorProcess
from tests.e2e.scene import ANNOTATION, Scene
from tests.support.controlplane import objects
from tests.support.controlplane.api import Api, Json
from tests.support.tenants import tenant

pytestmark = pytest.mark.hostile("forged objects")


@pytest.fixture
def attacker(scene: Scene) -> Api:
    """Return a client of a tenant of another namespace, which is called as the victim's, plus x."""
    place = f"{scene.namespace}x"
    scene.api.create(objects.namespace(place))
    return tenant(scene.plane, place)


def forge(scene: Scene, attacker: Api, victim: Json, name: str = "evil") -> None:
    """Create a claim in the attacker's namespace whose owner is the victim's pod."""
    owner = objects.owner_reference(victim | {"apiVersion": "v1", "kind": "Pod"})
    forged = objects.claim(
        name,
        f"{scene.namespace}x",
        "any",
        annotations={ANNOTATION: "a"},
        ownerReferences=[owner | {"blockOwnerDeletion": False}],
    )
    attacker.create(scene.plane.served(forged))


def test_a_claim_of_another_namespace_is_never_published(scene: Scene, attacker: Api) -> None:
    victim = scene.api.create(scene.pod())
    forge(scene, attacker, victim)
    scene.event()
    scene.seen()
    assert scene.statuses() == {}
    scene.apply(scene.template())
    published = scene.published()
    assert published["a"] in scene.claims()
    assert scene.writes()["patch pods/status"] == 1


def test_after_a_restart_a_claim_of_another_namespace_is_never_published(
    scene: Scene, attacker: Api, operator: OperatorProcess
) -> None:
    operator.stop()
    victim = scene.api.create(scene.pod())
    forge(scene, attacker, victim)
    scene.apply(scene.template())
    operator.start()
    assert scene.published()["a"] in scene.claims()
    assert scene.writes()["patch pods/status"] == 1


def test_a_published_name_of_another_namespace_is_corrected_when_it_is_seen(
    scene: Scene, attacker: Api
) -> None:
    """As the built-in controller, and earlier versions of the operator, published it."""
    scene.apply(scene.template())
    victim = scene.api.create(scene.pod())
    published = scene.published()
    forge(scene, attacker, victim)
    body = {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "evil"}]}}
    scene.api.patch("pods", "pod", scene.namespace, body, subresource="status")
    scene.seen()
    assert scene.published() == published
