"""The stock controllers beside the harness: started and stopped while the API server runs."""

from collections.abc import Iterator

import pytest

from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER, GARBAGE_COLLECTOR, ControlPlane

STOCK = "system:serviceaccount:kube-system:resource-claim-controller"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"


@pytest.fixture
def stock_controller(plane: ControlPlane) -> Iterator[None]:
    plane.start_stock_controller(UNTHROTTLED)
    yield
    plane.stop_part(CLAIM_CONTROLLER)


@pytest.fixture
def garbage_collector(plane: ControlPlane) -> Iterator[None]:
    plane.start_garbage_collector()
    yield
    plane.stop_part(GARBAGE_COLLECTOR)


@pytest.mark.usefixtures("stock_controller")
def test_the_stock_controller_makes_a_claim_as_its_own_user(
    plane: ControlPlane, namespace: str
) -> None:
    api = plane.api()
    mark = plane.audit.mark()
    api.create(plane.served(objects.template("gpu", namespace, "any")))
    api.create(objects.pod("user", namespace, templates={"gpu": "gpu"}))
    wait_for(lambda: api.get("pods", "user", namespace)["status"].get("resourceClaimStatuses"))
    plane.audit.settled(STOCK)
    assert plane.audit.counts(STOCK, mark, namespace=namespace) == {
        "create resourceclaims": 1,
        "patch pods/status": 1,
    }


@pytest.mark.usefixtures("garbage_collector")
def test_the_garbage_collector_deletes_the_claim_of_a_deleted_pod(
    plane: ControlPlane, namespace: str
) -> None:
    api = plane.api()
    owner = api.create(objects.pod("owner", namespace))
    owned = objects.claim(
        "owned", namespace, "any", ownerReferences=[objects.owner_reference(owner)]
    )
    api.create(plane.served(owned))
    mark = plane.audit.mark()
    plane.delete_pod(namespace, "owner")
    wait_for(lambda: not api.find("resourceclaims", "owned", namespace), message="the deletion")
    deleted = plane.audit.counts(COLLECTOR, mark, namespace=namespace)
    assert deleted["delete resourceclaims"] == 1


def test_a_stopped_controller_writes_nothing_more(plane: ControlPlane, namespace: str) -> None:
    plane.start_stock_controller(UNTHROTTLED)
    plane.stop_part(CLAIM_CONTROLLER)
    mark = plane.audit.mark()
    plane.api().create(plane.served(objects.template("gpu", namespace, "any")))
    plane.api().create(objects.pod("user", namespace, templates={"gpu": "gpu"}))
    plane.audit.settled()
    assert plane.audit.counts(STOCK, mark) == {}
    assert plane.processes[CLAIM_CONTROLLER].pid is None
