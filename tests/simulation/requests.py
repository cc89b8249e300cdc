"""Requests of HTTP to the model, as bytes."""

from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

import orjson

from tests.simulation.objects import API_OF, KIND_OF, SERVED, Json, Key
from tests.simulation.rules import Refusal
from tests.simulation.server import Commit, Server

Answer = tuple[int, bytes, str | None]
"""Status, body, Retry-After."""
GROUPS = {
    "groups": [
        {
            "name": group,
            "versions": [
                {"version": version.partition("/")[2]}
                for version in SERVED
                if version.startswith(group + "/")
            ],
        }
        for group in dict.fromkeys(one.partition("/")[0] for one in SERVED if "/" in one)
    ]
}
VERSION = {"gitVersion": "v1.36.3", "major": "1", "minor": "36"}


class Lagging(Protocol):
    """An API server whose watch cache lags."""

    def version(self, plural: str) -> int:
        """Return the version that the watch cache has reached."""


def handle(
    server: Server,
    actor: str,
    method: str,
    target: str,
    body: bytes | None,
    content_type: str,
    instance: Lagging | None = None,
) -> Answer:
    """Answer one request."""
    try:
        answer = _answer(server, actor, method, target, body, content_type, instance)
    except Refusal as refusal:
        return refusal.code, refusal.body(), refusal.retry_after
    return 200, answer, None


def _answer(
    server: Server,
    actor: str,
    method: str,
    target: str,
    body: bytes | None,
    content_type: str,
    instance: Lagging | None,
) -> bytes:
    url = urlsplit(target)
    query = dict(parse_qsl(url.query))
    found = _discovery(url.path)
    if found is not None:
        return orjson.dumps(found)
    plural, namespace, name, subresource = place(url.path)
    document: Json = orjson.loads(body) if body else {}
    match method:
        case "GET" if not name:
            return _list(server, plural, namespace, query, instance)
        case "GET":
            return orjson.dumps(server.get(plural, namespace, name))
        case "POST" if subresource == "eviction":
            return orjson.dumps(server.evict(actor, namespace, name, document))
        case "POST":
            dry_run = "dryRun" in query
            return orjson.dumps(server.create(actor, plural, namespace, document, dry_run=dry_run))
        case "PATCH":
            return orjson.dumps(
                server.patch(actor, plural, namespace, name, document, content_type, subresource)
            )
        case "PUT":
            if plural == "leases" and not document["metadata"].get("resourceVersion"):
                message = "metadata.resourceVersion: must be specified for an update"
                raise Refusal(422, "Invalid", message)
            return orjson.dumps(
                server.update(actor, plural, namespace, name, lambda _: document, subresource)
            )
        case "DELETE":
            return orjson.dumps(server.delete(actor, plural, namespace, name, document))
    raise Refusal(405, "MethodNotAllowed")


def _discovery(path: str) -> Json | None:
    if path == "/version":
        return VERSION
    if path == "/apis":
        return GROUPS
    version = path.removeprefix("/apis/").removeprefix("/api/")
    if version in SERVED:
        names = [name for plural in SERVED[version] for name in (plural, f"{plural}/status")]
        return {"resources": [{"name": name} for name in names]}
    return None


def _list(
    server: Server, plural: str, namespace: str, query: dict[str, str], instance: Lagging | None
) -> bytes:
    """List: consistent without a resourceVersion, any state of the watch cache with 0."""
    token = query.get("continue", "")
    begin, _, after = token.partition("/")
    exact = query.get("resourceVersionMatch") == "Exact"
    version = int(begin) if token else int(query["resourceVersion"]) if exact else server.rv
    cached = query.get("resourceVersion") == "0" and instance is not None
    if cached and instance is not None:
        version = min(version, instance.version(plural))
    if version < server.compacted.get(plural, 0) and not cached:
        raise Refusal(410, "Expired", "The provided continue parameter is too old")
    items = [
        one
        for key, one in sorted(server.at(plural, version).items())
        if selects(key, one, namespace, query) and f"{key[0]}/{key[1]}" > after
    ]
    metadata: Json = {"resourceVersion": str(version)}
    limit = int(query.get("limit") or 0)
    if limit and len(items) > limit and not cached:
        if not query.keys() & {"fieldSelector", "labelSelector"}:
            metadata["remainingItemCount"] = len(items) - limit
        items = items[:limit]
        last = items[-1]["metadata"]
        metadata["continue"] = f"{version}/{last.get('namespace', '')}/{last['name']}"
    listed = {"kind": "List", "apiVersion": API_OF[plural], "metadata": metadata, "items": items}
    return orjson.dumps(listed)


def place(path: str) -> tuple[str, str, str, str]:
    """Return plural, namespace, name and subresource of a URL path; raise Refusal."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if rest and rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    if not rest or rest[0] not in API_OF:
        raise Refusal(404, "NotFound", path)
    plural, name, subresource, *_ = (*rest, "", "", "")
    return plural, namespace, name, subresource


def selects(key: Key, one: Json, namespace: str, query: dict[str, str]) -> bool:
    """Whether a list or watch has an object."""
    if namespace and key[0] != namespace:
        return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        name, _, value = term.partition("=")
        if name == "metadata.name" and key[1] != value:
            return False
        if name == "spec.nodeName" and (one.get("spec") or {}).get("nodeName", "") != value:
            return False
    labels = one["metadata"].get("labels") or {}
    terms = (term.partition("=") for term in query.get("labelSelector", "").split(",") if term)
    return all(labels.get(k) == v if sign else k in labels for k, sign, v in terms)


def line_of(commit: Commit, namespace: str, query: dict[str, str]) -> bytes | None:
    """Return the line of a watch about a commit; None where it does not concern it."""
    before = commit.old if commit.kind != "DELETED" else None
    was = before is not None and selects(commit.key, before, namespace, query)
    if selects(commit.key, commit.new, namespace, query):
        return commit.line(commit.kind if was or commit.kind != "MODIFIED" else "ADDED")
    return commit.line("DELETED") if was else None


def listed(
    server: Server, plural: str, version: int, namespace: str, query: dict[str, str]
) -> list[bytes]:
    """Return the lines of a streaming list (KEP-3157)."""
    lines = [
        b'{"type":"ADDED","object":%s}' % orjson.dumps(one)
        for key, one in sorted(server.at(plural, version).items())
        if selects(key, one, namespace, query)
    ]
    return [*lines, bookmark(plural, version, end=True)]


def bookmark(plural: str, version: int, *, end: bool = False) -> bytes:
    note = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    metadata = {"resourceVersion": str(version), "creationTimestamp": None, **note}
    thing = {"kind": KIND_OF[plural], "apiVersion": API_OF[plural], "metadata": metadata}
    return orjson.dumps({"type": "BOOKMARK", "object": thing})
