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
        needs: What it needs of a node beside devices.
        document: The reduced object, for messages.
    """

    pod: Pod
    containers: tuple[Container, ...] = ()
    scheduler: str = "default-scheduler"
    extended: tuple[tuple[str, str], ...] = ()
    started: str = ""
    unschedulable: Document = field(default_factory=dict)
    needs: Needs = field(default_factory=Needs)
    document: Document = field(default_factory=dict)

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
        budgets: PodDisruptionBudgets, reduced; plans of preemption parse them.
        namespaces: Reduced, by name.
        format: Of the snapshot; 1 lacks what plans of preemption need.
    """

    now: str
    kubernetes: str
    nodes: Mapping[str, NodeFact]
    slices: tuple[api.Slice, ...]
    classes: Mapping[str, api.DeviceClass]
    rules: tuple[api.DeviceTaintRule, ...]
    claims: Mapping[str, Claim]
    templates: Mapping[str, api.Claim]
    pods: Mapping[str, PodFact]
    quotas: tuple[Quota, ...]
    listed: frozenset[str]
    unseen: tuple[Unseen, ...]
    malformed: tuple[Malformed, ...]
    budgets: tuple[Document, ...] = ()
    namespaces: Mapping[str, Document] = field(default_factory=dict)
    format: int = FORMAT


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
