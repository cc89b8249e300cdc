"""What can be done: each action is one request to the API server, as a value."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman.claims.reasons import ClaimReason
from dragoman.model.claim import (
    DELETE_PROTECTION,
    LEFT_CONSUMERS_ANNOTATION,
    POD_CLAIM_ANNOTATION,
    Claim,
    Consumer,
)
from dragoman.model.metadata import Metadata, Owner
from dragoman.model.template import Template


@dataclass(frozen=True, slots=True)
class CreateClaim:
    """POST a claim made from a template, under a name that makes the creation repeatable."""

    reason: ClaimReason
    namespace: str
    name: str
    entry: str
    owner: Owner
    template: Template

    def document(self, api_version: str) -> dict[str, Any]:
        """Return the claim in the API's JSON form.

        Args:
            api_version: The version of resource.k8s.io in which the template was read, as
                `resource.k8s.io/v1`: the spec is copied as it is.
        """
        metadata: dict[str, Any] = {
            "name": self.name,
            "namespace": self.namespace,
            "annotations": {**_copied(self.template), POD_CLAIM_ANNOTATION: self.entry},
            "ownerReferences": [
                {
                    "apiVersion": self.owner.api_version,
                    "kind": self.owner.kind,
                    "name": self.owner.name,
                    "uid": self.owner.uid,
                    "controller": True,
                }
            ],
        }
        if self.template.labels:
            metadata["labels"] = dict(self.template.labels)
        return {
            "apiVersion": api_version,
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": dict(self.template.spec),
        }


@dataclass(frozen=True, slots=True)
class PublishClaims:
    """PATCH the status of a pod or PodGroup so that it names the claims of these entries.

    A strategic merge patch merges by entry name: other entries stay as they are. The UID in it
    makes the API server refuse the patch (422) when the object was replaced.
    """

    reason: ClaimReason
    holder: Owner
    namespace: str
    # Entry name -> claim name; only what differs from the stored status
    published: Mapping[str, str]
    version: str = ""  # resourceVersion of the object that this was planned from

    def without(self, claims: Collection[str]) -> "PublishClaims":
        """Return the same but for the entries of these claims."""
        kept = {entry: name for entry, name in self.published.items() if name not in claims}
        return replace(self, published=kept)

    def document(self, *, exact: bool = False) -> dict[str, Any]:
        """Return the strategic merge patch.

        Args:
            exact: Whether the API server refuses it (409) where the object has changed at all.
        """
        version = {"resourceVersion": self.version} if exact and self.version else {}
        return {
            "metadata": {"uid": self.holder.uid, **version},
            "status": {
                "resourceClaimStatuses": [
                    {"name": entry, "resourceClaimName": claim}
                    for entry, claim in self.published.items()
                ]
            },
        }


@dataclass(frozen=True, slots=True)
class UpdateReservedFor:
    """PATCH `status.reservedFor` of a claim, and deallocate it when the last consumer is removed.

    The resourceVersion in the merge patch makes it fail (409) when anything has changed.
    """

    reason: ClaimReason
    claim: Claim
    consumers: tuple[Consumer, ...]  # The whole new list
    deallocate: bool = False  # Whether to clear `status.allocation` in the same write.

    def document(self) -> dict[str, Any]:
        """Return the merge patch."""
        consumers = [consumer.document() for consumer in self.consumers]
        status: dict[str, Any] = {"reservedFor": consumers or None}
        if self.deallocate:
            status["allocation"] = None
        return {"metadata": precondition(self.claim.metadata), "status": status}


@dataclass(frozen=True, slots=True)
class RecordDepartures:
    """PATCH the annotation that records which consumers left before their containers had ended."""

    reason: ClaimReason
    claim: Claim
    text: str  # The whole annotation; empty to remove it

    def document(self) -> dict[str, Any]:
        """Return the merge patch."""
        annotations = {LEFT_CONSUMERS_ANNOTATION: self.text or None}
        return {"metadata": {**precondition(self.claim.metadata), "annotations": annotations}}


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """PATCH the scheduler's finalizer away from a claim that holds no devices."""

    reason: ClaimReason
    claim: Claim

    def document(self) -> dict[str, Any]:
        """Return the merge patch."""
        kept = [name for name in self.claim.finalizers if name != DELETE_PROTECTION]
        return {"metadata": {**precondition(self.claim.metadata), "finalizers": kept or None}}


@dataclass(frozen=True, slots=True)
class DeleteClaim:
    """DELETE a generated claim, and only the one with this UID."""

    reason: ClaimReason
    claim: Claim
    exact: bool = False  # Whether to delete it only in exactly this state

    def document(self) -> dict[str, Any]:
        """Return the DeleteOptions."""
        metadata = self.claim.metadata
        only = precondition(metadata) if self.exact else {"uid": metadata.uid}
        return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": only}


Action = (
    CreateClaim
    | PublishClaims
    | UpdateReservedFor
    | RecordDepartures
    | RemoveFinalizer
    | DeleteClaim
)


def _copied(template: Template) -> dict[str, str]:
    """Return the annotations of a template but for the record, which is the operator's."""
    return {
        key: one for key, one in template.annotations.items() if key != LEFT_CONSUMERS_ANNOTATION
    }


def precondition(metadata: Metadata) -> dict[str, str]:
    """Return the patch metadata that lets a write succeed on exactly this state of the object."""
    return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
