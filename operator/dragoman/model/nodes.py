"""Nodes, as the allocator knows them."""

from collections.abc import Mapping
from typing import NamedTuple

from dragoman.model.amounts import quantity
from dragoman.model.fields import (
    NOTHING,
    Document,
    mapping,
    require_object,
    strings,
    text,
    texts,
)


class Node(NamedTuple):
    """A Node."""

    name: str  # `metadata.name`.
    labels: Mapping[str, str] = NOTHING  # `metadata.labels`.
    declared_features: frozenset[str] = frozenset()  # `status.declaredFeatures` (1.37, alpha).
    # Whole numbers of `status.allocatable`, which device plugins publish.
    allocatable: Mapping[str, int] = NOTHING


def parse_node(document: Document) -> Node:
    """Read a Node."""
    require_object(document)
    metadata, status = mapping(document, "metadata"), mapping(document, "status")
    return Node(
        text(metadata, "name", "metadata."),
        strings(metadata, "labels", "metadata."),
        frozenset(texts(status, "declaredFeatures", "status.")),
        {
            name: value.nanos // 10**9
            for name in mapping(status, "allocatable", "status.")
            if (value := quantity(status["allocatable"], name, "status.allocatable."))
        },
    )
