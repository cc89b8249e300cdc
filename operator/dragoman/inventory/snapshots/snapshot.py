"""The objects that an answer is computed from, and the file that keeps them: JSON lines.

The first line is the header, each other line one object with `apiVersion` and `kind`. Lines that a
newer dragoman added are kept out of the way: unknown kinds are ignored.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

import orjson

from dragoman.inventory.snapshots.documents import (
    KINDS,
    MIGRATION_LABELS,
    Document,
    named_labels,
    reduced,
    selected_labels,
    with_labels,
    without_terms,
)
from dragoman.inventory.snapshots.queuekinds import QUEUE_KINDS, queue_key

API_VERSION = "cli.dragoman.dev/v1alpha1"
KIND = "Snapshot"
MAX_LINE = 4 * 1024 * 1024
"""Bytes of one line; the API server takes objects of at most 3 MiB."""
MAX_SIZE = 1024 * 1024 * 1024
"""Bytes of one file."""
MAX_OBJECTS = 1_000_000
"""Objects of one file."""
FORMAT = 2
"""Of the files that are written. 2: what plans of preemption need."""
MIGRATION = "migration"
"""What `kubectl dra migrate` reads beyond all other commands: labels of nodes, and further objects,
which are under this name and reduced where they are read."""
MIGRATION_OBJECT = "MigrationObject"
"""Kind of the line of such an object."""
QUEUES = "queues"
"""Objects of queue managers: without it, snapshots have them only where they are few."""
GZIP = b"\x1f\x8b"
"""How compressed files begin."""
_VERSIONS = {
    "Namespace": "v1",
    "Node": "v1",
    "Pod": "v1",
    "PodDisruptionBudget": "policy/v1",
    "ResourceQuota": "v1",
    "DriverConfigSchema": "dragoman.dev/v1alpha1",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
}


class SnapshotError(ValueError):
    """A file is not a snapshot; the message names the line."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A list that the API server refused."""

    plural: str  # The resource
    reason: str  # The API server's words, or why the resource was not listed
    namespace: str = ""  # The only namespace whose objects were listed; empty where none were

    def __str__(self) -> str:
        where = f" outside of namespace {self.namespace}" if self.namespace else ""
        return f"{self.plural}{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objects of one cluster, reduced to the fields that the toolkit reads."""

    taken: str  # When, as an API timestamp
    kubernetes: str = ""  # The server's version, such as `v1.36.3`; empty where it is unknown.
    # Reduced objects by plural; a plural that was not listed is absent
    objects: Mapping[str, tuple[Document, ...]] = field(default_factory=dict)
    unseen: tuple[Unseen, ...] = ()  # What the API server refused to list
    format: int = FORMAT  # Of the file that it was read from; see `FORMAT`
    extras: frozenset[str] = frozenset()  # What it has beyond that: `migration`

    def of(self, plural: str) -> tuple[Document, ...]:
        """Return the objects of a resource."""
        return self.objects.get(plural, ())


def dump(snapshot: Snapshot, *, version: str) -> Iterator[bytes]:
    """Write a snapshot as lines, each with its line break.

    Args:
        snapshot: What is written.
        version: Of dragoman, for the header.
    """
    yield _line(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "format": snapshot.format,
            "taken": snapshot.taken,
            "kubernetes": snapshot.kubernetes,
            "dragoman": version,
            "unseen": [
                {"resource": one.plural, "namespace": one.namespace, "reason": one.reason}
                for one in snapshot.unseen
            ],
            "resources": sorted(snapshot.objects),
            **({"with": sorted(snapshot.extras)} if snapshot.extras else {}),
        }
    )
    kept = {
        "nodes": named_labels(snapshot.objects),
        "pods": selected_labels(snapshot.of("poddisruptionbudgets")),
        "namespaces": frozenset[str](),
    }
    for kind, plural in KINDS.items():
        api_version = _VERSIONS.get(kind, "resource.k8s.io/v1")
        for document in snapshot.of(plural):
            more = MIGRATION_LABELS if plural == "nodes" and MIGRATION in snapshot.extras else ()
            body = with_labels(document, kept[plural], more) if plural in kept else document
            body = without_terms(body) if plural == "pods" else body
            yield _line({"apiVersion": api_version, "kind": kind, **body})
    for plural, (queue, *_) in QUEUE_KINDS.items():
        api_version = "/".join(filter(None, (queue.group, queue.versions[0])))
        for document in snapshot.of(plural):
            yield _line({"apiVersion": api_version, "kind": queue.kind, **document})
    yield from map(_line, snapshot.of(MIGRATION))


