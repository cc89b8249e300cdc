"""A small model of the API server: the rules that the life-cycle of claims leans on.

It holds documents, takes the requests that dragoman sends, and refuses what the real server
refuses: names that are taken, lost preconditions, reservations without an allocation, and so on.
What users, the scheduler and the garbage collector do has methods of its own.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dragoman.model.claim import RESERVED_FOR_LIMIT
from tests.unit.dragoman.claims.objects import ClaimObject, HolderObject, Json, Object, PodObject
from tests.unit.dragoman.claims.worlds import ClusterState

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
PLURALS = {
    "Pod": "pods",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "PodGroup": "podgroups",
}
BUILDERS: dict[str, type[Object]] = {
    "Pod": PodObject,
    "ResourceClaim": ClaimObject,
    "PodGroup": HolderObject,
}


class RefusedError(Exception):
    """The server refuses a request; attributes as in its Status object."""

    def __init__(self, code: int, reason: str, message: str, blamed: str = "") -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.causes = [{"field": blamed, "reason": reason}] if blamed else []


class Place(NamedTuple):
    """Where an object is found."""

    plural: str
    namespace: str
    name: str

    @classmethod
    def of(cls, document: Json) -> "Place":
        metadata = document["metadata"]
        return cls(PLURALS[document["kind"]], metadata["namespace"], metadata["name"])


class Event(NamedTuple):
    """One line of a watch."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    document: Json


