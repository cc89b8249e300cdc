"""What findings are computed from: an inventory, the objects behind it, and thresholds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dragoman.diagnosis.obstacles import UNSEEN_SECONDS
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.inventory.snapshots.documents import Document
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.inventory.usage.waiting import gated
from dragoman.model.claim import Claim
from dragoman.model.fields import NOTHING, part
from dragoman.model.timestamps import seconds
from dragoman_base.versions import Version


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Ages, in seconds, below which a state may be on its way to a better one."""

    settle: float = 300.0  # Drivers publish pools, and controllers release claims, within this time
    idle: float = 3600.0  # A claim may keep devices between two of its pods for so long
    held: float = 7 * 24 * 3600.0  # Maintenance of a device may last so long


@dataclass(frozen=True, slots=True)
class Reading:
    """What an earlier reading showed of slices."""

    taken: str  # When, as an API timestamp
    # `metadata.generation`, which counts changes, by UID of the slice.
    generations: Mapping[str, int]
    pools: frozenset[tuple[str, str]]  # Driver and node of the pools of nodes
    daemonsets: Mapping[str, frozenset[str]]  # UIDs of the DaemonSets of a driver
    ready: Mapping[str, frozenset[str]]  # Nodes with a ready plugin pod, by UID of its DaemonSet


@dataclass(frozen=True, slots=True)
class Requested:
    """A resource that was asked for in a deprecated version of resource.k8s.io."""

    version: str  # Such as `v1beta1`
    resource: str  # Plural
    clients: tuple[str, ...] = ()  # Who asked, where an audit log says so


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What is known of an upgrade beside the objects."""

    target: Version  # The version that the cluster is upgraded to
    requested: tuple[Requested, ...] = ()  # What was asked for in deprecated versions
    # Feature gates that a component of the control plane sets, by `namespace/pod`
    gates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What could not be read, by the rule that needs it
    unread: Mapping[Id, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class DoctorFacts:
    """One reading of a cluster."""

    snapshot: Snapshot  # The objects as they were read
    inventory: Inventory  # What was computed from them
    thresholds: Thresholds = field(default_factory=Thresholds)  # What is too young to be wrong
    before: Reading | None = None  # What an earlier reading showed; None where there was none
    # What commands found that takes too long for an operator, or more than it reads
    found: tuple[Finding, ...] = ()
    # What commands did not look at for these, by the rule, as a sentence
    cut: Mapping[Id, str] = field(default_factory=dict)
    upgrade: Upgrade | None = None  # What is known of an upgrade; None where no target was given

    def age(self, then: str) -> float:
        """Return the seconds since an API timestamp; 0 where it is none."""
        return seconds(self.snapshot.taken, then) or 0.0

    def read(self, plural: str) -> bool:
        """Whether a resource was listed in all namespaces."""
        return plural in self.snapshot.objects and all(
            one.plural != plural for one in self.snapshot.unseen
        )

    @cached_property
    def claims(self) -> Mapping[str, Document]:
        """Reduced ResourceClaims by `namespace/name`."""
        return _by_key(self.snapshot.of("resourceclaims"))

    @cached_property
    def templates(self) -> Mapping[str, Document]:
        """Reduced ResourceClaimTemplates by `namespace/name`."""
        return _by_key(self.snapshot.of("resourceclaimtemplates"))

    @cached_property
    def slices(self) -> Mapping[str, Document]:
        """Reduced ResourceSlices by name."""
        return _by_key(self.snapshot.of("resourceslices"))

    @cached_property
    def rules(self) -> Mapping[str, Document]:
        """Reduced DeviceTaintRules by name."""
        return _by_key(self.snapshot.of("devicetaintrules"))

    @cached_property
    def waiting(self) -> tuple[Subject, ...]:
        """What pods request that wait for a node, for longer than the order of writes explains.

        Those with scheduling gates wait for their gates.
        """
        patience = min(self.thresholds.settle, UNSEEN_SECONDS)
        world = self.inventory.world
        return tuple(
            of_pod(world, pod)
            for _, pod in sorted(world.pods.items())
            if not (pod.pod.node_name or pod.pod.done or pod.pod.metadata.deleting or gated(pod))
            and self.age(pod.pod.metadata.created) >= patience
        )

    @cached_property
    def nodes_by_driver(self) -> Mapping[str, frozenset[str]]:
        """Nodes of the pools of each driver; the empty name stands for pools of no node."""
        found: dict[str, set[str]] = {}
        for pool in self.inventory.pools.values():
            found.setdefault(pool.id.driver, set()).add(pool.node)
        return {driver: frozenset(nodes) for driver, nodes in found.items()}

    @cached_property
    def pods_by_uid(self) -> Mapping[str, PodFact]:
        """Pods that have not ended, by UID."""
        pods = self.inventory.world.pods.values()
        return {pod.pod.metadata.uid: pod for pod in pods if not pod.pod.done}

    @cached_property
    def pods_by_claim(self) -> Mapping[str, tuple[PodFact, ...]]:
        """Pods that have not ended, by `namespace/name` of the claims that they use."""
        found: dict[str, list[PodFact]] = {}
        for pod in self.inventory.world.pods.values():
            if not pod.pod.done:
                for name in pod.pod.claim_names():
                    found.setdefault(f"{pod.pod.metadata.namespace}/{name}", []).append(pod)
        return {key: tuple(pods) for key, pods in found.items()}

    def claim_subject(self, claim: Claim) -> FindingSubject:
        """Return a claim as the subject of a finding."""
        metadata = claim.metadata
        return FindingSubject(
            claim.key, "ResourceClaim", metadata.name, metadata.namespace, metadata.uid
        )

    def pool_subject(self, pool: InventoryPool, text: str = "") -> FindingSubject:
        """Return a pool, or a part of it, as a subject; Events regard the pool's first slice."""
        name = pool.slices[0].name
        uid = str(part(self.slices.get(name), "metadata").get("uid") or "")
        return FindingSubject(text or str(pool.id), "ResourceSlice", name, uid=uid)

    def node_subject(self, name: str, text: str = "") -> FindingSubject:
        """Return a node as the subject of a finding."""
        node = self.inventory.world.nodes.get(name)
        metadata = part(node.document, "metadata") if node else NOTHING
        uid = str(metadata.get("uid") or "")
        return FindingSubject(text or name, "Node", name, uid=uid, api_version="v1")


def _by_key(documents: Sequence[Document]) -> dict[str, Document]:
    found = {}
    for document in documents:
        metadata = part(document, "metadata")
        names = (metadata.get("namespace"), metadata.get("name"))
        found["/".join(str(name) for name in names if name)] = document
    return found
