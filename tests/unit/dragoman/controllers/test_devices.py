"""The stores of slices and rules, and their observers."""

import asyncio
import json
from typing import Any

from dragoman.cluster.devices import DeviceStores
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.kube.resources import Resource
from tests.support.clusters import RULES, cluster_of

Seen = list[tuple[int, int]]


class Listing:
    """An API server with these objects."""

    def __init__(self, *items: dict[str, Any]) -> None:
        self.items = items
        self.lists = 0

    async def get(self, _: str, **__: str) -> dict[str, Any]:
        self.lists += 1
        return {"metadata": {"resourceVersion": "9"}, "items": list(self.items)}


def event(kind: str, generation: int, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "n", "uid": "u", "resourceVersion": str(generation)}
    pool = {"name": "p", "generation": generation, "resourceSliceCount": 1}
    body = {
        "metadata": {**metadata, "generation": generation},
        "spec": {"driver": "d", "pool": pool, "devices": [{"name": "a"}], **spec},
    }
    return {"type": kind, "object": body}


def generation(fact: StoredSlice | StoredRule | None) -> int:
    return 0 if fact is None else fact.generation


def test_observers_receive_slices_before_and_after_a_change() -> None:
    devices = cluster_of(Listing()).part(DeviceStores)
    seen: Seen = []
    devices.slices.observe(lambda old, new: seen.append((generation(old), generation(new))))
    for kind, version in (("ADDED", 1), ("MODIFIED", 2), ("MODIFIED", 1), ("DELETED", 2)):
        devices.slices.handle(event(kind, version))
    # The third event is older than what is stored.
    assert seen == [(0, 1), (1, 2), (2, 0)]
    assert len(devices.slices.store) == 0


def test_observers_receive_rules_once_they_are_served() -> None:
    devices = cluster_of(Listing()).part(DeviceStores)
    seen: Seen = []
    devices.rules.observe(lambda old, new: seen.append((generation(old), generation(new))))
    assert devices.rules_served is None
    devices.serve_rules(RULES)
    for kind in ("ADDED", "DELETED"):
        devices.rules.handle(event(kind, 3, taint={"key": "k", "effect": "None"}))
    assert seen == [(0, 3), (3, 0)]


async def test_content_is_listed_again_for_a_controller_that_needs_it() -> None:
    stored = event("ADDED", 1)["object"]
    devices = cluster_of(Listing(stored)).part(DeviceStores)
    await devices.slices.resync()
    assert [one.content for one in devices.slices.store] == [None]
    await devices.require_content()
    assert [one.content is None for one in devices.slices.store] == [False]


async def test_content_that_cannot_be_read_is_listed_once() -> None:
    malformed = event("ADDED", 1, sharedCounters=["none"])["object"]
    listing = Listing(malformed)
    devices = cluster_of(listing).part(DeviceStores)
    await devices.slices.resync()
    assert len(devices.slices.store) == 1
    for _ in range(3):
        await devices.require_content()
    assert listing.lists == 2


async def test_slices_are_read_in_the_version_that_is_served_now() -> None:
    old = event("ADDED", 1)["object"]
    taint = {"key": "k", "effect": "None"}
    old["spec"]["devices"] = [{"name": "a", "basic": {"taints": [taint]}}]
    devices = cluster_of(Listing(old)).part(DeviceStores)
    devices.serve(Resource("resource.k8s.io", "v1beta1", "resourceslices"))
    await devices.slices.resync()
    assert [[*one.taints] for one in devices.slices.store] == [["a"]]


def test_events_that_change_no_device_are_not_parsed() -> None:
    devices = cluster_of(Listing()).part(DeviceStores)
    document = {"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1"}
    made = event("MODIFIED", 1)
    made["object"] = document | made["object"]
    line = json.dumps(made, separators=(",", ":")).encode()
    assert not devices.slices.is_unchanged(line)
    devices.slices.handle(made)
    assert devices.slices.is_unchanged(line)
    made["object"]["spec"]["devices"].append({"name": "b"})
    assert not devices.slices.is_unchanged(json.dumps(made, separators=(",", ":")).encode())


async def test_a_slice_that_cannot_be_read_again_is_not_listed_without_end() -> None:
    stored = event("ADDED", 1)["object"]
    listing = Listing(stored)
    devices = cluster_of(listing).part(DeviceStores)
    await devices.slices.resync()
    stored["spec"]["devices"][0]["attributes"] = "none"
    async with asyncio.timeout(20):
        await devices.require_content()
    assert [one.content for one in devices.slices.store] == [None]
