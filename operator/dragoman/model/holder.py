"""Objects that hold claims by entries: pods, and PodGroups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.model.fields import Document, items, optional_text, text
from dragoman.model.metadata import Metadata, Owner


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """One item of `spec.resourceClaims`, of a pod or of a PodGroup.

    Exactly one of the two names is set; both are None for a form of a future API.
    """

    name: str
    claim_name: str | None = None
    template_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimHolder:
    """What pods and PodGroups have in common."""

    metadata: Metadata  # Identity
    entries: tuple[ClaimEntry, ...] = ()  # `spec.resourceClaims`.
    # `status.resourceClaimStatuses` as entry name -> claim name, or None where the status says that
    # no claim is needed for the entry.
    published: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def reference(self) -> Owner:
        """Return the holder as the controlling owner of claims generated for it."""
        raise TypeError(f"{type(self).__name__} owns no claims")

    def published_name(self, entry: ClaimEntry) -> str | None:
        """Return the name of the claim that an entry stands for, or None while unknown."""
        return entry.claim_name or self.published.get(entry.name)

    def needs_no_claim(self, entry: ClaimEntry) -> bool:
        """Whether the status says, by a null name, that the entry needs no claim."""
        return entry.name in self.published and self.published[entry.name] is None

    def claim_names(self) -> Iterator[str]:
        """Yield the names of all claims that the holder refers to, as far as they are known."""
        for entry in self.entries:
            name = self.published_name(entry)
            if name is not None:
                yield name

    def template_names(self) -> Iterator[str]:
        """Yield the names of the templates that the holder refers to."""
        for entry in self.entries:
            if entry.template_name is not None:
                yield entry.template_name


def parse_entries(spec: Document) -> tuple[ClaimEntry, ...]:
    """Parse `resourceClaims` of a spec; raise MalformedObjectError naming the field."""
    entries = []
    for index, item in enumerate(items(spec, "resourceClaims", "spec.")):
        within = f"spec.resourceClaims[{index}]."
        entries.append(
            ClaimEntry(
                name=text(item, "name", within),
                claim_name=optional_text(item, "resourceClaimName", within),
                template_name=optional_text(item, "resourceClaimTemplateName", within),
            )
        )
    return tuple(entries)


def parse_bindings(status: Document) -> Mapping[str, str | None]:
    """Parse `resourceClaimStatuses` of a status; raise MalformedObjectError naming the field."""
    published = {}
    for index, item in enumerate(items(status, "resourceClaimStatuses", "status.")):
        within = f"status.resourceClaimStatuses[{index}]."
        published[text(item, "name", within)] = optional_text(item, "resourceClaimName", within)
    return published
