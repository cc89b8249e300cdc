"""Device preemption on a real node: the container of the more important pod gets the device."""

from collections.abc import Iterator

import pytest

from dragoman_drivers.pretend.driver import RULES, Driver
from tests.e2e.node.setup import CLASS, NodeSetup
from tests.e2e.preemption.conftest import PREEMPTIONS, install
from tests.e2e.rbac import (
    EXPLAIN_RULES,
    IMPERSONATION,
    OPERATOR_RULES,
    PREEMPTING_RULES,
    PREEMPTION_ACCOUNT,
)
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import ControlPlane

pytestmark = [pytest.mark.node, pytest.mark.slow]
FLAGS = ("--preemption=on", "--preemption-after=0", f"--preemption-account={PREEMPTION_ACCOUNT}")


@pytest.fixture
def one_device() -> Iterator[NodeSetup]:
    """Run a node with one device, and an operator that preempts."""
    if reason := obstacle():
        pytest.skip(reason)
    with ControlPlane(
        scheduler=True,
        feature_gates={"DRADeviceTaintRules": True},
        runtime_config={"resource.k8s.io/v1beta2": True},
        extra_apiserver_flags=NODE_FLAGS,
    ) as plane:
        api = plane.api()
        api.create(plane.served(objects.device_class(CLASS)))
        install(plane)
        plane.user(PREEMPTION_ACCOUNT, PREEMPTING_RULES)
        user = plane.user("preempting", [*OPERATOR_RULES, *EXPLAIN_RULES, IMPERSONATION])
        account = plane.user("driver", RULES)
        with Node(plane) as node:
            places = node.places
            with (
                Driver(
                    plane.api(account), places.kubelet, places.cdi, node=node.name, devices=1
                ) as driver,
                OperatorProcess(plane, user, "--no-leader-elect", *FLAGS) as operator,
            ):
                made = NodeSetup(plane, node, driver, plane.create_namespace("setup"))
                yield made
                made.clear()
                assert operator.faults() == []


def test_the_container_of_the_more_important_pod_gets_the_device(one_device: NodeSetup) -> None:
    setup = one_device
    setup.api.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "important"},
            "value": 1000,
        }
    )
    setup.template()
    setup.pod("notebook", "tell", "hold")
    setup.until("notebook")
    (device,) = setup.devices("notebook")

    setup.pod("train", "tell", "hold", priorityClassName="important")
    setup.until("train")

    assert setup.devices("train") == [device]
    assert setup.api.find("pods", "notebook", setup.namespace) is None

    def phase() -> str:
        (journal,) = setup.api.list(PREEMPTIONS, setup.namespace)
        return str(journal["status"].get("phase"))

    wait_for(lambda: phase() == "Placed", message="the preemption to end")
    assert not setup.api.list("devicetaintrules")
    setup.delete("train")
