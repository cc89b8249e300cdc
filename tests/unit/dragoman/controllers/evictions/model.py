"""A model of the API server that has pods, and the eviction controller on it."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.evictions.controller import EvictionController
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.resources import Resource
from dragoman_base.versions import Release
from tests.unit.dragoman.claims.objects import ClaimObject, Json, PodObject, fact
from tests.unit.dragoman.controllers.claims.simulation import SERVED

LATENCY = 0.005
RULES = Resource("resource.k8s.io", "v1beta2", "devicetaintrules")
Fate = ApiError | None | str
"""What becomes of a request: refused, answered, or its answer is `lost`."""


class Pods:
    """Pods by namespace and name; each write is counted by pod.

    Attributes:
        stored: The documents.
        deletions: How often each pod was deleted while it was not being deleted yet.
        requests: Requests by kind.
        fate: Decides on each request, as `DELETE`, what becomes of it.
        rules: Bodies of applied statuses of rules.
        claims: Documents of claims that can be read, by name.
        rule_documents: Rules, by name.
    """

    def __init__(self, *pods: PodObject, fate: Callable[[str], Fate] = lambda _: None) -> None:
        self.stored = {
            (one.document["metadata"]["namespace"], one.name): one.document for one in pods
        }
        self.deletions: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.events: list[Json] = []
        self.rules: list[Json] = []
        self.claims: dict[str, Json] = {}
        self.rule_documents: dict[str, Json] = {}
        self.fate = fate
        self.watchers: list[Callable[[Json], None]] = []

    async def get(self, path: str, **_: str) -> Json:
        return await self._do("GET", lambda: self._find(path))

    async def post(self, _: str, body: Mapping[str, Any], **__: Any) -> Json:
        self.events.append(dict(body))
        return dict(body)

    async def patch(self, path: str, body: Mapping[str, Any], _: str) -> Json:
        def patch() -> Json:
            pod = self._find(path.removesuffix("/status"), body["metadata"]["uid"])
            status = {**pod["status"], "conditions": body["status"]["conditions"]}
            return self._store({**pod, "status": status})

        return await self._do("PATCH", patch)

    async def delete(self, path: str, options: Mapping[str, Any]) -> Json:
        def delete() -> Json:
            pod = self._find(path, options["preconditions"]["uid"])
            metadata = pod["metadata"]
            if "deletionTimestamp" not in metadata:
                self.deletions[metadata["name"]] += 1
            gone = {**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}
            return self._store({**pod, "metadata": gone})

        return await self._do("DELETE", delete)

    async def request(self, method: str, path: str, body: Any, kind: str, query: Any) -> Json:
        assert (method, kind) == ("PATCH", "application/apply-patch+yaml")
        assert path.endswith("/status")
        assert query == {"fieldManager": "dragoman", "force": "true"}
        fate = self.fate("APPLY")
        if isinstance(fate, ApiError):
            raise fate
        self.rules.append(body)
        known = self.rule_documents[body["metadata"]["name"]]
        version = str(int(known["metadata"].get("resourceVersion") or 0) + 1)
        metadata = {**known["metadata"], "resourceVersion": version}
        written: Json = {**known, "metadata": metadata, "status": body["status"]}
        self.rule_documents[metadata["name"]] = written
        return written

    def _find(self, path: str, uid: str = "") -> Json:
        *_, namespace, plural, name = path.split("/")
        if plural == "resourceclaims" and name in self.claims:
            return self.claims[name]
        if name in self.rule_documents:
            return self.rule_documents[name]
        pod = self.stored.get((namespace, name))
        if pod is None:
            raise ApiError(404, "NotFound", "no such pod")
        if uid and pod["metadata"]["uid"] != uid:
            raise ApiError(409, "Conflict", "the UID in the precondition does not match")
        return pod

    def _store(self, pod: Json) -> Json:
        metadata = pod["metadata"]
        version = str(int(metadata["resourceVersion"]) + 1)
        stored: Json = {**pod, "metadata": {**metadata, "resourceVersion": version}}
        self.stored[metadata["namespace"], metadata["name"]] = stored
        for watcher in self.watchers:
            # Watches lag behind writes.
            loop = asyncio.get_running_loop()
            loop.call_later(random.Random(version).random(), watcher, stored)
        return stored

    async def _do(self, kind: str, request: Callable[[], Json]) -> Json:
        self.requests[kind] += 1
        fate = self.fate(kind)
        await asyncio.sleep(LATENCY)
        if isinstance(fate, ApiError):
            raise fate
        answer = request()
        await asyncio.sleep(LATENCY)
        if fate == "lost":
            raise ApiError(0, "NoAnswer", "connection reset by peer")
        return answer


@asynccontextmanager
async def controlling(
    api: Pods,
    *claims: ClaimObject,
    rules: tuple[StoredRule, ...] = (),
    slices: tuple[StoredSlice, ...] = (),
    stock: Release | None = None,
    listed: bool = True,
) -> AsyncIterator[EvictionController]:
    """Run a controller that knows the pods of the model, these claims, slices and rules.

    Without `listed` the rules are not listed yet.
    """
    client = cast(Client, api)
    recorder = EventRecorder(client)
    cluster = ClusterStores(client, SERVED)
    devices = cluster.part(DeviceStores)
    made = EvictionController(Context(client, recorder), cluster, stock=stock)
    devices.serve_rules(RULES)
    for pod in api.stored.values():
        cluster.pods.handle({"type": "ADDED", "object": pod})
    for claim in claims:
        cluster.claims.changed(cast(Any, fact(claim)))
    for item in slices:
        devices.slices.changed(item)
    for rule in rules:
        api.rule_documents[rule.metadata.name] = dict(rule.document)
        devices.rules.changed(rule)
    devices.slices.synced.set()
    if listed:
        devices.rules.synced.set()
    watcher = lambda pod: cluster.pods.handle({"type": "MODIFIED", "object": pod})  # noqa: E731
    api.watchers.append(watcher)
    tasks = [asyncio.create_task(made.run()), asyncio.create_task(recorder.run())]
    try:
        yield made
    finally:
        api.watchers.remove(watcher)
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
