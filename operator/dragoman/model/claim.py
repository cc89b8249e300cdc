"""ResourceClaims of resource.k8s.io, any served version.

`Claim.parse` reads what the life of a claim depends on; `claimcontent.parse_claim`
reads the rest as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from sys import intern
from typing import Any, Self

from dragoman.model.allocated import AllocatedDevice, Held, parse_held
from dragoman.model.fields import NOTHING, Document, items, mapping, optional_text, text, texts
from dragoman.model.metadata import Metadata
from dragoman.model.requests import NO_SPEC, ClaimSpec

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


@dataclass(frozen=True, slots=True)
class Consumer:
    """One item of `status.reservedFor`."""

    resource: str  # Plural, as `pods`
    name: str  # Of the consumer
    uid: str  # Of the consumer
    api_group: str = ""  # Empty for the core group
    # Fields of a newer API; a list is written as a whole, and they must survive it
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
    """A ResourceClaim."""

    metadata: Metadata  # Identity
    # The pod's (or PodGroup's) entry that a generated claim stands for, from its annotation
    # `resource.kubernetes.io/pod-claim-name`; None for claims made by users.
    entry: str | None = None
    extended: bool = False  # Whether the scheduler made it for an extended resource (KEP-5004)
    finalizers: tuple[str, ...] = ()  # `metadata.finalizers`, in their order.
    held: Held | None = None  # `status.allocation`, None while the claim is not allocated.
    consumers: tuple[Consumer, ...] = ()  # `status.reservedFor`, in its order.
    admin_access: bool = False  # Whether a request asks for admin access (KEP-5018)
    # Of a claim with the name of a held one: its metadata and allocation; None of others
    hold: Document | None = field(default=None, hash=False)
    # The node that the allocation is for; empty where devices have several or none
    node_name: str = ""
    left_consumers: str = ""  # The annotation of that name; empty where there is none
    spec: ClaimSpec = NO_SPEC  # What it requests; empty where the content was not parsed
    # When the status was last written; empty where that is unknown, or the content was not parsed
    changed_at: str = ""
    # Whether the scheduler is allocating it for another pod, which it alone knows
    allocating: bool = False

    @classmethod
    def parse(cls, body: Document, *, stored: bool = True) -> Self:
        """Parse a ResourceClaim without what it requests.

        Args:
            body: The object as the API server sent it, or reduced.
            stored: Whether it has a UID; one from a file has none yet.

        Raises:
            MalformedObjectError: A field has another shape than its API; the message names it.
        """
        metadata, status = mapping(body, "metadata"), mapping(body, "status")
        annotations = mapping(metadata, "annotations", "metadata.")
        return cls(
            metadata=Metadata.parse(body, stored=stored),
            entry=_interned(annotations, POD_CLAIM_ANNOTATION, "metadata.annotations."),
            # The scheduler's own claims have no entry. A template may carry the annotation, too.
            extended=annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
            and POD_CLAIM_ANNOTATION not in annotations,
            finalizers=_shared(texts(metadata, "finalizers", "metadata.")),
            held=parse_held(status),
            consumers=_consumers(status),
            admin_access=asks_admin_access(mapping(body, "spec"), "spec."),
            hold=_hold(metadata, status),
            node_name=_node_name(status),
            left_consumers=optional_text(
                annotations, LEFT_CONSUMERS_ANNOTATION, "metadata.annotations."
            )
            or "",
        )

    @classmethod
    def requesting(cls, name: str, namespace: str, spec: ClaimSpec) -> Self:
        """Return a claim that is not stored."""
        return cls(Metadata(namespace, name), spec=spec)

    def named(self, name: str) -> Self:
        """Return the same claim under another name."""
        return replace(self, metadata=replace(self.metadata, name=name))

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`."""
        return self.metadata.namespace

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone, as the scheduler prints it."""
        return self.metadata.key

    @property
    def allocated(self) -> bool:
        """Whether `status.allocation` is set."""
        return self.held is not None

    @property
    def devices(self) -> tuple[AllocatedDevice, ...]:
        """`status.allocation.devices.results`, in their order."""
        return self.held.devices if self.held is not None else ()

    @property
    def allocated_at(self) -> str:
        """`status.allocation.allocationTimestamp`, empty where unset."""
        return self.held.allocated_at if self.held is not None else ""

    @property
    def since(self) -> str:
        """When the devices were allocated; where the API does not say, when the claim was made."""
        return self.allocated_at or self.metadata.created

    @property
    def is_hold(self) -> bool:
        """Whether the claim only keeps a device out of service; users too may choose its name."""
        return self.metadata.name.startswith(HOLD_PREFIX) and not self.consumers

    @property
    def protected(self) -> bool:
        """Whether the claim has the scheduler's finalizer, which delays its deletion."""
        return DELETE_PROTECTION in self.finalizers

    def is_for(self, owner_uid: str) -> bool:
        """Whether the claim is controlled by the object with this UID."""
        return self.metadata.owner is not None and self.metadata.owner.uid == owner_uid

    def is_reserved_for(self, uid: str, group: str | None = None) -> bool:
        """Whether the consumer with this UID holds a reservation, or a PodGroup of this name."""
        return any(
            one.uid == uid or (group is not None and one.is_pod_group and one.name == group)
            for one in self.consumers
        )


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


@lru_cache(1024)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return one object for equal names: nearly all claims have the same finalizers."""
    return names


def _interned(document: Document, key: str, within: str) -> str | None:
    found = optional_text(document, key, within)
    return None if found is None else intern(found)


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
        resource=intern(text(item, "resource", within)),
        name=text(item, "name", within),
        uid=text(item, "uid", within),
        api_group=optional_text(item, "apiGroup", within) or "",
        unknown={key: value for key, value in item.items() if key not in CONSUMER_FIELDS}
        or NOTHING,
    )
