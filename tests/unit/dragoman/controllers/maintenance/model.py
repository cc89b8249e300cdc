"""A small cluster in memory: an API server, kube-scheduler's set of devices, and claim release.

The scheduler is modelled after its plugin dynamicresources: it keeps allocated devices as a set
without counts, sees events late, and writes an allocation some time after it chose the device.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from dragoman.kube.errors import ApiError
from dragoman.model.deviceid import DeviceID

Json = dict[str, Any]
DRIVER, POOL = "gpu.example.com", "n"
RULES = "/apis/resource.k8s.io/v1/devicetaintrules"


def device_ids(claim: Mapping[str, Any]) -> set[DeviceID]:
    """Return the devices in the status of a claim."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return {DeviceID(one["driver"], one["pool"], one["device"]) for one in results}


@dataclass
class Model:
    """The cluster.

    Attributes:
        random: Where all chance comes from.
        devices: Names of the devices of one pool.
        rules: Whether DeviceTaintRules are served.
        version: In which version they are.
        objects: By URL path.
        events: Not yet seen by the scheduler: a claim before and after a change.
        evicted: Names of evicted pods, in order.
        grace: Whether evicted pods take their time to end.
        conflicts: How many evictions are answered with a conflict first.
    """

    random: random.Random
    devices: tuple[str, ...] = ("a", "b")
    rules: bool = False
    version: str = "v1"
    objects: dict[str, Json] = field(default_factory=dict)
    events: list[tuple[Json | None, Json | None]] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    allowed: bool = True
    grace: bool = False
    conflicts: int = 0
    view: Any = None
    now: float = 0.0
    watches: list[tuple[str, asyncio.Queue[bytes]]] = field(default_factory=list)
    _ids: set[DeviceID] = field(default_factory=set)
    _tainted: set[str] = field(default_factory=set)
    _pending: list[str] = field(default_factory=list)
    _chosen: dict[str, DeviceID] = field(default_factory=dict)
    _versions: Any = field(default_factory=lambda: count(1))

    # The API server -----------------------------------------------------------------------------

    async def get(self, path: str, **query: str) -> Json:
        """Read an object, or list a collection."""
        path = self._stored_at(path)
        if path in self.objects:
            return self.objects[path]
        if path == "/version":
            return {"gitVersion": "v1.36.3"}
        if path == "/apis":
            versions = [{"version": "v1"}]
            return {"groups": [{"name": "resource.k8s.io", "versions": versions}]}
        if path.startswith("/apis/resource.k8s.io/v1") and path.count("/") == 3:
            served = self.rules and path.endswith(f"/{self.version}")
            names = ("devicetaintrules", "devicetaintrules/status") if served else ()
            return {"resources": [{"name": name} for name in names]}
        if path.count("/") > 4 and not path.endswith("s"):
            raise ApiError(404, "NotFound", path)
        plural = path.rpartition("/")[2]
        label = query.get("labelSelector", "=")
        key, _, value = label.partition("=")
        found = [
            {**one, "metadata": {"uid": f"uid of {name}", **one["metadata"]}}
            for name, one in sorted(self.objects.items())
            if name.split("/")[-2] == plural
            and (not key or one["metadata"].get("labels", {}).get(key) == value)
        ]
        return {"metadata": {"resourceVersion": "1"}, "items": found}

    async def post(self, path: str, body: Mapping[str, Any]) -> Json:
        """Create an object, or evict a pod."""
        if path.endswith("/eviction"):
            return self._evict(path.removesuffix("/eviction"), body["deleteOptions"])
        name = f"{self._stored_at(path)}/{body['metadata']['name']}"
        if name in self.objects:
            raise ApiError(409, "AlreadyExists", name)
        uid = f"uid-{next(self._versions)}"
        made = {**body, "metadata": {**body["metadata"], "uid": uid}}
        made["metadata"]["creationTimestamp"] = self.stamp
        return self._store(name, made)

    async def patch(self, path: str, body: Mapping[str, Any], kind: str) -> Json:
        """Merge into an object, with its UID or version as precondition."""
        assert kind == "application/merge-patch+json"
        name = path.removesuffix("/status")
        if name not in self.objects:
            raise ApiError(404, "NotFound", name)
        stored = self.objects[name]
        preconditions = {"uid", "resourceVersion"} & body["metadata"].keys()
        assert preconditions
        if any(body["metadata"][key] != stored["metadata"][key] for key in preconditions):
            raise ApiError(409, "Conflict", name)
        after = merged(stored, body)
        status = after.get("status") or {}
        if status.get("reservedFor") and not status.get("allocation"):
            raise ApiError(422, "Invalid", "status.reservedFor: Forbidden")
        return self._store(name, after)

    async def delete(self, path: str, options: Mapping[str, Any]) -> Json:
        """Delete an object, with its UID as precondition."""
        path = self._stored_at(path)
        stored = self.objects.get(path)
        if stored is None:
            raise ApiError(404, "NotFound", path)
        if options["preconditions"]["uid"] != stored["metadata"]["uid"]:
            raise ApiError(409, "Conflict", path)
        if "/pods/" in path:
            self.evicted.append(stored["metadata"]["name"])
        return self._remove(path)

    def _stored_at(self, path: str) -> str:
        """Return the path of a rule as in v1; only one version is served."""
        group, found, rest = path.partition("/devicetaintrules")
        if found and not (self.rules and group.endswith(f"/{self.version}")):
            raise ApiError(404, "NotFound", path)
        return f"{RULES}{rest}" if found else path

    def _evict(self, path: str, options: Mapping[str, Any]) -> Json:
        pod = self.objects.get(path)
        if pod is None:
            raise ApiError(404, "NotFound", path)
        if options["preconditions"]["uid"] != pod["metadata"]["uid"]:
            raise ApiError(409, "Conflict", path)
        if self.conflicts:
            self.conflicts -= 1
            raise ApiError(409, "Conflict", "the object has been modified")
        if not self.allowed:
            cause = {"reason": "DisruptionBudget", "message": "The disruption budget x needs more"}
            raise ApiError(429, "TooManyRequests", "Cannot evict pod", {"causes": [cause]})
        self.evicted.append(pod["metadata"]["name"])
        if self.grace:
            ending = {**pod["metadata"], "deletionTimestamp": self.stamp}
            return self._store(path, {**pod, "metadata": ending})
        return self._remove(path)

    def _store(self, path: str, document: Json) -> Json:
        before = self.objects.get(path)
        document["metadata"]["resourceVersion"] = str(next(self._versions))
        self.objects[path] = document
        self._tell(path, before, document)
        return document

    def _remove(self, path: str) -> Json:
        before = self.objects.pop(path)
        self._tell(path, before, None)
        return before

    def _tell(self, path: str, before: Json | None, after: Json | None) -> None:
        event = {"type": "MODIFIED" if after else "DELETED", "object": after or before}
        for plural, queue in self.watches:
            if path.split("/")[-2] == plural:
                queue.put_nowait(orjson.dumps(event))
        if "/resourceclaims/" in path:
            self.events.append((before, after))
            if self.view is not None:
                self.view.claims.handle(event)
        elif "/pods/" in path and self.view is not None:
            self.view.pods.handle(event)

    @property
    def stamp(self) -> str:
        """The time as an API timestamp."""
        return f"2026-11-22T{10 + int(self.now // 3600):02}:{int(self.now // 60) % 60:02}:00Z"

    async def lines(
        self, path: str, query: Mapping[str, str], _: Any = None
    ) -> AsyncIterator[bytes]:
        """Watch a collection: all objects, a bookmark, then each change."""
        plural = path.rpartition("/")[2]
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.watches.append((plural, queue))
        if "sendInitialEvents" in query:
            for one in (await self.get(path))["items"]:
                yield orjson.dumps({"type": "ADDED", "object": one})
            end = {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": "1"}
            yield orjson.dumps({"type": "BOOKMARK", "object": {"metadata": end}})
            return
        while True:
            yield await queue.get()

    # Others ---------------------------------------------------------------------------------------

    def add_pod(self, name: str) -> None:
        """Create a pod with a claim of its own, which waits for a device."""
        pod = {"metadata": metadata(name), "spec": {"nodeName": "n"}, "status": {}}
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        claim = {"metadata": metadata(name), "spec": {"devices": {"requests": [request]}}}
        claim["metadata"]["creationTimestamp"] = self.stamp
        self._store(path_of("pods", name), pod)
        self._store(path_of("resourceclaims", name), claim)
        self._pending.append(name)

    def step(self) -> None:
        """Let one other component do one thing."""
        self.random.choice((self._see, self._see, self._choose, self._bind, self._release))()

    def _see(self) -> None:
        """The scheduler sees one event, or the present rules."""
        if not self.events:
            self._tainted = {
                one["spec"]["deviceSelector"].get("device", "*")
                for path, one in self.objects.items()
                if path.startswith(RULES)
            }
            return
        before, after = self.events.pop(0)
        old, new = device_ids(before or {}), device_ids(after or {})
        if new and not old:
            self._ids |= new
        elif old and not new:
            self._ids -= old

    def _choose(self) -> None:
        free = [
            DeviceID(DRIVER, POOL, name)
            for name in self.devices
            if DeviceID(DRIVER, POOL, name) not in self._ids | set(self._chosen.values())
            and not {name, "*"} & self._tainted
        ]
        if free and self._pending:
            self._chosen[self._pending.pop(0)] = self.random.choice(free)

    def _bind(self) -> None:
        if not self._chosen:
            return
        name = next(iter(self._chosen))
        device = self._chosen.pop(name)
        claim, pod = (self.objects.get(path_of(one, name)) for one in ("resourceclaims", "pods"))
        if claim is None or pod is None:
            return
        result = {"request": "gpu", **device._asdict()}
        consumer = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
        self._ids.add(device)  # assumed, before the event comes back
        self._store(path_of("resourceclaims", name), merged(claim, {"status": status}))

    def _release(self) -> None:
        """Release the claim of a pod that is deleted; the event clears the device."""
        for path, claim in sorted(self.objects.items()):
            name = claim["metadata"]["name"]
            if "/resourceclaims/" not in path or "dragoman-hold" in name:
                continue
            if path_of("pods", name) not in self.objects:
                if device_ids(claim):
                    cleared = {"status": {"allocation": None, "reservedFor": None}}
                    self._store(path, merged(claim, cleared))
                else:
                    self._remove(path)
                return

    def owners(self, name: str) -> list[str]:
        """Return the claims of users that have a device."""
        return [
            one["metadata"]["name"]
            for path, one in sorted(self.objects.items())
            if "/resourceclaims/" in path
            and "dragoman-hold" not in one["metadata"]["name"]
            and DeviceID(DRIVER, POOL, name) in device_ids(one)
        ]

    def expects(self, name: str) -> bool:
        """Whether the scheduler still takes a device for free, or has chosen it."""
        device = DeviceID(DRIVER, POOL, name)
        tainted = bool({name, "*"} & self._tainted)
        return device in self._chosen.values() or (device not in self._ids and not tainted)


def metadata(name: str) -> Json:
    """Return the metadata of a pod or claim."""
    return {"name": name, "namespace": "ns", "uid": f"uid-{name}"}


def path_of(plural: str, name: str) -> str:
    """Return the URL path of a pod or claim."""
    group = "/api/v1" if plural == "pods" else "/apis/resource.k8s.io/v1"
    return f"{group}/namespaces/ns/{plural}/{name}"


def merged(document: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """Return a document with a JSON merge patch applied (RFC 7386)."""
    found = dict(document)
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, Mapping):
            before = found.get(key)
            found[key] = merged(before if isinstance(before, Mapping) else {}, value)
        else:
            found[key] = value
    return found