def is_header(line: bytes) -> bool:
    """Whether a line is the first one of a snapshot, or of what was meant as one."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and found.get("apiVersion") == API_VERSION


def read(file: BinaryIO, first: bytes = b"") -> Snapshot:
    """Read a snapshot from a file, a pipe or a device, which may have no end.

    Args:
        file: Where it is read from.
        first: The first line, where it was read already.

    Raises:
        SnapshotError: A line is too long or not a JSON object, the first one is not a header, or
            the file is larger than MAX_SIZE.
    """
    return load(chain([first] if first else [], _bounded(file)))


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines, of which one that is too long is cut; raise SnapshotError for too many bytes."""
    size = 0
    while line := file.readline(MAX_LINE + 1):
        size += len(line)
        if size > MAX_SIZE:
            raise SnapshotError(f"larger than {MAX_SIZE >> 20} MiB")
        yield line


def load(lines: Iterable[bytes]) -> Snapshot:
    """Read a snapshot from its lines.

    Raises:
        SnapshotError: A line is too long or not a JSON object, or the first one is not a header.
    """
    numbered = enumerate(lines, 1)
    header = _header(numbered)
    objects: dict[str, list[Document]] = {str(name): [] for name in _list(header, "resources")}
    for number, line in numbered:
        if number > MAX_OBJECTS:
            raise SnapshotError(f"line {number}: a snapshot has at most {MAX_OBJECTS} objects")
        if line.strip():
            document = _object(number, line)
            if document.get("kind") == MIGRATION_OBJECT:
                objects.setdefault(MIGRATION, []).append(document)
                continue
            plural = queue_key(document) or KINDS.get(str(document.get("kind")))
            if plural:
                objects.setdefault(plural, []).append(reduced(plural, document))
    return Snapshot(
        taken=str(header.get("taken") or ""),
        kubernetes=str(header.get("kubernetes") or ""),
        objects={plural: tuple(found) for plural, found in objects.items()},
        unseen=tuple(_unseen(header)),
        format=found if type(found := header.get("format")) is int else 1,
        extras=frozenset(map(str, _list(header, "with"))),
    )


def _header(numbered: Iterator[tuple[int, bytes]]) -> Mapping[str, Any]:
    number, line = next(numbered, (1, b""))
    header = _object(number, line) if line.strip() else {}
    if (header.get("apiVersion"), header.get("kind")) != (API_VERSION, KIND):
        raise SnapshotError(
            f"line 1: expected apiVersion {API_VERSION} and kind {KIND}: "
            "make the file with `kubectl dra snapshot -o FILE`"
        )
    return header


def _list(header: Mapping[str, Any], key: str) -> list[Any]:
    found = header.get(key)
    return found if isinstance(found, list) else []


def _unseen(header: Mapping[str, Any]) -> Iterator[Unseen]:
    for item in _list(header, "unseen"):
        if isinstance(item, Mapping):
            yield Unseen(
                str(item.get("resource") or ""),
                str(item.get("reason") or ""),
                str(item.get("namespace") or ""),
            )


def _object(number: int, line: bytes) -> Mapping[str, Any]:
    if line[:2] == GZIP:
        raise SnapshotError(f"line {number}: compressed: gunzip it first")
    if len(line) > MAX_LINE:
        raise SnapshotError(f"line {number}: longer than {MAX_LINE >> 20} MiB")
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise SnapshotError(f"line {number}: invalid JSON: {error}") from None
    if not isinstance(document, dict):
        raise SnapshotError(f"line {number}: expected a JSON object")
    return document


def _line(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
