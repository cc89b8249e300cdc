"""Which pods are stored, and until when."""

from typing import Any

from dragoman.cluster.cluster import ClusterStores, pod_concerns_claims
from dragoman.kube.errors import ApiError
from dragoman.model.fields import Document
from dragoman.model.pod import Pod
from tests.support.apiserver import ApiServer, Place
from tests.support.clusters import following
from tests.support.scriptedserver import eventually

PLACE = Place("pods", "ns", "batch-1")
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def pod(name: str = "batch-1", node: str = "", **status: Any) -> dict[str, Any]:
    """Return a pod without claims; one without a node was refused by the scheduler."""
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"containers": [], **({"nodeName": node} if node else {})},
        "status": {"conditions": [] if node else [REFUSED], **status},
    }


def keeping(cluster: ClusterStores) -> None:
    """Keep waiting pods as they are."""
    cluster.keep_waiting(lambda document: document)


def waiting(cluster: ClusterStores) -> list[str]:
    """Return the names of the pods that wait."""
    found: list[Document] = cluster.waiting() or []
    return [one["metadata"]["name"] for one in found]


async def test_a_pod_without_claims_leaves_the_store_once_it_has_a_node() -> None:
    server = ApiServer()
    server.store(pod())
    async with following(server, keeping) as cluster:
        assert waiting(cluster) == ["batch-1"]
        server.store(pod(node="node-1"))
        await eventually(lambda: len(cluster.pods.store) == 0)


async def test_a_refused_pod_that_is_deleted_leaves_the_store() -> None:
    server = ApiServer()
    server.store(pod())
    async with following(server, keeping) as cluster:
        server.objects[PLACE]["status"] = {}  # its last state has no mark of a refusal
        server.remove(PLACE)
        await eventually(lambda: len(cluster.pods.store) == 0)


async def test_a_pod_that_left_the_store_comes_back_with_devices() -> None:
    """It is not taken for deleted, also where a list shows first that it has a node."""
    server = ApiServer()
    server.store(pod())
    async with following(server, keeping) as cluster:
        gone: list[Pod | None] = []
        cluster.pods.departed = lambda _, last: gone.append(last)
        server.fail = lambda name, _: (
            ApiError(410, "Expired", name) if name != "LIST pods" else None
        )
        server.store(pod(node="node-1"))
        await cluster.pods.resync()
        assert len(cluster.pods.store) == 0
        claim = {"resourceClaimName": "made"}
        server.store(pod(node="node-1", extendedResourceClaimStatus=claim))
        await cluster.pods.resync()
        assert [one.extended_claim for one in cluster.pods.store] == ["made"]
        assert gone == []


async def test_kopf_passes_the_events_of_a_stored_pod() -> None:
    server = ApiServer()
    server.store(pod())
    async with following(server, keeping) as cluster:
        bound = server.store(pod(node="node-1"))

        class Memo:
            class operator:  # noqa: N801 — kopf's memo
                class informers:  # noqa: N801
                    @staticmethod
                    def has(*place: str) -> bool:
                        return cluster.pods.store.get(*place[2:]) is not None

        assert pod_concerns_claims(bound, memo=Memo)
        await eventually(lambda: len(cluster.pods.store) == 0)
        assert not pod_concerns_claims(bound, memo=Memo)
