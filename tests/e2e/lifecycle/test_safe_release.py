"""Devices of pods whose containers never ended: a force delete on nodes without a kubelet."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.e2e.rbac import OPERATOR_RULES, SAFE_RELEASE_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.e2e.toolkit.commands import dra
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

RECORD = "dragoman.dev/left-consumers"
TAINT = {"key": "node.kubernetes.io/out-of-service", "value": "off", "effect": "NoExecute"}


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    user = plane.user("dragoman-safe", [*OPERATOR_RULES, *SAFE_RELEASE_RULES])
    election = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    grace = ("--safe-release-grace=3", "--safe-release-margin=2")
    flags = ("--safe-release", *grace, *election)
    with OperatorProcess(plane, user, *flags) as running:
        yield running
        assert running.faults() == []


class Node:
    """What a kubelet would say of the node that a pod runs on."""

    def __init__(self, setup: Setup, pod: str) -> None:
        self._api = setup.api
        self.name = setup.node_of(pod)

    def report(self, *, ready: bool) -> None:
        condition = {
            "type": "Ready",
            "status": str(ready) if ready else "Unknown",
            "lastTransitionTime": now(),
            "reason": "Test",
        }
        status = {"status": {"conditions": [condition]}}
        self._api.patch("nodes", self.name, "", status, subresource="status")

    def renew(self) -> None:
        """Renew the Lease of the node."""
        spec = {"holderIdentity": self.name, "renewTime": now()}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": "kube-node-lease"},
            "spec": spec,
        }
        if self._api.find("leases", self.name, "kube-node-lease") is None:
            self._api.create(lease)
        else:
            self._api.patch("leases", self.name, "kube-node-lease", {"spec": spec})

    def taint(self) -> None:
        self._api.patch("nodes", self.name, "", {"spec": {"taints": [TAINT]}})

    def delete(self) -> Json:
        """Delete the Node; returns it."""
        known = self._api.get("nodes", self.name)
        self._api.delete("nodes", self.name)
        return known


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def running_pod(setup: Setup, name: str = "pod") -> tuple[str, Node]:
    """Let a pod run with a device and two seconds of grace; returns its claim and node."""
    setup.apply(
        setup.template(device_class=setup.devices()),
        setup.pod(name, terminationGracePeriodSeconds=2),
    )
    claim = setup.published(name)["a"]
    setup.scheduled(claim, name)
    node = Node(setup, name)
    node.report(ready=False)
    status = {"status": {"phase": "Running"}}
    setup.api.patch("pods", name, setup.namespace, status, subresource="status")
    setup.seen()
    return claim, node


def held(setup: Setup, claim: str) -> bool:
    """Whether a claim is reserved, and says for whom."""
    found = setup.api.find("resourceclaims", claim, setup.namespace)
    assert found is not None, "the claim is gone"
    return RECORD in (found["metadata"].get("annotations") or {}) and setup.allocated(claim)


def left(setup: Setup, claim: str, pod: str = "pod") -> None:
    """Delete a pod by force, and wait until its claim says that it waits for the pod's node."""
    command = ("delete", "-n", setup.namespace, "pod", pod, "--force", "--grace-period=0")
    setup.plane.kubectl(*command)
    wait_for(partial(held, setup, claim), message="the departure to be recorded")


def test_a_lost_node_keeps_the_device_until_it_is_out_of_service(setup: Setup) -> None:
    claim, node = running_pod(setup)
    left(setup, claim)
    (event, *_) = setup.event("ContainersNotEnded")
    assert f"waits for {node.name} to end {setup.namespace}/pod" in event["note"]
    node.renew()
    setup.seen()
    assert held(setup, claim)
    node.taint()
    setup.gone(claim)


def test_a_node_that_is_made_anew_frees_the_device(setup: Setup) -> None:
    claim, node = running_pod(setup)
    left(setup, claim)
    known = node.delete()
    metadata = {"name": node.name, "labels": known["metadata"].get("labels", {})}
    setup.api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    setup.gone(claim)


def test_a_ready_node_frees_it_after_its_kubelet_had_the_time(setup: Setup) -> None:
    claim, node = running_pod(setup)
    node.report(ready=True)
    left(setup, claim)
    node.renew()
    record = setup.get("resourceclaims", claim)["metadata"]["annotations"][RECORD]
    assert '"graceSeconds":2' in record

    def freed() -> bool:
        node.renew()
        return setup.api.find("resourceclaims", claim, setup.namespace) is None

    wait_for(freed, 60, message="the claim to be freed")


def test_kills_of_the_operator_free_nothing(setup: Setup, operator: OperatorProcess) -> None:
    claim, node = running_pod(setup)
    operator.kill()
    command = ("delete", "-n", setup.namespace, "pod", "pod", "--force", "--grace-period=0")
    setup.plane.kubectl(*command)
    for _ in range(3):
        operator.launch()
        wait_for(partial(held, setup, claim), message="the departure to be recorded")
        operator.kill()
        assert held(setup, claim)
    operator.start()
    setup.seen()
    assert held(setup, claim)
    node.delete()
    setup.gone(claim)


def test_an_admin_is_told_who_is_waited_for_and_ends_it(setup: Setup) -> None:
    claim, node = running_pod(setup)
    left(setup, claim)
    waits = f"waits for {node.name} to end {setup.namespace}/pod"
    cluster = ("-n", setup.namespace, "--kubeconfig", setup.plane.kubeconfig)
    assert waits in dra("who", f"claim/{claim}", *cluster).output
    assert waits in dra("top", "nodes", *cluster).output
    assert waits in dra("release", claim, *cluster, expected=[1]).output
    assert held(setup, claim)
    dra("release", claim, "--force", *cluster)
    setup.gone(claim)
