"""ClusterResourceClaimTemplates of dragoman.dev, and the namespaces that they select."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from dragoman.model.fields import (
    Document,
    MalformedObjectError,
    check_depth,
    mapping,
    optional_text,
)
from dragoman.model.labels import LabelSelector
from dragoman.model.metadata import Metadata, Owner

API_VERSION = "dragoman.dev/v1alpha1"
KIND = "ClusterResourceClaimTemplate"
COPY_LABEL = "dragoman.dev/cluster-template"
"""Label of copies; its value is the name of the ClusterResourceClaimTemplate."""
HASH_ANNOTATION = "dragoman.dev/template-hash"
"""Annotation of copies: the hash of what they were copied from."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace."""

    metadata: Metadata  # Identity
    labels: Mapping[str, str] = field(default_factory=dict)  # Its labels
    terminating: bool = False  # Whether it is being deleted, so that nothing can be created in it

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Parse a Namespace; raise MalformedObjectError naming the field."""
        metadata = Metadata.parse(body)
        phase = optional_text(mapping(body, "status"), "phase", "status.")
        return cls(
            metadata=metadata,
            labels=mapping(mapping(body, "metadata"), "labels", "metadata."),
            terminating=metadata.deleting or phase == "Terminating",
        )


@dataclass(frozen=True, slots=True)
class ClusterTemplate:
    """A ClusterResourceClaimTemplate."""

    metadata: Metadata  # Identity
    generation: int  # Of the spec
    selector: LabelSelector  # The namespaces that get a copy
    template: Mapping[str, Any]  # The spec of the copies, opaque
    replaces: bool  # Whether a template of the name that is not a copy is replaced
    status: Mapping[str, Any]  # As stored
    digest: str  # Hash of `template`; copies carry the one that they were made from

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Parse a ClusterResourceClaimTemplate; raise MalformedObjectError naming the field."""
        spec = mapping(body, "spec")
        if "namespaceSelector" not in spec:
            # An empty selector matches everything, so that a missing one must not become empty.
            raise MalformedObjectError("spec.namespaceSelector: expected an object, found nothing")
        template = mapping(spec, "template", "spec.")
        check_depth(template, "spec.template")
        generation = mapping(body, "metadata").get("generation")
        return cls(
            metadata=Metadata.parse(body),
            generation=generation if isinstance(generation, int) else 0,
            selector=LabelSelector.parse(
                mapping(spec, "namespaceSelector", "spec."), "spec.namespaceSelector."
            ),
            template=template,
            replaces=optional_text(spec, "conflict", "spec.") == "Replace",
            status=mapping(body, "status"),
            digest=digest(template),
        )

    def selects(self, namespace: Namespace) -> bool:
        """Whether the namespace gets a copy."""
        return not namespace.terminating and self.selector.matches(namespace.labels)

    @property
    def wish(self) -> tuple[object, ...]:
        """Return what decides which copies are wanted: all but the status and other metadata."""
        metadata = self.metadata
        return (metadata.uid, metadata.deleting, self.selector, self.digest, self.replaces)

    @property
    def reference(self) -> Owner:
        """Return the object as the controlling owner of its copies."""
        return Owner(API_VERSION, KIND, self.metadata.name, self.metadata.uid)


def digest(template: Mapping[str, Any]) -> str:
    """Return the hash of a template's content, whatever the order of its keys."""
    content = json.dumps(template, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def is_copy(metadata: Metadata) -> bool:
    """Whether the controlling owner is a ClusterResourceClaimTemplate, in any API version.

    A copy has the name of its owner. A template that a user made from a copy under another name
    may still list the owner, and is the user's.
    """
    owner = metadata.owner
    return (
        owner is not None
        and owner.kind == KIND
        and owner.api_version.startswith("dragoman.dev/")
        and owner.name == metadata.name
    )
