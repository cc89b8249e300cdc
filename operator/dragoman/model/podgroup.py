"""PodGroups of scheduling.k8s.io (KEP-5729): claims shared by the pods of one group."""

from dataclasses import dataclass
from typing import Self

from dragoman.model.fields import Document, mapping, text
from dragoman.model.holder import ClaimEntry, ClaimHolder, parse_bindings, parse_entries
from dragoman.model.metadata import Metadata, Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroup(ClaimHolder):
    """A PodGroup: its claim entries and the claims that its status names for them."""

    api_version: str

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Parse a PodGroup; raise MalformedObjectError naming the field."""
        return cls(
            metadata=Metadata.parse(body),
            api_version=text(body, "apiVersion"),
            entries=parse_entries(mapping(body, "spec")),
            published=parse_bindings(mapping(body, "status")),
        )

    @property
    def reference(self) -> Owner:
        """Return the group as the controlling owner of claims generated for it."""
        return Owner(self.api_version, "PodGroup", self.metadata.name, self.metadata.uid)

    def shares(self, entry: ClaimEntry) -> bool:
        """Whether a pod's entry stands for the group's claim.

        It does when one of the group's entries has the same name and names the same claim or
        template (API: core/v1 PodResourceClaim).
        """
        return entry in self.entries
