"""Claims that say that they were made for a pod of another namespace."""

import pytest

from tests.e2e.running import OperatorProcess
from tests.e2e.setup import ANNOTATION, Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, Json, wait_for
from tests.support.tenants import tenant

pytestmark = pytest.mark.hostile("forged objects")


@pytest.fixture
def attacker(setup: Setup) -> Api:
    """Return a client of a tenant of another namespace, which is called as the victim's, plus x."""
    place = f"{setup.namespace}x"
    setup.api.create(objects.namespace(place))
    return tenant(setup.plane, place)


def forge(setup: Setup, attacker: Api, victim: Json, name: str = "evil") -> None:
    """Create a claim in the attacker's namespace whose owner is the victim's pod."""
    owner = objects.owner_reference(victim | {"apiVersion": "v1", "kind": "Pod"})
    forged = objects.claim(
        name,
        f"{setup.namespace}x",
        "any",
        annotations={ANNOTATION: "a"},
        ownerReferences=[owner | {"blockOwnerDeletion": False}],
    )
    attacker.create(setup.plane.served(forged))


def test_a_claim_of_another_namespace_is_never_published(setup: Setup, attacker: Api) -> None:
    victim = setup.api.create(setup.pod())
    forge(setup, attacker, victim)
    setup.event()
    setup.seen()
    assert setup.statuses() == {}
    setup.apply(setup.template())
    published = setup.published()
    assert published["a"] in setup.claims()
    setup.wrote({"patch pods/status": 1}, others=True)


def test_after_a_restart_a_claim_of_another_namespace_is_never_published(
    setup: Setup, attacker: Api, operator: OperatorProcess
) -> None:
    operator.stop()
    victim = setup.api.create(setup.pod())
    forge(setup, attacker, victim)
    setup.apply(setup.template())
    operator.start()
    assert setup.published()["a"] in setup.claims()
    setup.wrote({"patch pods/status": 1}, others=True)


def test_a_published_name_of_another_namespace_is_corrected_when_it_is_seen(
    setup: Setup, attacker: Api
) -> None:
    """As the built-in controller, and earlier versions of the operator, published it."""
    setup.apply(setup.template())
    victim = setup.api.create(setup.pod())
    published = setup.published()
    forge(setup, attacker, victim)
    body = {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "evil"}]}}
    setup.api.patch("pods", "pod", setup.namespace, body, subresource="status")
    wait_for(
        lambda: setup.published() == published, 30, "the status to name the pod's own claim again"
    )
