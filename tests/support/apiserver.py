"""A fake API server: objects with versions, preconditions, watches, and failures on demand.

It takes the place of `dragoman.kube.client.Client`, as client-go's fake clientset does.
"""

import asyncio
import copy
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import orjson

from dragoman.kube.errors import ApiError

Json = dict[str, Any]
CREATED = "2026-01-01T00:00:00Z"
VERSION = {"gitVersion": "v1.36.3", "major": "1", "minor": "36"}
SERVED: Mapping[str, tuple[str, ...]] = {
    "v1": ("pods", "nodes", "namespaces", "resourcequotas", "secrets"),
    "resource.k8s.io/v1": (
        *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses"),
        *("resourcepoolstatusrequests",),
    ),
    "resource.k8s.io/v1beta2": ("devicetaintrules",),
    "dragoman.dev/v1alpha1": (
        *("driverconfigschemas", "clusterresourceclaimtemplates", "devicemaintenances"),
        *("devicepoolreports", "devicepreemptions"),
    ),
    "policy/v1": ("poddisruptionbudgets",),
    "admissionregistration.k8s.io/v1": ("validatingwebhookconfigurations",),
    "events.k8s.io/v1": ("events",),
    "coordination.k8s.io/v1": ("leases",),
}
"""Resources by API version."""
NAMESPACED = frozenset(
    {"pods", "resourceclaims", "resourceclaimtemplates", "devicepreemptions", "events", "leases"}
    | {"poddisruptionbudgets", "resourcequotas", "secrets"}
)


