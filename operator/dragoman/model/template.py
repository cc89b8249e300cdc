"""ResourceClaimTemplates of resource.k8s.io, any served version."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from dragoman.model.claim import asks_admin_access
from dragoman.model.clustertemplate import HASH_ANNOTATION, digest
from dragoman.model.fields import Document, check_depth, mapping, optional_text
from dragoman.model.metadata import Metadata


@dataclass(frozen=True, slots=True)
class Template:
    """A ResourceClaimTemplate."""

    metadata: Metadata  # Identity
    # `spec.metadata.labels`, for the claim.
    labels: Mapping[str, str] = field(default_factory=dict)
    # `spec.metadata.annotations`, for the claim.
    annotations: Mapping[str, str] = field(default_factory=dict)
    # `spec.spec`, opaque: it is copied into claims as it is, unknown fields included.
    spec: Mapping[str, Any] = field(default_factory=dict)
    # Of a copy of a ClusterResourceClaimTemplate: the hash of what was copied, by its annotation,
    # which users of the namespace may write
    copied_hash: str | None = None
    # Of such a copy: the hash of the spec that is stored; empty for other templates
    content: str = ""

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Parse a ResourceClaimTemplate; raise MalformedObjectError naming the field."""
        spec = mapping(body, "spec")
        metadata = mapping(spec, "metadata", "spec.")
        own = mapping(mapping(body, "metadata"), "annotations", "metadata.")
        check_depth(spec, "spec")
        copied_hash = optional_text(own, HASH_ANNOTATION, "metadata.annotations.")
        return cls(
            metadata=Metadata.parse(body),
            labels=mapping(metadata, "labels", "spec.metadata."),
            annotations=mapping(metadata, "annotations", "spec.metadata."),
            spec=mapping(spec, "spec", "spec."),
            copied_hash=copied_hash,
            content=digest(spec) if copied_hash is not None else "",
        )

    @property
    def admin_access(self) -> bool:
        """Whether claims made from the template ask for admin access."""
        return asks_admin_access(self.spec, "spec.spec.")
