"""What every namespaced object carries: its identity, version and owner."""

from dataclasses import dataclass
from sys import intern
from typing import Self

from dragoman.model.fields import Document, items, mapping, optional_text, text


@dataclass(frozen=True, slots=True)
class Owner:
    """The controlling entry of `metadata.ownerReferences`.

    API: meta/v1 OwnerReference; at most one entry of an object has `controller: true`.
    """

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def is_pod(self) -> bool:
        """Whether the owner is a core/v1 Pod."""
        return self.kind == "Pod" and self.api_version == "v1"

    @property
    def is_pod_group(self) -> bool:
        """Whether the owner is a PodGroup of scheduling.k8s.io, whatever the API version."""
        return self.kind == "PodGroup" and self.api_version.startswith("scheduling.k8s.io/")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Identity of a namespaced object."""

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    created: str = ""
    deleting: bool = False
    owner: Owner | None = None

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, body: Document, *, stored: bool = True) -> Self:
        """Parse `metadata` of an object; raise MalformedObjectError naming the field.

        Args:
            body: The object.
            stored: Whether it has a UID; one from a file has none yet.
        """
        metadata = mapping(body, "metadata")
        return cls(
            namespace=intern(optional_text(metadata, "namespace", "metadata.") or ""),
            name=text(metadata, "name", "metadata."),
            uid=text(metadata, "uid", "metadata.")
            if stored
            else optional_text(metadata, "uid", "metadata.") or "",
            resource_version=optional_text(metadata, "resourceVersion", "metadata.") or "",
            created=optional_text(metadata, "creationTimestamp", "metadata.") or "",
            deleting=metadata.get("deletionTimestamp") is not None,
            owner=_controller(metadata),
        )


def is_older(new: str, old: str) -> bool:
    """Whether one resourceVersion comes before another; False where they cannot be compared."""
    return new.isdigit() and old.isdigit() and int(new) < int(old)


def _controller(metadata: Document) -> Owner | None:
    for index, reference in enumerate(items(metadata, "ownerReferences", "metadata.")):
        if reference.get("controller") is True:
            within = f"metadata.ownerReferences[{index}]."
            return Owner(
                api_version=intern(text(reference, "apiVersion", within)),
                kind=intern(text(reference, "kind", within)),
                name=text(reference, "name", within),
                uid=text(reference, "uid", within),
            )
    return None
