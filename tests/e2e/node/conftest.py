"""Fixtures: one real node with a driver and the operator beside it, for all tests here."""

from collections.abc import Iterator

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_drivers.pretend.configs import validator
from dragoman_drivers.pretend.driver import RULES, Driver
from tests.e2e.node.setup import CLASS, NodeSetup
from tests.e2e.running import OperatorProcess
from tests.e2e.webhook.conftest import install
from tests.e2e.webhook.rbac import SCHEMA_RULES
from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    SCHEDULER,
    ControlPlane,
)
from tests.support.controlplane.recipes import NODE
from tests.support.gpuconfig import schema

WORKLOADS = ("job-controller", "pod-garbage-collector-controller")
"""Whoever makes the pods of jobs, and whoever removes those of nodes that are gone."""


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Run a control plane that a kubelet can join, with controllers that make and remove pods."""
    if reason := obstacle():
        pytest.skip(reason)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        binaries.find([ETCD, API_SERVER, SCHEDULER, CONTROLLER_MANAGER, *NODE])
    with ControlPlane(
        scheduler=True, garbage_collector=True, extra_apiserver_flags=NODE_FLAGS
    ) as running:
        running.start_controllers("workloads", WORKLOADS)
        running.api().create(running.served(objects.device_class(CLASS)))
        install(running)
        yield running
        running.keep_logs |= request.session.testsfailed > 0


@pytest.fixture(scope="session")
def node(plane: ControlPlane) -> Iterator[Node]:
    """Run a real node."""
    with Node(plane) as running:
        yield running


@pytest.fixture(scope="session")
def driver(plane: ControlPlane, node: Node) -> Iterator[Driver]:
    """Run a driver with four devices on the node."""
    account = plane.user("driver", RULES)
    places = node.places
    validate = validator(objects.DRIVER, Registry.of([schema(objects.DRIVER)]))
    with Driver(
        plane.api(account), places.kubelet, places.cdi, node=node.name, validate=validate
    ) as running:
        yield running


@pytest.fixture(scope="session")
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Run the operator as a process of its own; nothing that happens may surprise it."""
    with OperatorProcess(plane, plane.user("dragoman", SCHEMA_RULES)) as running:
        yield running
        assert running.faults() == []


@pytest.fixture
def setup(
    plane: ControlPlane, node: Node, driver: Driver, operator: OperatorProcess
) -> Iterator[NodeSetup]:
    """Set up an empty namespace on the node; all devices are free before and after."""
    assert operator.pid
    made = NodeSetup(plane, node, driver, plane.create_namespace("setup"))
    yield made
    made.clear()
