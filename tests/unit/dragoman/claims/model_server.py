"""The model of the API server as the tests of claims ask it: documents in, documents out.

The rules are those of tests/simulation, which are compared with a real API server. What users, the
scheduler and the garbage collector do has methods of its own.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.simulation.objects import KIND_OF
from tests.simulation.rules import SUBDOMAIN, Refusal
from tests.simulation.server import Commit
from tests.simulation.server import Server as Model
from tests.unit.dragoman.claims.objects import ClaimObject, HolderObject, Json, Object, PodObject
from tests.unit.dragoman.claims.worlds import ClusterState

__all__ = ["SUBDOMAIN", "Event", "Place", "RefusedError", "Server"]

RefusedError = Refusal
PLURALS = {kind: plural for plural, kind in KIND_OF.items()}
BUILDERS: dict[str, type[Object]] = {
    "Pod": PodObject,
    "ResourceClaim": ClaimObject,
    "PodGroup": HolderObject,
}


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

    kind: str  # ADDED, MODIFIED, DELETED
    document: Json


@dataclass
class Server:
    """The model. Its documents are shared and never changed in place.

    Attributes:
        stored: All documents.
        deleted: UIDs of deleted objects.
        events: What watches deliver, in this order.
        writes: What was asked for through the API, as `POST resourceclaims` or
            `PATCH resourceclaims/status`, the refused ones included.
    """

    stored: dict[Place, Json] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    groups_served: bool = True
    events: list[Event] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    _model: Model = field(default_factory=lambda: Model(random.Random(1)))

    def __post_init__(self) -> None:
        self._model.observers.append(self._note)

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
        return self._model.get(*place)

    def post(self, document: Json) -> Json:
        """POST."""
        plural, namespace, _ = Place.of(document)
        self.writes.append(f"POST {plural}")
        return self._model.create("dragoman", plural, namespace, document)

    def patch(self, place: Place, patch: Json, subresource: str = "") -> Json:
        """PATCH: a strategic merge of a holder's status, a merge patch of a claim."""
        self.writes.append(f"PATCH {place.plural}{'/' if subresource else ''}{subresource}")
        kind = "merge" if place.plural == "resourceclaims" else "strategic"
        return self._model.patch("dragoman", *place, patch, kind, subresource)

    def delete(self, place: Place, preconditions: Json) -> Json:
        """DELETE with a UID, and perhaps a resourceVersion, as preconditions."""
        self.writes.append(f"DELETE {place.plural}")
        return self._model.delete("dragoman", *place, {"preconditions": preconditions})

    # What others do.

    def add(self, found: Object) -> None:
        """Store an object as it is."""
        self._keep(Place.of(found.document), found.document)

    def change(self, place: Place, by: Callable[[Any], Object]) -> None:
        """Store another state of an object."""
        document = self.get(place)
        self._keep(place, by(BUILDERS.get(document["kind"], Object)(document)).document)

    def mark_deleted(self, place: Place) -> None:
        """Mark an object as deleted; it goes at once where no finalizer keeps it."""
        self._model.delete("user", *place, {"gracePeriodSeconds": 0})

    def remove(self, place: Place) -> None:
        """Remove an object, whatever keeps it."""
        self._model.drop(place.plural, place[1:])

    def collect_garbage(self) -> None:
        """Delete the claims whose owners are gone."""
        for found in list(self.objects("ResourceClaim")):
            owners = found.document["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] in self.deleted for owner in owners):
                self.mark_deleted(Place.of(found.document))

    def _keep(self, place: Place, document: Json) -> None:
        metadata = document["metadata"]
        made = {"creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
        self._model.keep(place.plural, place[1:], {**document, "metadata": made})
        free = place.plural == "resourceclaims" and not metadata.get("finalizers")
        if free and "deletionTimestamp" in metadata:
            self.remove(place)

    def _note(self, commit: Commit) -> None:
        place = Place(commit.plural, *commit.key)
        if commit.kind == "DELETED":
            self.deleted.add(self.stored.pop(place)["metadata"]["uid"])
        else:
            self.stored[place] = commit.new
        self.events.append(Event(commit.kind, commit.new))
