"""Two real kubelets, whose nodes have devices of the same names: each pod gets its own."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_drivers.pretend.configs import validator
from dragoman_drivers.pretend.driver import RULES, Driver
from tests.e2e.node.setup import CLASS, PATIENCE, TEMPLATE, NodeSetup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.node.node import Node
from tests.support.controlplane.plane import ControlPlane
from tests.support.gpuconfig import schema

pytestmark = [pytest.mark.node, pytest.mark.slow]
PAIR = "two-gpus"
PODS = {"first": TEMPLATE, "second": TEMPLATE, "third": PAIR}
"""Pods of each node, and the templates of their claims: all four devices of a node are used."""


@pytest.fixture
def other(plane: ControlPlane, setup: NodeSetup) -> Iterator[NodeSetup]:
    """Set up the same namespace on a second node, whose driver has the first one's name."""
    api = plane.api(plane.user("driver-2", RULES))
    validate = validator(objects.DRIVER, Registry.of([schema(objects.DRIVER)]))
    with ExitStack() as undo:  # also after a failure: other tests share the control plane
        undo.callback(plane.api().delete, "nodes", "node-2")
        node = undo.enter_context(Node(plane, "node-2", 2))
        places = node.places
        driver = Driver(api, places.kubelet, places.cdi, node=node.name, validate=validate)
        undo.enter_context(driver)
        undo.callback(driver.leave)
        wait_for(driver.published, PATIENCE, "the devices of node-2")
        made = NodeSetup(plane, node, driver, setup.namespace)
        undo.callback(made.clear)
        yield made


def test_pods_on_two_nodes_see_the_variables_of_exactly_their_devices(
    setup: NodeSetup, other: NodeSetup
) -> None:
    setup.template()
    setup.api.create(setup.plane.served(objects.template(PAIR, setup.namespace, CLASS, 2)))
    both = (setup, other)
    for one in both:
        for name, template in PODS.items():
            chosen = {"kubernetes.io/hostname": one.node.name}
            pod = f"{one.node.name}-{name}"
            setup.pod(pod, templates={"gpu": template}, nodeSelector=chosen)
    allocated = []
    for one in both:
        for name in PODS:
            pod = f"{one.node.name}-{name}"
            one.until(pod)
            claim = one.claim_of(pod)
            results = claim["status"]["allocation"]["devices"]["results"]
            (seen,) = one.told(pod)
            assert variables(seen["variables"]) == {
                f"DEVICE_{result['device'].upper().replace('-', '_')}": claim["metadata"]["uid"]
                for result in results
            }
            assert sorted(seen["nodes"]) == sorted(result["device"] for result in results)
            assert {result["pool"] for result in results} == {one.node.name}
            allocated += [(result["pool"], result["device"]) for result in results]
    assert len(allocated) == len(set(allocated)) == 8


def variables(seen: dict[str, str]) -> dict[str, str]:
    """Return the variables that name claims, without those that have configs."""
    return {name: value for name, value in seen.items() if not name.endswith("_CONFIG")}
