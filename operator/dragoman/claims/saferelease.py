"""Safe release: whether the containers of a pod that left the API may still run (ADR 17)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dragoman.model import Claim, Consumer, Node
from dragoman.model.departure import Departure, epoch, recorded, timestamp

SETTLE = 10.0
"""Seconds that a kubelet has beside the grace period: to see the deletion, and to unprepare."""


@dataclass(frozen=True, slots=True)
class SafeRelease:
    """What is known of pods that left the API, and of their nodes.

    Attributes:
        now: Seconds since the epoch.
        seen: Departures that this process saw, by UID of the pod.
        first_missed: When it first missed a pod whose departure it did not see, by UID; a pod that
            is not in it is missed now.
        nodes: Nodes by name.
        alive: By name of a node, the latest time after which its kubelet is known to have been
            alive, in seconds since the epoch.
        unseen_grace: Seconds that are taken as the grace period of a pod that left unseen.
    """

    now: float
    seen: Mapping[str, Departure] = field(default_factory=dict)
    first_missed: Mapping[str, float] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    alive: Mapping[str, float] = field(default_factory=dict)
    unseen_grace: float = 600.0


@dataclass(frozen=True, slots=True)
class Left:
    """A consumer that keeps its reservation although its pod left the API.

    Attributes:
        consumer: The item of `status.reservedFor`.
        departure: How the pod left.
        why: What is waited for, as the second half of a sentence.
        after: Seconds until the next look; None where an event, or a sign of life of the kubelet,
            enqueues the claim.
        asks_kubelet: Whether a sign of life of the node's kubelet is waited for.
    """

    consumer: Consumer
    departure: Departure
    why: str
    after: float | None = None
    asks_kubelet: bool = False

    def message(self, namespace: str) -> str:
        """Return a sentence for people."""
        return f"{self.departure.waits(namespace)}: {self.why}"


@dataclass(frozen=True, slots=True)
class NodeNotStored:
    """The node must be read live: only the API server knows that it does not exist."""

    name: str


Verdict = Left | NodeNotStored | None
"""None where the consumer is released."""


def may_run(
    claim: Claim, consumer: Consumer, safe: SafeRelease, missing_nodes: Mapping[str, Node | None]
) -> Verdict:
    """Return why the containers of a pod that left may still run; None where they do not.

    Args:
        claim: That the pod is a consumer of.
        consumer: The pod.
        safe: What is known.
        missing_nodes: Results of live reads of nodes that are not in `safe.nodes`.
    """
    seen = safe.seen.get(consumer.uid)
    if not claim.allocated or (seen is not None and seen.ended):
        return None
    departure = _departure(claim, consumer, safe)
    if not departure.node:
        return Left(consumer, departure, "no node is known for its devices")
    node = safe.nodes.get(departure.node)
    if node is None:
        if departure.node not in missing_nodes:
            return NodeNotStored(departure.node)
        node = missing_nodes[departure.node]
    if node is None or node.out_of_service or _is_another(node, departure):
        return None
    return _on_node(consumer, departure, node, safe)


def _on_node(consumer: Consumer, departure: Departure, node: Node, safe: SafeRelease) -> Verdict:
    ready_since = epoch(node.ready_since) if node.ready else None
    if ready_since is None:
        return Left(
            consumer,
            departure,
            "the node is not Ready; delete its Node, or taint it "
            "node.kubernetes.io/out-of-service, once the machine is off",
        )
    # A kubelet that comes back ends the containers of pods that are gone only then.
    ends = max(departure.left, ready_since) + departure.grace + SETTLE
    if safe.now < ends:
        return Left(consumer, departure, f"until {timestamp(ends)}", ends - safe.now)
    if safe.alive.get(departure.node, float("-inf")) < ends:
        # A node stays Ready for a minute after its kubelet or its network was lost.
        why = "until its kubelet renews the Lease of the node"
        return Left(consumer, departure, why, asks_kubelet=True)
    return None


def _is_another(node: Node, departure: Departure) -> bool:
    """Whether the Node was made after the pod had left: the machine was given up.

    The UID alone proves nothing, because users of the namespace can write the record.
    """
    created = epoch(node.metadata.created)
    if created is None or departure.node_uid in {"", node.metadata.uid}:
        return False
    return created >= int(departure.left)


def _departure(claim: Claim, consumer: Consumer, safe: SafeRelease) -> Departure:
    """Return how a pod left: as seen, else as recorded where that is possible, else as missed."""
    seen = safe.seen.get(consumer.uid)
    if seen is not None:
        return seen
    missed = safe.first_missed.get(consumer.uid, safe.now)
    written = recorded(claim.left_consumers).get(consumer.uid)
    if written is not None and _is_possible(claim, written):
        return replace(written, pod=consumer.name, left=min(written.left, missed))
    grace = safe.unseen_grace
    return Departure(consumer.uid, consumer.name, claim.node_name, "", grace, missed)


def _is_possible(claim: Claim, written: Departure) -> bool:
    created = epoch(claim.metadata.created)
    elsewhere = claim.node_name and written.node != claim.node_name
    return created is not None and written.left >= created and not elsewhere
