"""What the inventory is computed from, parsed once from the objects of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import dragoman.allocation as api
from dragoman.allocation.parsing.claims import parse_claim
from dragoman.allocation.parsing.objects import (
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
)
from dragoman.inventory.documents import Document
from dragoman.inventory.snapshot import Snapshot, Unseen
from dragoman.model.claim import Claim
from dragoman.model.fields import (
    MalformedObjectError,
    items,
    mapping,
    optional_text,
    text,
)
from dragoman.model.pod import Pod

HOLD_PREFIX: Final = "dragoman-hold-"
"""Claims of this name keep a device out of service; no pod uses them."""

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class SliceFact:
    """A ResourceSlice, and when it was created."""

    slice: api.Slice
    created: str


@dataclass(frozen=True, slots=True)
class Result:
    """One device of an allocated claim.

    Attributes:
        id: The device.
        request: The request, or `request/subrequest`, that it was allocated for.
        admin: Whether it is used with admin access, beside others.
        share: ID of the share of a device that allows multiple allocations, else empty.
        consumed: Capacity name to amount that the share takes, as text.
        tolerations: Those of the request, in the API's form.
    """

    id: api.DeviceID
    request: str
    admin: bool = False
    share: str = ""
    consumed: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimFact:
    """A ResourceClaim.

    Attributes:
        claim: Identity, consumers and origin.
        devices: What it asks for and what it was allocated.
        results: The allocated devices, in their order.
        allocated_at: `status.allocation.allocationTimestamp`, empty where unset.
        conditions: Conditions that the driver reported, by device.
        changed_at: When the status was last written, empty where that is unknown.
    """

    claim: Claim
    devices: api.Claim
    results: tuple[Result, ...] = ()
    allocated_at: str = ""
    conditions: Mapping[api.DeviceID, tuple[Document, ...]] = field(default_factory=dict)
    changed_at: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.devices.key

    @property
    def hold(self) -> bool:
        """Whether the claim only keeps a device out of service."""
        return self.claim.metadata.name.startswith(HOLD_PREFIX)

    @property
    def since(self) -> str:
        """When the devices were allocated; where the API does not say, when the claim was made."""
        return self.allocated_at or self.claim.metadata.created


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod.

    Attributes:
        name: Of the container.
        claims: Pairs of a claim entry of the pod and a request; empty for all requests.
    """

    name: str
    claims: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PodFact:
    """A pod.

    Attributes:
        pod: Identity, claims and phase.
        containers: Init containers, then containers.
        scheduler: `spec.schedulerName`.
        extended: Pairs of a container and a request of the claim for extended resources.
        started: `status.startTime`, empty before the kubelet has seen the pod.
        unschedulable: The condition `PodScheduled` while it is False, else empty.
        document: The reduced object, for node filters and messages.
    """

    pod: Pod
    containers: tuple[Container, ...] = ()
    scheduler: str = "default-scheduler"
    extended: tuple[tuple[str, str], ...] = ()
    started: str = ""
    unschedulable: Document = field(default_factory=dict)
    document: Document = field(default_factory=dict)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A node; `document` is the reduced object, for node filters."""

    node: api.Node
    document: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota, as far as devices are concerned.

    Attributes:
        namespace: Where it holds.
        hard: Devices allowed, by DeviceClass.
        used: Devices charged, by DeviceClass.
    """

    namespace: str
    hard: Mapping[str, int]
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Malformed:
    """An object that does not have the shape of its API; it is left out of every computation."""

    plural: str
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class World:
    """All facts of one snapshot.

    Attributes:
        now: When the objects were read, as an API timestamp; ages are counted from it.
        kubernetes: The server's version.
        nodes: By name.
        slices: All of them, also obsolete ones.
        classes: By name.
        rules: DeviceTaintRules.
        claims: By `namespace/name`.
        templates: Claims that a template makes, by `namespace/name` of the template.
        pods: By `namespace/name`.
        quotas: With an entry for devices.
        listed: Plurals that were read.
        unseen: What could not be read.
        malformed: What was left out.
    """

    now: str
    kubernetes: str
    nodes: Mapping[str, NodeFact]
    slices: tuple[SliceFact, ...]
    classes: Mapping[str, api.DeviceClass]
    rules: tuple[api.DeviceTaintRule, ...]
    claims: Mapping[str, ClaimFact]
    templates: Mapping[str, api.Claim]
    pods: Mapping[str, PodFact]
    quotas: tuple[Quota, ...]
    listed: frozenset[str]
    unseen: tuple[Unseen, ...]
    malformed: tuple[Malformed, ...]


def parse(snapshot: Snapshot) -> World:
    """Parse all objects of a snapshot; malformed ones are named in the result."""
    malformed: list[Malformed] = []

    def read(plural: str, parser: Callable[[Document], Fact]) -> Iterator[Fact]:
        for document in snapshot.of(plural):
            try:
                yield parser(document)
            except MalformedObjectError as error:
                malformed.append(Malformed(plural, _name(document), str(error)))

    return World(
        now=snapshot.taken,
        kubernetes=snapshot.kubernetes,
        nodes={one.node.name: one for one in read("nodes", node_fact)},
        slices=tuple(read("resourceslices", slice_fact)),
        classes={one.name: one for one in read("deviceclasses", parse_class)},
        rules=tuple(read("devicetaintrules", parse_taint_rule)),
        claims={one.key: one for one in read("resourceclaims", claim_fact)},
        templates={one.key: one for one in read("resourceclaimtemplates", template_fact)},
        pods={one.key: one for one in read("pods", pod_fact)},
        quotas=tuple(one for one in read("resourcequotas", _quota) if one.hard),
        listed=frozenset(snapshot.objects),
        unseen=snapshot.unseen,
        malformed=tuple(malformed),
    )


