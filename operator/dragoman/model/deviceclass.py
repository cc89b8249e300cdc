"""DeviceClasses of resource.k8s.io."""

from dataclasses import dataclass

from dragoman.model.fields import (
    Document,
    items,
    mapping,
    optional_text,
    require_object,
    selectors,
    text,
)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceClass:
    """A DeviceClass."""

    name: str  # `metadata.name`.
    selectors: tuple[str | None, ...] = ()  # CEL expressions; None for a selector without `cel`
    config: tuple[Document, ...] = ()  # Items of `spec.config` in the API's form.
    extended_resource: str = ""  # `spec.extendedResourceName`.
    # `metadata.creationTimestamp`, which orders classes of one extended resource.
    created: str = ""


def parse_class(document: Document) -> DeviceClass:
    """Read a DeviceClass."""
    require_object(document)
    metadata, spec = mapping(document, "metadata"), mapping(document, "spec")
    return DeviceClass(
        name=text(metadata, "name", "metadata."),
        selectors=selectors(spec, "spec."),
        config=tuple(items(spec, "config", "spec.")),
        extended_resource=optional_text(spec, "extendedResourceName", "spec.") or "",
        created=optional_text(metadata, "creationTimestamp", "metadata.") or "",
    )
