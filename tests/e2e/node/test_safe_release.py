"""Devices of containers that ignore SIGTERM, whose pods are deleted by force, on real nodes."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from dragoman_drivers.pretend.driver import RULES, Deed, Driver
from tests.e2e.node.setup import CLASS, NodeSetup, container
from tests.e2e.rbac import OPERATOR_RULES, SAFE_RELEASE_RULES
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import (
    API_SERVER,
    CLAIM_CONTROLLER,
    CONTROLLER_MANAGER,
    ETCD,
    SCHEDULER,
    ControlPlane,
)
from tests.support.controlplane.recipes import NODE

pytestmark = [pytest.mark.node, pytest.mark.slow]
DEVICES = 4
GRACE, MARGIN = 3, 10
ROUNDS = max(1, int(os.environ.get("DRAGOMAN_FORCE_DELETES", "8")) // DEVICES)
"""Times that all pods are deleted by force; each has another device."""
KILLS = int(os.environ.get("DRAGOMAN_KILLS", "4"))
ELECTION = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
SAFE = ("--safe-release", f"--safe-release-margin={MARGIN}", "--safe-release-grace=5", *ELECTION)
CONTROLLERS = (
    "replicaset-controller",
    "pod-garbage-collector-controller",
    "node-lifecycle-controller",
)
RELEASED_SECONDS = 150
"""For devices to be released: a kill lets the time begin again, with 30 s as the grace period."""
BOOKED_SECONDS = 90
"""For pods to run again: the kubelet tries a preparation again after up to half a minute."""
NOT_READY_SECONDS = 120
"""For a Node to be not Ready any more: 50 s without a renewal, looked for each 5 s."""


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Run a control plane whose Nodes can get lost."""
    if reason := obstacle():
        pytest.skip(reason)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        binaries.find([ETCD, API_SERVER, SCHEDULER, CONTROLLER_MANAGER, *NODE])
    with ControlPlane(
        scheduler=True, garbage_collector=True, extra_apiserver_flags=NODE_FLAGS
    ) as running:
        running.start_controllers("workloads", CONTROLLERS)
        running.api().create(running.served(objects.device_class(CLASS)))
        yield running
        running.keep_logs |= request.session.testsfailed > 0


@dataclass(frozen=True, slots=True)
class Ward:
    """A ReplicaSet that wants all devices of a node.

    Attributes:
        setup: Its namespace.
    """

    setup: NodeSetup

    def begin(self) -> None:
        """Let each device be used by a pod whose container ignores SIGTERM."""
        pod = self.setup.pod_manifest(
            "deaf", "tell", "deaf", terminationGracePeriodSeconds=GRACE, restartPolicy="Always"
        )
        pod["spec"]["containers"][0] |= container("main", "tell", "deaf")
        # Nodes of other tests stay Ready for a while after their kubelet has ended.
        pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": self.setup.node.name}
        labels = {"app": "deaf"}
        template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
        self.setup.template()
        self.setup.api.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": "deaf", "namespace": self.setup.namespace},
                "spec": {
                    "replicas": DEVICES,
                    "selector": {"matchLabels": labels},
                    "template": template,
                },
            }
        )
        self.all_run(set())

    def pods(self) -> list[Json]:
        return self.setup.api.list("pods", self.setup.namespace)

    def all_run(self, gone: set[str]) -> None:
        """Wait until all pods run, and none of those that are gone is among them."""

        def run() -> bool:
            running = [one for one in self.pods() if one["status"].get("phase") == "Running"]
            names = {one["metadata"]["name"] for one in running}
            return len(names) == DEVICES and not names & gone

        wait_for(run, RELEASED_SECONDS + BOOKED_SECONDS, "all pods to run")

    def force(self) -> set[str]:
        """Delete all pods by force; return their names."""
        names = {one["metadata"]["name"] for one in self.pods()}
        for name in names:
            self.setup.delete(name, gracePeriodSeconds=0)
        return names

    def held(self, pods: set[str]) -> list[str]:
        """Return the claims that are reserved for some pods."""
        return [
            one["metadata"]["name"]
            for one in self.setup.claims()
            if pods & {user["name"] for user in one.get("status", {}).get("reservedFor", ())}
        ]

    def released(self, pods: set[str]) -> float:
        """Wait until no claim is reserved for some pods; return how long that took."""
        began = time.monotonic()
        wait_for(lambda: not self.held(pods), RELEASED_SECONDS, "the devices to be released")
        return time.monotonic() - began


