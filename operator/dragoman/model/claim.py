"""ResourceClaims and ResourceClaimTemplates of resource.k8s.io, any served version."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from types import MappingProxyType
from typing import Any, Self

from dragoman.model.allocated import AllocatedDevice, parse_results
from dragoman.model.clustertemplate import HASH_ANNOTATION, digest
from dragoman.model.fields import Document, check_depth, items, mapping, optional_text, text, texts
from dragoman.model.metadata import Metadata

POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
EXTENDED_RESOURCE_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
"""The finalizer that the scheduler sets before it allocates."""
LEFT_CONSUMERS_ANNOTATION = "dragoman.dev/left-consumers"
"""Pods in `status.reservedFor` that left the API before their containers had ended."""
HOLD_PREFIX = "dragoman-hold-"
"""How the names of claims begin that keep a device out of service."""
RESERVED_FOR_LIMIT = 256
"""Upper bound of `status.reservedFor` (API: ResourceClaimReservedForMaxSize)."""
CONSUMER_FIELDS = frozenset({"apiGroup", "resource", "name", "uid"})


NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Consumer:
    """One item of `status.reservedFor`.

    Attributes:
        resource: Plural, as `pods`.
        name: Of the consumer.
        uid: Of the consumer.
        api_group: Empty for the core group.
        unknown: Fields of a newer API; a list is written as a whole, and they must survive it.
    """

    resource: str
    name: str
    uid: str
    api_group: str = ""
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING, compare=False, repr=False)

    @property
    def is_pod(self) -> bool:
        """Whether the consumer is a core Pod."""
        return self.api_group == "" and self.resource == "pods"

    @property
    def is_pod_group(self) -> bool:
        """Whether the consumer is a PodGroup of scheduling.k8s.io."""
        return self.api_group == "scheduling.k8s.io" and self.resource == "podgroups"

    def document(self) -> dict[str, Any]:
        """Return the item in the API's JSON form."""
        group = {"apiGroup": self.api_group} if self.api_group else {}
        known = {"resource": self.resource, "name": self.name, "uid": self.uid}
        return {**self.unknown, **group, **known}


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim.

    Attributes:
        metadata: Identity.
        entry: The pod's (or PodGroup's) entry that a generated claim stands for, from its
            annotation `resource.kubernetes.io/pod-claim-name`; None for claims made by users.
        extended: Whether the scheduler made it for an extended resource (KEP-5004).
        finalizers: `metadata.finalizers`, in their order.
        allocated: Whether `status.allocation` is set.
        devices: `status.allocation.devices.results`, in their order.
        consumers: `status.reservedFor`, in its order.
        admin_access: Whether a request asks for admin access (KEP-5018).
        allocated_at: `status.allocation.allocationTimestamp`, empty where unset.
        hold: Of a claim with the name of a held one: its metadata and allocation; None of others.
        node_name: The node that the allocation is for; empty where devices have several or none.
        left_consumers: The annotation of that name; empty where there is none.
    """

    metadata: Metadata
    entry: str | None = None
    extended: bool = False
    finalizers: tuple[str, ...] = ()
    allocated: bool = False
    consumers: tuple[Consumer, ...] = ()
    admin_access: bool = False
    devices: tuple[AllocatedDevice, ...] = ()
    allocated_at: str = ""
    hold: Document | None = field(default=None, hash=False)
    node_name: str = ""
    left_consumers: str = ""

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Parse a ResourceClaim; raise MalformedObjectError naming the field."""
        metadata, status = mapping(body, "metadata"), mapping(body, "status")
        annotations = mapping(metadata, "annotations", "metadata.")
        return cls(
            metadata=Metadata.parse(body),
            entry=optional_text(annotations, POD_CLAIM_ANNOTATION, "metadata.annotations."),
            # The scheduler's own claims have no entry. A template may carry the annotation, too.
            extended=annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
            and POD_CLAIM_ANNOTATION not in annotations,
            finalizers=texts(metadata, "finalizers", "metadata."),
            allocated=status.get("allocation") is not None,
            consumers=_consumers(status),
            admin_access=asks_admin_access(mapping(body, "spec"), "spec."),
            devices=parse_results(status),
            allocated_at=_allocated_at(status),
            hold=_hold(metadata, status),
            node_name=_node_name(status),
            left_consumers=optional_text(
                annotations, LEFT_CONSUMERS_ANNOTATION, "metadata.annotations."
            )
            or "",
        )

    @property
    def protected(self) -> bool:
        """Whether the claim has the scheduler's finalizer, which delays its deletion."""
        return DELETE_PROTECTION in self.finalizers

    def is_for(self, owner_uid: str) -> bool:
        """Whether the claim is controlled by the object with this UID."""
        return self.metadata.owner is not None and self.metadata.owner.uid == owner_uid

    def is_reserved_for(self, uid: str) -> bool:
        """Whether the consumer with this UID holds a reservation."""
        return any(consumer.uid == uid for consumer in self.consumers)


@dataclass(frozen=True, slots=True)
class Template:
    """A ResourceClaimTemplate.

    Attributes:
        metadata: Identity.
        labels: `spec.metadata.labels`, for the claim.
        annotations: `spec.metadata.annotations`, for the claim.
        spec: `spec.spec`, opaque: it is copied into claims as it is, unknown fields included.
        copied_hash: Of a copy of a ClusterResourceClaimTemplate: the hash of what was copied, by
            its annotation, which users of the namespace may write.
        content: Of such a copy: the hash of the spec that is stored; empty for other templates.
    """

    metadata: Metadata
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    copied_hash: str | None = None
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


def asks_admin_access(spec: Document, within: str) -> bool:
    """Whether a claim's spec has a request with admin access.

    Since v1beta2 the flag stands in `requests[].exactly`; in v1beta1 in `requests[]` itself.
    """
    devices = mapping(spec, "devices", within)
    return any(
        request.get("adminAccess") is True
        or mapping(request, "exactly", f"{within}devices.requests[].").get("adminAccess") is True
        for request in items(devices, "requests", f"{within}devices.")
    )


def _allocated_at(status: Document) -> str:
    allocation = mapping(status, "allocation", "status.")
    return optional_text(allocation, "allocationTimestamp", "status.allocation.") or ""


def _node_name(status: Document) -> str:
    """Return the node of the selector that the allocator writes for devices of one node."""
    within = "status.allocation."
    selector = mapping(mapping(status, "allocation", "status."), "nodeSelector", within)
    terms = items(selector, "nodeSelectorTerms", f"{within}nodeSelector.")
    if len(terms) != 1:
        return ""
    for one in items(terms[0], "matchFields", f"{within}nodeSelector.nodeSelectorTerms[]."):
        values = one.get("values")
        if one.get("key") == "metadata.name" and isinstance(values, list) and len(values) == 1:
            return intern(str(values[0]))
    return ""


def _hold(metadata: Document, status: Document) -> Document | None:
    if not str(metadata.get("name")).startswith(HOLD_PREFIX):
        return None
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {"metadata": kept, "status": {"allocation": status.get("allocation")}}


def _consumers(status: Document) -> tuple[Consumer, ...]:
    listed = enumerate(items(status, "reservedFor", "status."))
    return tuple(_consumer(item, f"status.reservedFor[{index}].") for index, item in listed)


def _consumer(item: Document, within: str) -> Consumer:
    return Consumer(
        resource=text(item, "resource", within),
        name=text(item, "name", within),
        uid=text(item, "uid", within),
        api_group=optional_text(item, "apiGroup", within) or "",
        unknown={key: value for key, value in item.items() if key not in CONSUMER_FIELDS}
        or NOTHING,
    )
