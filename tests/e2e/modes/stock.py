"""The built-in claim controller of kube-controller-manager, at work before a test goes on."""

from tests.e2e.setup import NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import UNTHROTTLED, StockController
from tests.support.controlplane.plane import ControlPlane


def start_stock(plane: ControlPlane, settings: StockController = UNTHROTTLED) -> None:
    """Start it, and wait until it has published a claim: it is healthy before its caches are full.

    No other controller may create claims meanwhile.
    """
    plane.start_stock_controller(settings)
    namespace = plane.create_namespace("stock")
    api = plane.api()
    api.create(plane.served(objects.template("template", namespace, NO_CLASS)))
    api.create(objects.pod("pod", namespace, templates={"a": "template"}))
    wait_for(
        lambda: api.get("pods", "pod", namespace)["status"].get("resourceClaimStatuses"),
        message="the built-in controller to publish a claim",
    )
    plane.clear_namespace(namespace)