@contextmanager
def ward(plane: ControlPlane, name: str) -> Iterator[Ward]:
    """Run a node of some name whose devices are all in use."""
    with ExitStack() as stack:
        node = stack.enter_context(Node(plane, name))
        api = plane.api(plane.user("driver", RULES))
        places = node.places
        driver = Driver(api, places.kubelet, places.cdi, node=name, devices=DEVICES)
        stack.enter_context(driver)
        made = Ward(NodeSetup(plane, node, driver, plane.create_namespace(name)))
        made.begin()
        yield made
        made.setup.api.delete_all("replicasets", made.setup.namespace)
        made.force()


@contextmanager
def operator(plane: ControlPlane, *flags: str) -> Iterator[OperatorProcess]:
    """Run the operator with safe release."""
    user = plane.user("dragoman-safe", [*OPERATOR_RULES, *SAFE_RELEASE_RULES])
    with OperatorProcess(plane, user, *SAFE, *flags) as running:
        yield running
        assert running.faults() == []


def overlaps(deeds: list[Deed]) -> set[str]:
    """Return the claims whose devices were still prepared for another claim when they came."""
    return {one.claim.uid for one in deeds if one.verb == "refuse" and " is in use by " in one.why}


def test_the_built_in_controller_gives_devices_to_a_second_pod_too_early(
    plane: ControlPlane,
) -> None:
    plane.start_stock_controller()
    try:
        with ward(plane, "plain") as busy:
            for _ in range(ROUNDS):
                busy.all_run(busy.force())
            found = overlaps(busy.setup.driver.deeds)
            print(f"built-in: {len(found)} overlaps in {ROUNDS * DEVICES} force deletes")
            assert found
    finally:
        plane.stop_part(CLAIM_CONTROLLER)


def test_safe_release_waits_for_the_containers(plane: ControlPlane) -> None:
    took = []
    with operator(plane), ward(plane, "safe") as busy:
        for _ in range(ROUNDS):
            left = busy.force()
            took.append(busy.released(left))
            busy.all_run(left)
        found = overlaps(busy.setup.driver.deeds)
        seconds = f"{min(took):.1f} to {max(took):.1f} s"
        print(
            f"safe: {len(found)} overlaps in {ROUNDS * DEVICES} force deletes, freed in {seconds}"
        )
        assert not found


def test_kills_of_the_operator_free_nothing_early(plane: ControlPlane) -> None:
    chosen = random.Random(30)
    with operator(plane) as running, ward(plane, "killed") as busy:
        for _ in range(0, KILLS, 5):
            left = busy.force()
            for _ in range(min(5, KILLS)):
                time.sleep(chosen.uniform(0, 3))
                running.kill()
                assert len(busy.held(left)) == DEVICES
                running.start()
            busy.released(left)
            busy.all_run(left)
        found = overlaps(busy.setup.driver.deeds)
        print(f"killed: {len(found)} overlaps with {KILLS} kills")
        assert not found


@pytest.mark.parametrize("given_up", ["taint", "delete"])
def test_a_node_without_power_keeps_its_devices_until_it_is_given_up(
    plane: ControlPlane, given_up: str
) -> None:
    with operator(plane), ward(plane, f"off-{given_up}") as busy:
        name, api = busy.setup.node.name, plane.api()
        busy.setup.node.power_off()
        left = busy.force()
        wait_for(partial(is_lost, plane, name), NOT_READY_SECONDS, "the Node to be not Ready")
        time.sleep(GRACE + MARGIN + 15)
        assert len(busy.held(left)) == DEVICES
        if given_up == "delete":
            api.delete("nodes", name)
        else:
            taints = [
                *api.get("nodes", name)["spec"].get("taints", ()),
                {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"},
            ]
            api.patch("nodes", name, "", {"spec": {"taints": taints}})
        print(f"{given_up}: freed in {busy.released(left):.1f} s")
        api.delete("nodes", name)


def is_lost(plane: ControlPlane, name: str) -> bool:
    """Whether a Node is not Ready."""
    conditions = plane.api().get("nodes", name)["status"]["conditions"]
    return {"Ready": "True"} not in [{one["type"]: one["status"]} for one in conditions]
