"""Beside the garbage collector: what it deletes costs the operator nothing."""

from collections.abc import Iterator

import pytest

from tests.e2e.scene import Scene
from tests.support.controlplane import objects
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


def test_the_claim_of_a_deleted_pod_goes_without_a_write_of_ours(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod(nodeName="by-hand"))
    claim = scene.published()["a"]
    scene.forget()
    scene.delete_pods("pod")
    scene.gone(claim)
    scene.seen()
    assert scene.writes(refused=None) == {}
    (write,) = scene.plane.audit.writes(COLLECTOR, namespace=scene.namespace)
    assert write.what == "delete resourceclaims"


def test_the_claim_of_a_pod_that_is_deleted_before_it_has_a_node_goes_with_one_write(
    scene: Scene,
) -> None:
    scene.apply(scene.template(), scene.pod())
    claim = scene.published()["a"]
    scene.delete_pods("pod")
    scene.gone(claim)
    scene.seen()
    deletions = scene.plane.audit.writes(
        namespace=scene.namespace, resource="resourceclaims", verb="delete"
    )
    assert len(deletions) == 1


def test_a_device_of_a_deleted_pod_is_freed_with_two_writes_of_ours(scene: Scene) -> None:
    scene.apply(scene.template(device_class=scene.devices()), scene.pod())
    claim = scene.published()["a"]
    scene.reserved(claim, "pod")
    wait_for(lambda: scene.node_of("pod"), message="the pod to be scheduled")
    scene.forget()
    scene.delete_pods("pod")
    scene.gone(claim)
    assert scene.writes() == {"patch resourceclaims/status": 1, "patch resourceclaims": 1}


def test_a_finished_pod_that_is_deleted_soon_after_leaves_nothing_behind(scene: Scene) -> None:
    pods = [f"pod-{number}" for number in range(20)]
    scene.apply(scene.template(), *(scene.pod(name) for name in pods))
    for name in pods:
        scene.published(name)
    scene.forget()
    scene.finish(*pods)
    scene.delete_pods(*pods)
    wait_for(lambda: not scene.claims(), message="all claims to go")
    scene.seen()
    assert scene.writes()["create resourceclaims"] == 0
    assert scene.claims() == {}
