"""Beside the garbage collector: what it deletes costs the operator nothing."""

from collections.abc import Iterator

import pytest

from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import GARBAGE_COLLECTOR, ControlPlane

COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"


@pytest.fixture(scope="module", autouse=True)
def collector(plane: ControlPlane) -> Iterator[None]:
    """Run the garbage collector for the tests of this file, and wait until it collects."""
    plane.start_garbage_collector()
    orphan = objects.config_map("orphan", "default")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "nobody"}
    plane.api().create(orphan | {"metadata": orphan["metadata"] | {"ownerReferences": [owner]}})
    wait_for(
        lambda: plane.api().find("configmaps", "orphan", "default") is None,
        60,
        "the garbage collector to be at work",
    )
    yield
    plane.stop_part(GARBAGE_COLLECTOR)


def test_the_claim_of_a_deleted_pod_goes_without_a_write_of_ours(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod(nodeName="by-hand"))
    claim = setup.published()["a"]
    setup.forget()
    setup.delete_pods("pod")
    setup.gone(claim)
    setup.seen()
    assert setup.writes(refused=None) == {}
    (write,) = setup.plane.audit.writes(COLLECTOR, namespace=setup.namespace)
    assert write.what == "delete resourceclaims"


def test_the_claim_of_a_pod_that_is_deleted_before_it_has_a_node_goes_with_one_write(
    setup: Setup,
) -> None:
    setup.apply(setup.template(), setup.pod())
    claim = setup.published()["a"]
    setup.delete_pods("pod")
    setup.gone(claim)
    setup.seen()
    deletions = setup.plane.audit.writes(
        namespace=setup.namespace, resource="resourceclaims", verb="delete"
    )
    assert len(deletions) == 1


def test_a_device_of_a_deleted_pod_is_freed_with_two_writes_of_ours(setup: Setup) -> None:
    setup.apply(setup.template(device_class=setup.devices()), setup.pod())
    claim = setup.published()["a"]
    setup.scheduled(claim, "pod")
    setup.forget()
    setup.delete_pods("pod")
    setup.gone(claim)
    setup.wrote({"patch resourceclaims/status": 1, "patch resourceclaims": 1})


def test_a_finished_pod_that_is_deleted_soon_after_leaves_nothing_behind(setup: Setup) -> None:
    pods = [f"pod-{number}" for number in range(20)]
    setup.apply(setup.template(), *(setup.pod(name) for name in pods))
    for name in pods:
        setup.published(name)
    setup.forget()
    setup.finish(*pods)
    setup.delete_pods(*pods)
    wait_for(lambda: not setup.claims(), message="all claims to go")
    setup.seen()
    assert setup.writes()["create resourceclaims"] == 0
    assert setup.claims() == {}
