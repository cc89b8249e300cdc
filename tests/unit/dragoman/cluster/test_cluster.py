"""What a cluster stores of claims and nodes, and what it says of itself."""

from functools import partial
from typing import Any

import pytest

from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.explain.explainstate import ExplainState
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.store import Store
from dragoman.model.claim import Claim
from tests.support.apiserver import ApiServer
from tests.support.clusters import cluster_of, following


def claim(name: str, **request: Any) -> dict[str, Any]:
    """Return a claim with one request."""
    exactly = {"deviceClassName": "gpu", **request}
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def explained(cluster: ClusterStores) -> None:
    """Keep what explanations need."""
    cluster.keep_waiting(partial(reduced, "pods"))
    STATES.append(ExplainState(cluster, "v1.36.3"))


STATES: list[ExplainState] = []


async def test_a_claim_that_explanations_cannot_read_lives_on() -> None:
    server = ApiServer()
    server.store(claim("odd", derivedAttributes="none"))
    server.store(claim("good"))
    async with following(server, explained) as cluster:
        assert {one.name for one in cluster.claims.store} == {"odd", "good"}
        # The response to an own write is read in the same way.
        assert isinstance(
            cluster.claims.parse(server.store(claim("odd", derivedAttributes=1))), Claim
        )
        assert list(STATES[-1].world().claims) == ["ns/good"]


def test_a_node_that_explanations_cannot_read_is_stored() -> None:
    cluster = cluster_of()
    explained(cluster)
    node = {
        "metadata": {"name": "n1", "uid": "u"},
        "status": {"allocatable": "much"},
    }
    cluster.nodes.handle({"type": "ADDED", "object": node})
    assert [one.content for one in cluster.nodes.store] == [None]


def test_what_is_not_listed_yet_is_named() -> None:
    cluster = cluster_of()
    cluster.essential.append(cluster.nodes)
    cluster.require(*cluster, cluster.nodes)
    for one in cluster:
        one.synced.set()
    assert cluster.unready() == "nodes are not listed yet"


def test_waiting_pods_are_found_without_a_look_at_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = cluster_of()
    cluster.keep_waiting(lambda document: document)
    cluster.pods.synced.set()
    for name, spec in (("waits", {}), ("runs", {"nodeName": "n1", "resourceClaims": [ENTRY]})):
        document = {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}
        cluster.pods.handle({"type": "ADDED", "object": document})
    monkeypatch.setattr(Store, "__iter__", lambda _: pytest.fail("every pod was looked at"))
    assert [one["metadata"]["name"] for one in cluster.waiting() or ()] == ["waits"]


ENTRY = {"name": "gpu", "resourceClaimName": "claim"}
