"""An informer: parse and dispatch events, live reads, and the resync that kopf's watches need."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.poolstatus.requests import PoolStatusRequest
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.model.claim import Claim
from tests.unit.dragoman.kube.harness import claim

CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
POOL_STATUSES = Resource("resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests")
MALFORMED = {"metadata": {"name": "odd", "namespace": "ns", "uid": 7}}


class Served:
    """A client that answers every GET with these items, or refuses."""

    def __init__(self, *items: Mapping[str, Any], refuses: bool = False) -> None:
        self.items = items
        self.refuses = refuses

    async def get(self, path: str, **_: str) -> Mapping[str, Any]:
        if self.refuses:
            raise ApiError(503, "Unavailable", "later")
        if path.endswith("resourceclaims"):
            return {"items": list(self.items), "metadata": {"resourceVersion": "9"}}
        return self.items[0]


def informer(client: Served, state: ClusterState) -> Informer[Claim]:
    """Return an informer of claims into a state; it ignores claims that are named `other`."""
    return Informer(
        cast(Client, client),
        CLAIMS,
        Claim.parse,
        store=state.claims,
        predicate=lambda content: b'"other"' not in content,
    )


def names(state: ClusterState) -> set[str]:
    return {fact.metadata.name for fact in state.claims}


async def test_a_resync_stores_what_is_listed_and_deletes_what_is_not() -> None:
    state = ClusterState()
    state.claims.put(Claim.parse(claim("deleted-during-an-outage")))
    found = informer(Served(claim("a"), claim("b")), state)
    await found.resync()
    assert names(state) == {"a", "b"}
    assert found.synced.is_set()


async def test_a_resync_that_fails_deletes_nothing() -> None:
    state = ClusterState()
    state.claims.put(Claim.parse(claim("a")))
    found = informer(Served(refuses=True), state)
    with pytest.raises(ApiError):
        await found.resync()
    assert names(state) == {"a"}
    assert not found.synced.is_set()


async def test_a_resync_stores_nothing_that_a_reflector_would_drop() -> None:
    state = ClusterState()
    await informer(Served(claim("a"), claim("other")), state).resync()
    assert names(state) == {"a"}


async def test_one_malformed_object_keeps_no_other_from_being_refreshed() -> None:
    state = ClusterState()
    found = informer(Served(claim("a"), MALFORMED, claim("b")), state)
    await found.refresh_namespace("ns")
    assert names(state) == {"a", "b"}


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "known to be deleted"])
def test_a_deletion_of_which_only_the_metadata_is_known_is_no_error(*, stored: bool) -> None:
    found = Informer(cast(Client, Served()), POOL_STATUSES, PoolStatusRequest.parse)
    seen: list[str] = []
    found.observe(lambda old, new: seen.append(old.metadata.name if old and not new else ""))
    metadata = {"name": "a", "uid": "a", "resourceVersion": "1"}
    if stored:
        found.handle({"type": "ADDED", "object": {"metadata": metadata, "spec": {"driver": "x"}}})
    with capture_logs() as logged:
        found.handle({"type": "DELETED", "object": {"metadata": metadata}})
    assert logged == []
    assert len(found.store) == 0
    assert seen == (["", "a"] if stored else [])


async def test_a_live_read_of_a_malformed_object_is_retried_as_a_failed_request() -> None:
    with pytest.raises(ApiError, match="expected a string"):
        await informer(Served(MALFORMED), ClusterState()).read("ns", "odd")


class Versioned(Served):
    """A client whose one object is patched only in the version that the request names."""

    patched: Mapping[str, Any] | None = None

    async def patch(self, path: str, body: Mapping[str, Any], _: str) -> Mapping[str, Any]:
        assert path.endswith("/resourceclaims/a/status")
        if not self.items:
            raise ApiError(404, "NotFound", path)
        metadata = self.items[0]["metadata"]
        if body["metadata"] != {"resourceVersion": metadata["resourceVersion"]}:
            raise ApiError(409, "Conflict", path)
        self.patched = {**self.items[0], "metadata": {**metadata, "resourceVersion": "10"}}
        return self.patched


async def test_a_status_is_written_in_the_version_that_it_was_computed_from() -> None:
    client = Versioned(claim("a"))
    written = await informer(client, ClusterState()).patch_status(Claim.parse(claim("a")), {})
    assert client.patched is not None
    assert written == Claim.parse(client.patched)


async def test_an_object_that_was_created_anew_does_not_get_the_status_of_the_old_one() -> None:
    state, old = ClusterState(), Claim.parse(claim("a"))
    state.claims.put(old)
    new = claim("a")
    new["metadata"] = {**new["metadata"], "uid": "another", "resourceVersion": "9"}
    client = Versioned(new)
    assert await informer(client, state).patch_status(old, {}) is None
    assert client.patched is None
    stored = state.claims.get(old.metadata.namespace, "a")
    assert stored is not None
    assert stored.metadata.uid == "another"


@pytest.mark.parametrize("code", [404, 409])
async def test_a_refusal_of_an_object_that_is_as_it_was_is_no_change_of_it(code: int) -> None:
    class Confused(Versioned):
        async def patch(self, path: str, body: Mapping[str, Any], _: str) -> Mapping[str, Any]:
            raise ApiError(code, "Confused", f"{path} of {sorted(body)}")

    found = informer(Confused(claim("a")), ClusterState())
    with pytest.raises(ApiError, match="claims/a/status"):
        await found.patch_status(Claim.parse(claim("a")), {})


def test_an_observer_that_comes_later_receives_what_is_stored_and_each_change() -> None:
    found = informer(Served(), ClusterState())
    found.handle({"type": "ADDED", "object": claim("a", 1)})
    seen: list[tuple[str, str]] = []

    def note(old: Claim | None, new: Claim | None) -> None:
        versions = [one.metadata.resource_version if one else "" for one in (old, new)]
        seen.append((versions[0], versions[1]))

    found.observe(note)
    for kind, version in (("MODIFIED", 2), ("MODIFIED", 1), ("DELETED", 3), ("DELETED", 3)):
        found.handle({"type": kind, "object": claim("a", version)})
    # An older state, and the end of what is not stored, change nothing.
    assert seen == [("", "1"), ("1", "2"), ("2", "")]


def test_a_fault_of_one_observer_keeps_the_change_from_no_other() -> None:
    def faulty(*_: object) -> None:
        raise KeyError("spec")

    state = ClusterState()
    found, seen = informer(Served(), state), list[str]()
    found.observe(faulty)
    found.observe(lambda _, new: seen.append(new.metadata.name if new else ""))
    found.handle({"type": "ADDED", "object": claim("a")})
    assert seen == ["a"]