class Place(NamedTuple):
    """Where an object is; `name` is empty for a collection, `namespace` for all of them."""

    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def place_of(path: str) -> Place:
    """Return what a URL path names; raise ApiError for none that is served."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if rest and rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    if not rest or not any(rest[0] in plurals for plurals in SERVED.values()):
        raise ApiError(404, "NotFound", path)
    plural, name, subresource, *_ = (*rest, "", "", "")
    return Place(plural, namespace, name, subresource)


@dataclass
class ApiServer:
    """What controllers ask of an API server.

    Attributes:
        objects: The stored objects by place.
        requests: How often each was asked, as `LIST pods`; watches with their first list are
            `WATCH pods`.
        written: Method and place of each write that was asked for, Events left out.
        fail: Returns the error of a request, from `GET pods` and the place; None lets it through.
        discoveries: How often it was asked which groups it serves.
        unanswered: Requests without an answer, as the client counts them.
    """

    objects: dict[Place, Json] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    written: list[tuple[str, Place]] = field(default_factory=list)
    fail: Callable[[str, Place], ApiError | None] = lambda *_: None
    discoveries: int = 0
    unanswered: int = 0
    _version: int = 0
    _watches: list[tuple[str, asyncio.Queue[bytes]]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        """Connect."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""

    def store(self, *documents: Mapping[str, Any]) -> Json:
        """Store objects as a user would, and tell the watches; return the last as it is stored."""
        stored: Json = {}
        for document in documents:
            kind = str(document["kind"]).lower()
            plural = f"{kind}es" if kind.endswith("s") else f"{kind}s"
            metadata = document["metadata"]
            namespace = metadata.get("namespace", "default") if plural in NAMESPACED else ""
            place = Place(plural, namespace, metadata["name"])
            own = {"namespace": namespace} if namespace else {}
            stored = self._store(place, {**document, "metadata": {**metadata, **own}})
        return stored

    def of(self, plural: str) -> list[Json]:
        """Return the stored objects of a resource, the oldest first."""
        return [one for place, one in self.objects.items() if place.plural == plural]

    def remove(self, place: Place) -> Json:
        """Delete an object, and tell the watches."""
        gone = self.objects.pop(place)
        gone["metadata"]["resourceVersion"] = self._next()
        self._tell("DELETED", place.plural, gone)
        return gone

    async def get(self, path: str, **query: str) -> Json:
        """Read an object or list a collection."""
        if path == "/version":
            return dict(VERSION)
        if path == "/apis":
            self.discoveries += 1
            return _groups()
        found = SERVED.get(path.removeprefix("/apis/").removeprefix("/api/"))
        if found is not None:
            names = [name for plural in found for name in (plural, f"{plural}/status")]
            return {"resources": [{"name": name} for name in names]}
        place = place_of(path)
        self._ask("GET" if place.name else "LIST", place)
        if place.name:
            return copy.deepcopy(self._found(place))
        items = [one for where, one in self._listed(place) if _selected(where, one, query)]
        return {"items": copy.deepcopy(items), "metadata": {"resourceVersion": str(self._version)}}

    async def post(self, path: str, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        """Create an object."""
        place = place_of(path)._replace(name=body["metadata"]["name"])
        self._ask("POST", place)
        if place in self.objects:
            raise ApiError(409, "AlreadyExists", f"{path} {place.name} exists")
        return copy.deepcopy(dict(body)) if dry_run else self._store(place, body)

    async def patch(self, path: str, body: Mapping[str, Any], kind: str) -> Json:
        """Merge into an object; a `uid` or `resourceVersion` in its metadata is a precondition."""
        place = place_of(path)
        self._ask("PATCH", place)
        where = place._replace(subresource="")
        if kind == "application/apply-patch+yaml" and where not in self.objects:
            return self._store(where, body)
        found = self._found(where)
        self._check(found, body.get("metadata") or {})
        return self._store(where, _merged(found, body))

    async def put(self, path: str, body: Mapping[str, Any]) -> Json:
        """Replace an object."""
        place = place_of(path)
        self._ask("PUT", place)
        where = place._replace(subresource="")
        self._check(self._found(where), body["metadata"])
        return self._store(where, body)

    async def delete(self, path: str, options: Mapping[str, Any]) -> Json:
        """Delete an object under preconditions."""
        place = place_of(path)
        self._ask("DELETE", place)
        self._check(self._found(place), options.get("preconditions") or {})
        return self.remove(place)

    async def request(self, method: str, path: str, body: Any, kind: str, _query: Any) -> Json:
        """Send any other request, as a server-side apply."""
        assert method == "PATCH"
        return await self.patch(path, body, kind)

    async def lines(
        self, path: str, query: Mapping[str, str], wanted: Callable[[bytes], bool]
    ) -> AsyncIterator[bytes]:
        """Yield lines of a watch; a streaming list first where it is asked for."""
        place = place_of(path)
        streaming = query.get("sendInitialEvents") == "true"
        self._ask("WATCH" if streaming else "CONTINUE", place)
        async with self._watch(place.plural) as queue:
            if streaming:
                for _, one in self._listed(place):
                    queue.put_nowait(_line("ADDED", one))
                queue.put_nowait(_bookmark(self._version))
            while True:
                line = await queue.get()
                if wanted(line):
                    yield line

    @asynccontextmanager
    async def _watch(self, plural: str) -> AsyncIterator[asyncio.Queue[bytes]]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._watches.append((plural, queue))
        try:
            yield queue
        finally:
            self._watches.remove((plural, queue))

    def _ask(self, verb: str, place: Place) -> None:
        name = f"{verb} {place.plural}"
        self.requests[name] += 1
        if verb in ("POST", "PATCH", "PUT", "DELETE") and place.plural != "events":
            self.written.append((verb, place))
        error = self.fail(name, place)
        if error is not None:
            raise error

    def _listed(self, place: Place) -> Iterable[tuple[Place, Json]]:
        for where, one in sorted(self.objects.items()):
            if where.plural == place.plural and place.namespace in ("", where.namespace):
                yield where, one

    def _found(self, place: Place) -> Json:
        if place not in self.objects:
            raise ApiError(404, "NotFound", f"{place.plural} {place.name} not found")
        return self.objects[place]

    @staticmethod
    def _check(found: Json, wanted: Mapping[str, Any]) -> None:
        for key in ("uid", "resourceVersion"):
            if wanted.get(key, found["metadata"][key]) != found["metadata"][key]:
                raise ApiError(409, "Conflict", f"{key} differs")

    def _store(self, place: Place, document: Mapping[str, Any]) -> Json:
        kind = "MODIFIED" if place in self.objects else "ADDED"
        stored: Json = copy.deepcopy(dict(document))
        version = self._next()
        made = {
            "uid": f"uid-of-{place.plural}-{place.namespace}-{place.name}",
            "creationTimestamp": CREATED,
        }
        stored["metadata"] = {**made, **stored["metadata"], "resourceVersion": version}
        self.objects[place] = stored
        self._tell(kind, place.plural, stored)
        return copy.deepcopy(stored)

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def _tell(self, kind: str, plural: str, document: Json) -> None:
        for watched, queue in self._watches:
            if watched == plural:
                queue.put_nowait(_line(kind, document))


def _line(kind: str, document: Json) -> bytes:
    # The object's own version stands before any other, as the API server writes it.
    metadata = document["metadata"]
    first = {key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata}
    ordered = {**first, "resourceVersion": metadata["resourceVersion"], **metadata}
    return orjson.dumps({"type": kind, "object": {**document, "metadata": ordered}})


def _bookmark(version: int) -> bytes:
    end = {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": str(version)}
    return orjson.dumps({"type": "BOOKMARK", "object": {"metadata": end}})


def _groups() -> Json:
    groups: dict[str, list[Json]] = {}
    for name in SERVED:
        group, slash, version = name.partition("/")
        if slash:
            groups.setdefault(group, []).append({"version": version})
    return {"groups": [{"name": name, "versions": found} for name, found in groups.items()]}


def _selected(place: Place, document: Json, query: Mapping[str, str]) -> bool:
    fields = query.get("fieldSelector", "")
    if fields.startswith("metadata.name=") and fields != f"metadata.name={place.name}":
        return False
    if "spec.nodeName=" in fields.split(",") and document["spec"].get("nodeName"):
        return False
    labels = document["metadata"].get("labels") or {}
    wanted = [one.partition("=") for one in query.get("labelSelector", "").split(",") if one]
    return all(labels.get(key) == value if sign else key in labels for key, sign, value in wanted)


def _merged(found: Any, patch: Any) -> Any:
    """Apply a JSON merge patch."""
    if not isinstance(found, Mapping) or not isinstance(patch, Mapping):
        return patch
    merged = {key: _merged(found.get(key), value) for key, value in patch.items()}
    return {key: one for key, one in {**found, **merged}.items() if one is not None}