def claim_fact(document: Document) -> ClaimFact:
    """Read a reduced ResourceClaim; raise MalformedObjectError naming the field."""
    status = mapping(document, "status")
    allocation = mapping(status, "allocation", "status.")
    devices = mapping(allocation, "devices", "status.allocation.")
    within = "status.allocation.devices."
    return ClaimFact(
        claim=Claim.parse(_identified(document)),
        devices=parse_claim(document),
        results=tuple(_result(item) for item in items(devices, "results", within)),
        allocated_at=optional_text(allocation, "allocationTimestamp", "status.allocation.") or "",
        conditions={
            api.DeviceID(*(str(item.get(key)) for key in ("driver", "pool", "device"))): tuple(
                items(item, "conditions", "status.devices[].")
            )
            for item in items(status, "devices", "status.")
        },
        changed_at=_status_written(mapping(document, "metadata")),
    )


def _status_written(metadata: Document) -> str:
    fields = items(metadata, "managedFields", "metadata.")
    times = (str(one.get("time") or "") for one in fields if one.get("subresource") == "status")
    return max(times, default="")


def template_fact(document: Document) -> api.Claim:
    """Read a reduced ResourceClaimTemplate as a claim of its name that has its spec."""
    inner = mapping(mapping(document, "spec"), "spec", "spec.")
    return parse_claim({"metadata": mapping(document, "metadata"), "spec": inner})


def pod_fact(document: Document) -> PodFact:
    """Read a reduced Pod; raise MalformedObjectError naming the field."""
    spec, status = mapping(document, "spec"), mapping(document, "status")
    extended = mapping(status, "extendedResourceClaimStatus", "status.")
    containers = (
        *items(spec, "initContainers", "spec."),
        *items(spec, "containers", "spec."),
    )
    conditions = items(status, "conditions", "status.")
    return PodFact(
        pod=Pod.parse(_identified(document)),
        containers=tuple(map(_container, containers)),
        scheduler=optional_text(spec, "schedulerName", "spec.") or "default-scheduler",
        extended=tuple(
            (str(item.get("containerName")), str(item.get("requestName")))
            for item in items(extended, "requestMappings", "status.extendedResourceClaimStatus.")
        ),
        started=optional_text(status, "startTime", "status.") or "",
        unschedulable=next(filter(_unschedulable, conditions), {}),
        document=document,
    )


def _unschedulable(condition: Document) -> bool:
    return condition.get("type") == "PodScheduled" and condition.get("status") == "False"


def _identified(document: Document) -> Document:
    """Return the object with a UID: one from a file has none yet."""
    metadata = mapping(document, "metadata")
    if metadata.get("uid") is not None:
        return document
    return {**document, "metadata": {**metadata, "uid": ""}}


def _container(document: Document) -> Container:
    name = text(document, "name", "spec.containers[].")
    resources = mapping(document, "resources", "spec.containers[].")
    claims = items(resources, "claims", "spec.containers[].resources.")
    return Container(
        name,
        tuple((str(item.get("name") or ""), str(item.get("request") or "")) for item in claims),
    )


def _result(document: Document) -> Result:
    within = "status.allocation.devices.results[]."
    consumed = mapping(document, "consumedCapacity", within)
    return Result(
        id=api.DeviceID(
            text(document, "driver", within),
            text(document, "pool", within),
            text(document, "device", within),
        ),
        request=text(document, "request", within),
        admin=document.get("adminAccess") is True,
        share=optional_text(document, "shareID", within) or "",
        consumed={name: str(value) for name, value in consumed.items()},
        tolerations=tuple(items(document, "tolerations", within)),
    )


def node_fact(document: Document) -> NodeFact:
    """Read a reduced Node; raise MalformedObjectError naming the field."""
    return NodeFact(parse_node(document), document)


def slice_fact(document: Document) -> SliceFact:
    """Read a reduced ResourceSlice; raise MalformedObjectError naming the field."""
    metadata = mapping(document, "metadata")
    created = optional_text(metadata, "creationTimestamp", "metadata.") or ""
    return SliceFact(parse_slice(document), created)


_QUOTA_SUFFIX: Final = ".deviceclass.resource.k8s.io/devices"


def _quota(document: Document) -> Quota:
    spec, status = mapping(document, "spec"), mapping(document, "status")
    return Quota(
        namespace=text(mapping(document, "metadata"), "namespace", "metadata."),
        hard=_devices(mapping(spec, "hard", "spec.")),
        used=_devices(mapping(status, "used", "status.")),
    )


def _devices(amounts: Document) -> dict[str, int]:
    """Return the entries for devices, by DeviceClass; their amounts are whole numbers."""
    return {
        name.removesuffix(_QUOTA_SUFFIX): int(str(value))
        for name, value in amounts.items()
        if name.endswith(_QUOTA_SUFFIX) and str(value).isdecimal() and len(str(value)) < 20
    }


def _name(document: Any) -> str:
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    if not isinstance(metadata, Mapping):
        return ""
    names: Iterable[Any] = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(name) for name in names if name)