@dataclass
class Server:
    """The model. Its documents are shared and never changed in place.

    Attributes:
        stored: All documents.
        gone: UIDs of deleted objects.
        events: What watches deliver, in this order.
        writes: What was asked for through the API, as `POST resourceclaims` or
            `PATCH resourceclaims/status`, the refused ones included.
    """

    stored: dict[Place, Json] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    groups_served: bool = True
    events: list[Event] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    _version: int = 0

    @classmethod
    def holding(cls, world: ClusterState) -> "Server":
        """Return a server that holds a world."""
        server = cls(deleted=set(world.deleted), groups_served=world.groups_served)
        for found in world.objects:
            server.add(found)
        return server

    def world(self) -> ClusterState:
        """Return what the server holds."""
        objects = tuple(self.objects())
        return ClusterState(objects, frozenset(self.deleted), self.groups_served)

    def objects(self, kind: str = "") -> Iterator[Object]:
        """Yield the objects of a kind, or all."""
        for document in list(self.stored.values()):
            if kind in {"", document["kind"]}:
                yield BUILDERS.get(document["kind"], Object)(document)

    # What dragoman asks for.

    def get(self, place: Place) -> Json:
        """GET."""
        if place not in self.stored:
            raise RefusedError(404, "NotFound", f"{place} not found")
        return self.stored[place]

    def post(self, document: Json) -> Json:
        """POST."""
        place = Place.of(document)
        self.writes.append(f"POST {place.plural}")
        if place in self.stored:
            raise RefusedError(409, "AlreadyExists", f"{place} already exists")
        if not SUBDOMAIN.fullmatch(place.name) or len(place.name) > 253:
            raise RefusedError(422, "Invalid", f"invalid name {place.name}", "metadata.name")
        metadata = {**document["metadata"], "uid": f"uid-made-{self._version}"}
        return self._store("ADDED", {**document, "metadata": metadata})

    def patch(self, place: Place, patch: Json, subresource: str = "") -> Json:
        """PATCH: a strategic merge of a holder's status, a merge patch of a claim."""
        self.writes.append(f"PATCH {place.plural}{'/' if subresource else ''}{subresource}")
        old = self.get(place)
        if place.plural == "resourceclaims":
            self._check_preconditions(old, patch["metadata"])
            new = self._patched_claim(old, patch, subresource)
        else:
            new = _patched_holder(old, patch)
        return old if new == old else self._store("MODIFIED", new)

    def delete(self, place: Place, preconditions: Json) -> Json:
        """DELETE with a UID, and perhaps a resourceVersion, as preconditions."""
        self.writes.append(f"DELETE {place.plural}")
        self._check_preconditions(self.get(place), preconditions)
        return self.mark_deleted(place)

    # What others do.

    def add(self, found: Object) -> None:
        """Store an object as it is."""
        self._store("ADDED", found.document)

    def change(self, place: Place, by: Callable[[Any], Object]) -> None:
        """Store another state of an object."""
        document = self.get(place)
        new = by(BUILDERS.get(document["kind"], Object)(document))
        self._store("MODIFIED", new.document)

    def mark_deleted(self, place: Place) -> Json:
        """Mark an object as deleted; it goes at once where no finalizer keeps it."""
        old = self.get(place)
        if not old["metadata"].get("finalizers"):
            return self.remove(place)
        if "deletionTimestamp" in old["metadata"]:
            return old
        marked = {**old["metadata"], "deletionTimestamp": "2026-01-01T01:00:00Z"}
        return self._store("MODIFIED", {**old, "metadata": marked})

    def remove(self, place: Place) -> Json:
        """Remove an object, whatever keeps it."""
        self._version += 1
        document = self.stored.pop(place)
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        self.deleted.add(metadata["uid"])
        document = {**document, "metadata": metadata}
        self.events.append(Event("DELETED", document))
        return document

    def collect_garbage(self) -> None:
        """Delete the claims whose owners are gone."""
        for found in list(self.objects("ResourceClaim")):
            owners = found.document["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] in self.deleted for owner in owners):
                self.mark_deleted(Place.of(found.document))

    def _store(self, kind: Literal["ADDED", "MODIFIED"], document: Json) -> Json:
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        document = {**document, "metadata": metadata}
        place = Place.of(document)
        self.stored[place] = document
        free = place.plural == "resourceclaims" and not metadata.get("finalizers")
        if free and "deletionTimestamp" in metadata:
            return self.remove(place)
        self.events.append(Event(kind, document))
        return document

    def _check_preconditions(self, stored: Json, wanted: Json) -> None:
        for name in ("uid", "resourceVersion"):
            if wanted.get(name, stored["metadata"][name]) != stored["metadata"][name]:
                raise RefusedError(409, "Conflict", f"the {name} has changed")

    def _patched_claim(self, old: Json, patch: Json, subresource: str) -> Json:
        part = subresource or "metadata"
        new = {**old, part: _merged(old.get(part) or {}, patch[part])}
        if subresource == "status":
            _check_claim_status(old, new)
        return new


def _check_claim_status(old: Json, new: Json) -> None:
    before, after = old.get("status") or {}, new["status"]
    if after.get("allocation") not in (None, before.get("allocation")):
        raise RefusedError(422, "Invalid", "allocation is immutable", "status.allocation")
    consumers = after.get("reservedFor") or []
    uids = {consumer["uid"] for consumer in consumers}
    added = uids - {consumer["uid"] for consumer in before.get("reservedFor") or ()}
    problem = ""
    if consumers and after.get("allocation") is None:
        problem = "may not be specified when the claim is not allocated"
    elif len(consumers) > RESERVED_FOR_LIMIT:
        problem = f"must have at most {RESERVED_FOR_LIMIT} items"
    elif len(uids) < len(consumers):
        problem = "duplicate value"
    elif added and "deletionTimestamp" in old["metadata"]:
        problem = "new entries may not be added to a claim that is being deleted"
    if problem:
        raise RefusedError(422, "Invalid", problem, "status.reservedFor")


def _patched_holder(old: Json, patch: Json) -> Json:
    if patch["metadata"]["uid"] != old["metadata"]["uid"]:
        raise RefusedError(422, "Invalid", "field is immutable", "metadata.uid")
    status = old.get("status") or {}
    items = {item["name"]: item for item in status.get("resourceClaimStatuses") or ()}
    items |= {item["name"]: item for item in patch["status"]["resourceClaimStatuses"]}
    entries = {entry["name"] for entry in old["spec"].get("resourceClaims") or ()}
    if not items.keys() <= entries:
        where = "status.resourceClaimStatuses"
        raise RefusedError(422, "Invalid", "names no entry of the spec", where)
    return {**old, "status": {**status, "resourceClaimStatuses": list(items.values())}}


def _merged(old: Json, patch: Json) -> Json:
    """Apply a JSON merge patch (RFC 7386)."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            new[key] = _merged(new.get(key) or {}, value)
        else:
            new[key] = value
    return new
