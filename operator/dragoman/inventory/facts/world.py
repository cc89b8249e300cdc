"""What the inventory is computed from, parsed once from the objects of a snapshot."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import dragoman.allocation as api
from dragoman.inventory.snapshots.documents import Document
from dragoman.inventory.snapshots.snapshot import FORMAT, Unseen
from dragoman.model.claim import Claim
from dragoman.model.needs import Needs, Room
from dragoman.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod."""

    name: str  # Of the container
    # Pairs of a claim entry of the pod and a request; empty for all requests
    claims: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PodFact:
    """A pod."""

    pod: Pod  # Identity, claims and phase
    containers: tuple[Container, ...] = ()  # Init containers, then containers
    scheduler: str = "default-scheduler"  # `spec.schedulerName`.
    # Pairs of a container and a request of the claim for extended resources
    extended: tuple[tuple[str, str], ...] = ()
    started: str = ""  # `status.startTime`, empty before the kubelet has seen the pod.
    # The condition `PodScheduled` while it is False, else empty
    unschedulable: Document = field(default_factory=dict)
    needs: Needs = field(default_factory=Needs)  # What it needs of a node beside devices
    document: Document = field(default_factory=dict)  # The reduced object, for messages

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A node; `room` is what it offers beside devices, `document` the reduced object."""

    node: api.Node
    room: Room = field(default_factory=Room)
    document: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota, as far as devices and claims are concerned."""

    name: str  # Its name
    namespace: str  # Where it holds
    hard: Mapping[str, int]  # Devices allowed, by DeviceClass
    used: Mapping[str, int]  # Devices charged, by DeviceClass
    claims: tuple[int, int] | None = None  # ResourceClaims allowed and charged; None for no limit


@dataclass(frozen=True, slots=True)
class Malformed:
    """An object that does not have the shape of its API; it is left out of every computation."""

    plural: str
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class World:
    """All facts of one snapshot."""

    now: str  # When the objects were read, as an API timestamp; ages are counted from it
    kubernetes: str  # The server's version
    nodes: Mapping[str, NodeFact]  # By name
    slices: tuple[api.Slice, ...]  # All of them, also obsolete ones
    classes: Mapping[str, api.DeviceClass]  # By name
    rules: tuple[api.DeviceTaintRule, ...]  # DeviceTaintRules
    claims: Mapping[str, Claim]  # By `namespace/name`
    # Claims that a template makes, by `namespace/name` of the template
    templates: Mapping[str, api.Claim]
    pods: Mapping[str, PodFact]  # By `namespace/name`
    quotas: tuple[Quota, ...]  # With an entry for devices or claims
    listed: frozenset[str]  # Plurals that were read
    unseen: tuple[Unseen, ...]  # What could not be read
    malformed: tuple[Malformed, ...]  # What was left out
    # PodDisruptionBudgets, reduced; plans of preemption parse them
    budgets: tuple[Document, ...] = ()
    namespaces: Mapping[str, Document] = field(default_factory=dict)  # Reduced, by name
    format: int = FORMAT  # Of the snapshot; 1 lacks what plans of preemption need


def world_of(
    slices: Iterable[api.Slice],
    claims: Iterable[Claim] = (),
    rules: Iterable[api.DeviceTaintRule] = (),
) -> World:
    """Return a world of devices, without anything that uses claims."""
    return World(
        now="",
        kubernetes="",
        nodes={},
        slices=tuple(slices),
        classes={},
        rules=tuple(rules),
        claims={claim.key: claim for claim in claims},
        templates={},
        pods={},
        quotas=(),
        listed=frozenset(),
        unseen=(),
        malformed=(),
    )
