"""Several informers of one resource that one reflector feeds, so that it is watched once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.kube.store import HasMetadata


class SharedInformer:
    """What a reflector needs to know of all informers of one resource.

    The event handler of the resource passes each event on to every informer. Results of own writes
    are not kept from them: only the informer whose controller wrote has the response in its store.

    Args:
        informers: At least one; all of the same collection.

    Attributes:
        informers: As above, and those that joined.
        synced: Of those that were there from the beginning; others list once for themselves.
    """

    def __init__(self, informers: Sequence[Informer[Any]]) -> None:
        self.informers = tuple(informers)
        self.synced = _All(self.informers)

    def join(self, informers: Iterable[Informer[Any]]) -> None:
        """Let further informers receive what is watched from now on."""
        self.informers = (*self.informers, *informers)

    @property
    def client(self) -> Client:
        """Where objects are read."""
        return self.informers[0].client

    @property
    def resource(self) -> Resource:
        """Which objects."""
        return self.informers[0].resource

    @property
    def path(self) -> str:
        """The URL path of the collection that is watched."""
        return self.informers[0].path

    @property
    def query(self) -> dict[str, str]:
        """The query parameters that lists and watches have in common."""
        return self.informers[0].query

    @property
    def store(self) -> Iterator[HasMetadata]:
        """Each stored object once."""
        found = {fact.metadata.uid: fact for one in self.informers for fact in one.store}
        return iter(found.values())

    def predicate(self, content: bytes) -> bool:
        """Whether an object, as JSON bytes, concerns any of the informers."""
        return any(one.predicate(content) for one in self.informers)

    @property
    def is_own_write(self) -> Callable[[bytes], bool]:
        """Whether a resourceVersion need not be parsed; only a lone informer can tell."""
        return self.informers[0].is_own_write if len(self.informers) == 1 else _never

    def is_unchanged(self, line: bytes) -> bool:
        """Whether a watch line changes nothing that any of the informers has stored."""
        return all(one.is_unchanged(line) for one in self.informers)

    def rolled_back(self) -> None:
        """Let the next list replace what every informer has stored."""
        for one in self.informers:
            one.rolled_back()


class _All:
    """The events `synced` of several informers, set as one."""

    def __init__(self, informers: Sequence[Informer[Any]]) -> None:
        self._informers = informers

    def set(self) -> None:
        """Set them all."""
        for one in self._informers:
            one.synced.set()


def _never(_: bytes) -> bool:
    return False


class SharedInformers:
    """All informers of a process by resource, as in client-go's SharedInformerFactory."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[Informer[Any]]] = {}

    def add(self, informer: Informer[Any]) -> None:
        """Let an informer receive the events of its resource."""
        resource = informer.resource
        self._found.setdefault((resource.group, resource.plural), []).append(informer)

    def clear(self) -> None:
        """Remove all informers: later events are dropped."""
        self._found.clear()

    def handle(self, group: str, plural: str, event: Mapping[str, Any]) -> None:
        """Pass a raw event on to every informer of a resource; drop it where there is none."""
        for informer in self._found.get((group, plural), ()):
            informer.handle(event)
