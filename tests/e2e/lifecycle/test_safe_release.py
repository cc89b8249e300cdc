"""Devices of pods whose containers never ended: a force delete on nodes without a kubelet."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.charts.rendering import NAMESPACE, RELEASE, render
from tests.e2e.rbac import OPERATOR_RULES, SAFE_RELEASE_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.e2e.toolkit.commands import dra
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.hostile import Tries, scaled
from tests.support.tenants import Repeatedly, tenant

RECORD = "dragoman.dev/left-consumers"
PROTECTION = "resource.kubernetes.io/delete-protection"
TAINT = {"key": "node.kubernetes.io/out-of-service", "value": "off", "effect": "NoExecute"}


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    user = plane.user("dragoman-safe", [*OPERATOR_RULES, *SAFE_RELEASE_RULES])
    election = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    grace = ("--safe-release-grace=3", "--safe-release-margin=2", "--safe-release-limit=10")
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


def running_pod(setup: Setup, name: str = "pod", grace: int = 2) -> tuple[str, Node]:
    """Let a pod run with a device and some seconds of grace; returns its claim and node."""
    setup.apply(
        setup.template(device_class=setup.devices()),
        setup.pod(name, terminationGracePeriodSeconds=grace),
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
    return '"left"' in record_of(found) and setup.allocated(claim)


def record_of(claim: Json) -> str:
    """Return what a claim says of pods that left, or have a long grace period."""
    return str((claim["metadata"].get("annotations") or {}).get(RECORD, ""))


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


@pytest.mark.slow
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


# Tenants ------------------------------------------------------------------------------------------


@contextmanager
def policies(setup: Setup, operator: OperatorProcess, attack: Api) -> Iterator[None]:
    """Let the chart's admission policies act for the operator of these tests."""
    values = {"claims": {"mode": "own", "safeRelease": True}}
    kept = [one for one in render(values) if "AdmissionPolicy" in one["kind"]]
    assert len(kept) == 4
    account = f"system:serviceaccount:{NAMESPACE}:{RELEASE}-operator"
    api = setup.plane.api()
    for one in json.loads(json.dumps(kept).replace(account, operator.user.name)):
        api.apply(one)
    forged = setup.claim("forged", annotations={RECORD: "[]"})

    def refused() -> bool:
        try:
            attack.create(setup.plane.served(forged))
        except ApiError as error:
            return error.code == 403
        attack.delete("resourceclaims", "forged", setup.namespace)
        return False

    try:
        wait_for(refused, message="the policies to act")
        yield
    finally:
        for one in kept:
            plural = one["kind"].lower() + "s"
            api.delete(plural.replace("policys", "policies"), one["metadata"]["name"])
        wait_for(lambda: not refused(), message="the policies to be gone")


def forge(api: Api, claim: str, namespace: str, number: int = 0) -> None:
    """Write, as a tenant, what would free a device early: a record, or no finalizers."""
    short = {"uid": "u", "pod": "pod", "node": "n", "graceSeconds": 0, "left": now()}
    records = (json.dumps([short]), None, "[]")
    changes: tuple[Json, ...] = (
        *({"annotations": {RECORD: one}} for one in records),
        {"finalizers": None},
    )
    api.patch("resourceclaims", claim, namespace, {"metadata": changes[number % len(changes)]})


@pytest.mark.hostile("safe release")
def test_a_tenant_neither_shortens_a_wait_nor_ends_it(
    setup: Setup, operator: OperatorProcess, tries: Tries
) -> None:
    claim, node = running_pod(setup, grace=10**9)
    node.report(ready=True)
    attack = tenant(setup.plane, setup.namespace)
    # While the pod runs, what a later operator has to know is written already.
    wait_for(
        lambda: '"graceSeconds":10' in record_of(setup.get("resourceclaims", claim)),
        message="the grace period to be recorded",
    )
    count = scaled(40, least=8)
    with policies(setup, operator, attack):
        before = record_of(setup.get("resourceclaims", claim))
        attack.delete("resourceclaims", claim, setup.namespace)
        for number in range(count):
            with suppress(ApiError):  # what is kept decides
                forge(attack, claim, setup.namespace, number)
        kept = setup.get("resourceclaims", claim)
        assert "deletionTimestamp" in kept["metadata"]
        assert (record_of(kept), kept["metadata"]["finalizers"]) == (before, [PROTECTION])
        operator.kill()
        command = ("delete", "-n", setup.namespace, "pod", "pod", "--force", "--grace-period=0")
        setup.plane.kubectl(*command)
        operator.start()
        wait_for(partial(held, setup, claim), message="the departure to be recorded")
        (event, *_) = setup.event("ContainersNotEnded")
        assert "its grace period of 1e+09 s counts as 10 s" in event["note"]
        # Nothing but the operator's own account ends it: kubelet lives on, and the limit passes.
        with Repeatedly(lambda _: node.renew(), 1.0):
            setup.gone(claim)
    tries(count)


@pytest.mark.hostile("safe release")
@pytest.mark.slow
def test_records_that_a_tenant_writes_only_lengthen_the_wait(
    setup: Setup, operator: OperatorProcess, tries: Tries
) -> None:
    """Without the policies: the record is forged while no operator runs, and while one begins."""
    claim, node = running_pod(setup, grace=9)
    node.report(ready=True)
    attack = tenant(setup.plane, setup.namespace)
    wait_for(
        lambda: '"graceSeconds":9' in record_of(setup.get("resourceclaims", claim)),
        message="the grace period to be recorded",
    )
    kept = json.loads(record_of(setup.get("resourceclaims", claim)))[0]
    operator.kill()
    command = ("delete", "-n", setup.namespace, "pod", "pod", "--force", "--grace-period=0")
    setup.plane.kubectl(*command)
    early = [{**kept, "nodeUID": "other", "left": "2026-01-01T00:00:00Z"}]
    body = {"metadata": {"annotations": {RECORD: json.dumps(early)}}}
    with Repeatedly(lambda _: node.renew(), 1.0):
        with Repeatedly(
            lambda _: attack.patch("resourceclaims", claim, setup.namespace, body), 0.1
        ) as forging:
            operator.start()
            began = datetime.now(UTC)
            while (datetime.now(UTC) - began).total_seconds() < 8:
                assert setup.allocated(claim)
        setup.gone(claim)
    tries(forging.done)


def test_a_deleted_claim_of_a_pod_that_left_is_ended_by_one_command(setup: Setup) -> None:
    claim, _ = running_pod(setup, grace=10**9)
    left(setup, claim)
    setup.api.delete("resourceclaims", claim, setup.namespace)
    cluster = ("-n", setup.namespace, "--kubeconfig", setup.plane.kubeconfig)
    found = dra("doctor", "--only", "ContainersNotEnded", *cluster[2:], expected=[1])
    assert "which asked for 1e+09 s of grace" in found.output
    dra("release", claim, "--force", *cluster)
    setup.gone(claim)
