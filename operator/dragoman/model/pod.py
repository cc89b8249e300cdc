"""Pods, as far as their resource claims are concerned."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from dragoman.model.claim import Claim
from dragoman.model.fields import Document, items, mapping, optional_number, optional_text
from dragoman.model.holder import ClaimHolder, parse_bindings, parse_entries
from dragoman.model.metadata import Metadata, Owner

STOCK_MANAGER = "ResourceClaimController"
"""Field manager of the claim controller in kube-controller-manager."""
DEFAULT_GRACE = 30.0
"""Seconds that containers have to end where a pod does not say (API: PodSpec)."""
TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod(ClaimHolder):
    """A pod that uses, or may use, resource claims."""

    phase: str = ""  # `status.phase`; empty when not set yet.
    node_name: str = ""  # `spec.nodeName`; empty while unscheduled.
    group_name: str | None = None  # `spec.schedulingGroup.podGroupName`, or None.
    # `status.extendedResourceClaimStatus.resourceClaimName`, or None.
    extended_claim: str | None = None
    # When the stock controller last wrote the pod's status, as an API timestamp; empty if it never
    # did. From `metadata.managedFields`.
    stock_stamp: str = ""
    # Seconds that its containers have to end, the longer of `spec.terminationGracePeriodSeconds`
    # and `metadata.deletionGracePeriodSeconds`: after a deletion with grace 0 kubelet still gives
    # them what the spec says.
    grace: float = DEFAULT_GRACE
    # The reduced object while the pod has no node, or if it is of a PodGroup, where a controller
    # wants it; None of all others
    waiting: Document | None = field(default=None, hash=False, repr=False)

    @classmethod
    def parse(cls, body: Document, *, stored: bool = True) -> Self:
        """Parse a Pod; raise MalformedObjectError naming the field.

        Args:
            body: The object as the API server sent it, or reduced.
            stored: Whether it has a UID; one from a file has none yet.
        """
        spec, status = mapping(body, "spec"), mapping(body, "status")
        group = mapping(spec, "schedulingGroup", "spec.")
        extended = mapping(status, "extendedResourceClaimStatus", "status.")
        return cls(
            metadata=Metadata.parse(body, stored=stored),
            phase=optional_text(status, "phase", "status.") or "",
            node_name=optional_text(spec, "nodeName", "spec.") or "",
            group_name=optional_text(group, "podGroupName", "spec.schedulingGroup."),
            entries=parse_entries(spec),
            published=parse_bindings(status),
            extended_claim=optional_text(
                extended, "resourceClaimName", "status.extendedResourceClaimStatus."
            ),
            stock_stamp=_stock_stamp(mapping(body, "metadata")),
            grace=_grace(spec, mapping(body, "metadata")),
        )

    @property
    def reference(self) -> Owner:
        """Return the pod as the controlling owner of claims generated for it."""
        return Owner("v1", "Pod", self.metadata.name, self.metadata.uid)

    @property
    def uses_claims(self) -> bool:
        """Whether the pod has anything to do with resource claims."""
        return bool(self.entries) or self.extended_claim is not None

    @property
    def done(self) -> bool:
        """Whether the pod will not use its devices (any more).

        True when it has run to its end, or is being deleted before it ever got a node. A running
        pod that is merely being deleted still holds its devices.
        """
        if self.phase in TERMINAL_PHASES:
            return True
        return self.metadata.deleting and not self.node_name

    def claim_names(self) -> Iterator[str]:
        """Yield the names of all claims that the pod refers to, as far as they are known."""
        yield from ClaimHolder.claim_names(self)
        if self.extended_claim is not None:
            yield self.extended_claim


def _grace(spec: Document, metadata: Document) -> float:
    of_spec = optional_number(spec, "terminationGracePeriodSeconds", "spec.")
    deletion = optional_number(metadata, "deletionGracePeriodSeconds", "metadata.")
    return max(DEFAULT_GRACE if of_spec is None else of_spec, deletion or 0.0)


def _stock_stamp(metadata: Document) -> str:
    for entry in items(metadata, "managedFields", "metadata."):
        if entry.get("manager") == STOCK_MANAGER:
            return optional_text(entry, "time", "metadata.managedFields[].") or ""
    return ""


def users(
    claim: Claim,
    pod_of: Callable[[tuple[str, str]], Pod | None],
    pods_of_group: Callable[[tuple[str, str]], Iterable[Pod]],
) -> Iterator[Pod]:
    """Yield the pods that a claim is reserved for, those of its PodGroups too.

    Args:
        claim: Any claim.
        pod_of: Returns a pod by namespace and name.
        pods_of_group: Returns the pods of a PodGroup by namespace and name.
    """
    namespace = claim.metadata.namespace
    for consumer in claim.consumers:
        place = (namespace, consumer.name)
        if consumer.is_pod_group:
            yield from pods_of_group(place)
        elif consumer.is_pod:
            pod = pod_of(place)
            if pod is not None and pod.metadata.uid == consumer.uid:
                yield pod
