"""Stores: the facts of one resource by namespace and name, with indices.

Responses to own writes are stored at once. A watch that lags cannot undo them, because an event
with an older resourceVersion than the stored fact is dropped (resource versions of one resource
are comparable since Kubernetes 1.35, KEP-5504, and were in practice for as long as etcd 3).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from dragoman.kube.recent import Recent
from dragoman.model.fields import Document
from dragoman.model.metadata import Metadata, is_older


class HasMetadata(Protocol):
    """Anything with metadata of the API."""

    @property
    def metadata(self) -> Metadata:
        """The object's identity."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object that is kept as JSON."""

    metadata: Metadata  # Identity and version
    document: Document  # The object, or the fields of it that are kept

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Keep an object as the API server has it."""
        return cls(Metadata.parse(body), body)


Fact = TypeVar("Fact", bound=HasMetadata)

DELETED_LIMIT = 10_000
"""How many UIDs of deleted objects each set keeps, 3 MiB; they only save live reads."""

OWN_WRITES_LIMIT = 10_000
"""How many own writes may still be reported by the watch."""


class DeletedUIDs(Recent[str, None]):
    """UIDs of objects that are known to be deleted; the oldest are dropped at the limit."""

    def __init__(self) -> None:
        super().__init__(DELETED_LIMIT)

    def add(self, uid: str) -> None:
        """Note that an object was deleted."""
        self[uid] = None


class OwnWrites(Recent[bytes, None]):
    """resourceVersions of own writes: the watch events about them need not be parsed."""

    def __init__(self) -> None:
        super().__init__(OWN_WRITES_LIMIT)

    def add(self, version: str) -> None:
        """Note the resourceVersion in the response to a write."""
        self[version.encode()] = None

    def take(self, version: bytes) -> bool:
        """Whether an own write made this version; true only once per write."""
        return version in self and self.pop(version) is None


class Store(Generic[Fact]):
    """The facts of one resource, by namespace and name, with indices."""

    def __init__(
        self, deleted: DeletedUIDs, **indices: Callable[[Fact], Iterable[Hashable]]
    ) -> None:
        self._facts: dict[str, dict[str, Fact]] = {}
        self._indices: dict[str, Callable[[Fact], Iterable[Hashable]]] = indices
        self._found: dict[tuple[str, Hashable], dict[tuple[str, str], None]] = {}
        self._deleted = deleted
        self._doubted: set[str] = set()
        self._count = 0
        self._newest = ""
        self._newest_place = ("", "")
        self.deleted_last = False  # Whether an own deletion follows what was stored last

    def __len__(self) -> int:
        """Return how many facts there are."""
        return self._count

    def __iter__(self) -> Iterator[Fact]:
        """Iterate over a copy of the facts."""
        return iter([fact for facts in self._facts.values() for fact in facts.values()])

    def get(self, namespace: str, name: str) -> Fact | None:
        """Return a fact, or None."""
        facts = self._facts.get(namespace)
        return None if facts is None else facts.get(name)

    def namespace(self, namespace: str) -> Mapping[str, Fact]:
        """Return the facts of a namespace by name; a live view."""
        return self._facts.get(namespace) or {}

    @property
    def newest_version(self) -> str:
        """The newest resourceVersion that was stored, by a watch or by an own write."""
        return self._newest

    @property
    def newest(self) -> Fact | None:
        """The fact of that version; None where it has been deleted since."""
        fact = self.get(*self._newest_place)
        same = fact is not None and fact.metadata.resource_version == self._newest
        return fact if same else None

    def find(self, index: str, key: Hashable) -> list[Fact]:
        """Return the facts that an index has under a key."""
        places = self._found.get((index, key), ())
        found = (self.get(*place) for place in places)
        return [fact for fact in found if fact is not None]

    def index(self, **indices: Callable[[Fact], Iterable[Hashable]]) -> None:
        """Find facts by further keys; an index that is there already stays."""
        for name, keys in indices.items():
            if name not in self._indices:
                self._indices[name] = keys
                for fact in self:
                    self._file(fact, name)

    def put(self, fact: Fact) -> bool:
        """Store a fact unless a newer one is there; returns whether anything changed."""
        if self.is_past(fact):
            return False
        metadata = fact.metadata
        stored = self.get(metadata.namespace, metadata.name)
        if stored is not None:
            self._doubted.discard(stored.metadata.uid)
            if stored == fact:
                return False
            if stored.metadata.uid != metadata.uid:
                self._deleted.add(stored.metadata.uid)
            self._unfile(stored)
            self._count -= 1
        self._facts.setdefault(metadata.namespace, {})[metadata.name] = fact
        self._count += 1
        self._file(fact)
        if not is_older(metadata.resource_version, self._newest):
            self._newest = metadata.resource_version
            self._newest_place = (metadata.namespace, metadata.name)
            self.deleted_last = False
        return True

    def drop(self, namespace: str, name: str, uid: str, *, by_watch: bool = False) -> Fact | None:
        """Delete a fact; return the stored one."""
        self._deleted.add(uid)
        self._doubted.discard(uid)
        self.deleted_last |= not by_watch
        stored = self.get(namespace, name)
        if stored is None or stored.metadata.uid != uid:
            return None
        self.forget(stored)
        return stored

    def forget(self, stored: Fact) -> None:
        """Remove a stored fact whose object may still exist, and be stored again."""
        namespace, name = stored.metadata.namespace, stored.metadata.name
        del self._facts[namespace][name]
        if not self._facts[namespace]:
            del self._facts[namespace]
        self._count -= 1
        self._unfile(stored)

    def roll_back(self) -> None:
        """Let the next event of each object replace its fact, whatever its version.

        The facts keep their versions, as preconditions under which writes fail until then. Objects
        that were deleted after the backup exist again, with their UIDs.
        """
        self._deleted.clear()
        self._newest, self._newest_place, self.deleted_last = "", ("", ""), False
        self._doubted = {fact.metadata.uid for fact in self}

    def is_past(self, fact: Fact) -> bool:
        """Whether the store has a newer state, or the object is known to be deleted."""
        metadata = fact.metadata
        stored = self.get(metadata.namespace, metadata.name)
        if stored is None or metadata.uid in self._deleted:
            return metadata.uid in self._deleted
        old = stored.metadata
        past = is_older(metadata.resource_version, old.resource_version)
        return past and old.uid not in self._doubted

    def _file(self, fact: Fact, *names: str) -> None:
        place = (fact.metadata.namespace, fact.metadata.name)
        for name in names or self._indices:
            for key in self._indices[name](fact):
                self._found.setdefault((name, key), {})[place] = None

    def _unfile(self, fact: Fact) -> None:
        place = (fact.metadata.namespace, fact.metadata.name)
        for name, keys in self._indices.items():
            for key in keys(fact):
                places = self._found.get((name, key))
                if places is not None:
                    places.pop(place, None)
                    if not places:
                        del self._found[name, key]
