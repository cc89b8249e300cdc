"""Safe release: whether the containers of a pod that left the API may still run (ADR 17)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from dragoman.claims.heartbeat import Alive
from dragoman.model.claim import Claim, Consumer
from dragoman.model.departure import Departure, epoch, noted, timestamp
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod

MARGIN = 90.0
"""Seconds that a kubelet has after the grace period. Within them it notices a dead connection to
the API server (45 s), a Node turns not Ready whose container runtime is down (40 s), and a kubelet
whose restart went unnoticed (25 s) unprepares what its last run left (60 s)."""
LIMIT = 3600.0
"""Seconds of a grace period that are believed: users write any number, and nothing else ends it."""


@dataclass(frozen=True, slots=True)
class SafeRelease:
    """What is known of pods that left the API, and of their nodes."""

    now: float  # Seconds since the epoch
    # UIDs of pods that this process saw leave, and whose containers had ended before
    ended: Collection[str] = frozenset()
    # Other departures that this process saw, by UID of the pod
    seen: Mapping[str, Departure] = field(default_factory=dict)
    # Pods whose departure it did not see, by UID, as it first missed them; a pod that is not in it
    # is missed now
    missed: Mapping[str, Departure] = field(default_factory=dict)
    # Nodes by name, as stored: they keep a claim, and release none
    nodes: Mapping[str, NodeHealth] = field(default_factory=dict)
    # When nodes were seen to become Ready, by UID of the Node
    ready_again: Mapping[str, float] = field(default_factory=dict)
    # What is known of kubelets, by name of the node
    alive: Mapping[str, Alive] = field(default_factory=dict)
    # Seconds that are taken as the grace period of a pod that left unseen
    unseen_grace: float = 600.0
    margin: float = MARGIN  # Seconds that a kubelet has after the grace period
    limit: float = LIMIT  # Seconds of a pod's grace period that are believed
    # Since when the namespace of the claim is known to be deleted; None while it is not
    ending: float | None = None
    unrecorded: str = ""  # Why the record of the claim cannot be written; empty where it can


@dataclass(frozen=True, slots=True)
class Left:
    """A consumer that keeps its reservation although its pod left the API."""

    consumer: Consumer  # The item of `status.reservedFor`.
    departure: Departure  # How the pod left
    why: str  # What is waited for, as the second half of a sentence
    # Seconds until the next look; None where an event, or a sign of life of the kubelet, enqueues
    # the claim
    after: float | None = None
    asks_kubelet: bool = False  # Whether signs of life of the node's kubelet count

    def message(self, namespace: str) -> str:
        """Return a sentence for people."""
        return f"{self.departure.waits(namespace)}: {self.why}"


@dataclass(frozen=True, slots=True)
class ReadNode:
    """The node must be read live: a watch may lag, and only the API server knows what exists."""

    name: str


Verdict = Left | ReadNode | None
"""None where the consumer is released."""


def may_run(
    claim: Claim, consumer: Consumer, safe: SafeRelease, live_nodes: Mapping[str, NodeHealth | None]
) -> Verdict:
    """Return why the containers of a pod that left may still run; None where they do not.

    Args:
        claim: That the pod is a consumer of.
        consumer: The pod.
        safe: What is known.
        live_nodes: Results of live reads of nodes.
    """
    if not claim.allocated or consumer.uid in safe.ended:
        return None
    if safe.ending is not None and safe.now >= safe.ending + safe.limit + safe.margin:
        return None  # tenants delete no namespaces: an admin gives up what is left in it
    departure = _departure(claim, consumer, safe).within(max(safe.limit, safe.unseen_grace))
    if not (claim.node_name or (departure.node and consumer.uid in safe.seen)):
        # A node that only the record names is no proof: users of the namespace can write it.
        return Left(consumer, departure, "its devices have no node, and its departure was not seen")
    name = departure.node
    is_live, known = name in live_nodes, bool(departure.node_uid)
    node = live_nodes[name] if is_live else safe.nodes.get(name)
    if not is_live and (node is None or not known):
        return ReadNode(name)
    if node is None or node.out_of_service:
        verdict: Verdict = None
    else:
        # A kubelet can register its Node again while pods run: the first that is read is the pod's.
        departure = departure if known else replace(departure, node_uid=node.metadata.uid)
        verdict = _on_node(consumer, departure, node, safe)
    return ReadNode(name) if verdict is None and not is_live else verdict


def _on_node(
    consumer: Consumer, departure: Departure, node: NodeHealth, safe: SafeRelease
) -> Verdict:
    if node.metadata.uid != departure.node_uid:
        return None  # it was deleted since, and created again
    again = safe.ready_again.get(node.metadata.uid)
    node = node if again is None else node.ready_not_before(again)
    ready_since = epoch(node.ready_since) if node.ready else None
    if ready_since is None:
        return Left(
            consumer,
            departure,
            "the node is not Ready; delete its Node, or taint it "
            "node.kubernetes.io/out-of-service, once the machine is off",
        )
    # A Node stays Ready for a while after its kubelet stopped or was cut off, and a kubelet ends
    # the containers of pods that are gone only when it is back.
    counted = ""
    if departure.asked:
        counted = f"; its grace period of {departure.asked:g} s counts as {departure.grace:g} s"
        counted += " (--safe-release-limit)"
    why = f"until its kubelet renews the Lease of the node{counted}"
    renews = Left(consumer, departure, why, asks_kubelet=True)
    alive = safe.alive.get(departure.node)
    if alive is None:
        return renews
    ends = max(departure.left, ready_since, alive.since) + departure.grace + safe.margin
    if safe.now < ends:
        return replace(renews, why=f"until {timestamp(ends)}{counted}", after=ends - safe.now)
    return renews if alive.until < ends else None


def _departure(claim: Claim, consumer: Consumer, safe: SafeRelease) -> Departure:
    """Return how a pod left: as seen, else as missed.

    Users of the namespace may be able to write the record: it can only lengthen the wait.
    """
    seen = safe.seen.get(consumer.uid)
    if seen is not None:
        return seen if seen.node else replace(seen, node=claim.node_name)
    missed = safe.missed.get(consumer.uid)
    if missed is None:
        missed = _missed_now(claim, consumer, safe)
    if not missed.node:  # noted for another claim of the pod, whose devices have no node
        missed = replace(missed, node=claim.node_name)
    written = noted(claim.left_consumers).get(consumer.uid)
    if written is None:
        return missed
    longer = replace(
        missed,
        grace=max(written.grace, missed.grace),
        asked=max(written.asked, missed.asked),
    )
    if not written.left or not _is_possible(claim, written):
        return longer
    told = min(written.left, missed.left)
    return replace(longer, node=written.node or missed.node, told=told)


def _missed_now(claim: Claim, consumer: Consumer, safe: SafeRelease) -> Departure:
    return Departure(
        uid=consumer.uid,
        pod=consumer.name,
        node=claim.node_name,
        node_uid="",
        grace=safe.unseen_grace,
        left=safe.now,
    )


def _is_possible(claim: Claim, written: Departure) -> bool:
    created = epoch(claim.metadata.created)
    elsewhere = claim.node_name and written.node != claim.node_name
    return created is not None and written.left >= created and not elsewhere


def long_grace(claim: Claim, pod: Pod, safe: SafeRelease) -> Departure | None:
    """Return what is recorded of a pod while it runs; None where nothing has to be.

    An operator that does not see it leave assumes `unseen_grace`: only longer ones are written.
    """
    metadata = pod.metadata
    one = Departure(metadata.uid, metadata.name, claim.node_name, "", pod.grace, 0.0)
    one = one.within(max(safe.limit, safe.unseen_grace))
    return one if pod.node_name and one.grace > safe.unseen_grace else None
