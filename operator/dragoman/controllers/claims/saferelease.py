"""Safe release: remembers how pods left, watches nodes, and asks kubelets for a sign of life."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dragoman import metrics
from dragoman.claims import Plan, Reason
from dragoman.claims.saferelease import Left, SafeRelease
from dragoman.cluster.cluster import Cluster
from dragoman.controllers.claims.enqueue import EventHandlers, Key
from dragoman.kube.client import find
from dragoman.kube.errors import ApiError
from dragoman.kube.recent import Recent
from dragoman.kube.resources import LEASES
from dragoman.kube.store import DELETED_LIMIT
from dragoman.logs import logger
from dragoman.model import Claim, Node, Pod
from dragoman.model.departure import Departure, recorded

NODE_LEASES = "kube-node-lease"
"""Namespace of the Leases that kubelets renew, each ten seconds by default."""
POLL_INTERVAL = 2.0
"""Seconds between two looks at the Lease of a node."""

log = logger("dragoman.claims")


class SafeReleaseOptions(NamedTuple):
    """How claims are released safely.

    Attributes:
        holds: Whether claims stay reserved; otherwise a departure is only reported.
        unseen_grace: Seconds that are taken as the grace period of a pod that left unseen.
    """

    holds: bool
    unseen_grace: float = 600.0


@dataclass
class SafeReleaser:
    """What the controller knows for safe release.

    Args:
        cluster: Where pods and nodes are stored, and Leases are read.
        handlers: Whose claims are enqueued when a node changes.
        report: Called with a claim and a sentence for each departure that is only reported.
        options: Whether claims stay reserved.
        clock: Seconds since the epoch.

    Attributes:
        left: Consumers that are waited for, by key of their claim.
    """

    cluster: Cluster
    handlers: EventHandlers
    report: Callable[[Claim, str], None]
    options: SafeReleaseOptions
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        """Observe pods that leave."""
        self.left: dict[Key, tuple[Left, ...]] = {}
        self._seen: Recent[str, Departure] = Recent(DELETED_LIMIT)
        self._missed: Recent[str, float] = Recent(DELETED_LIMIT)
        self._ready_again: dict[str, float] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._alive: dict[str, float] = {}
        self._store = self.cluster.nodes.store
        self.cluster.nodes.observe(self._node_changed)
        self.cluster.pods.departed = self.pod_left

    def pod_left(self, known: Pod | None, pod: Pod) -> None:
        """Remember how a pod left the API.

        Args:
            known: The pod as it was stored; None where it was not.
            pod: The pod as it was deleted; it may have only metadata.
        """
        if known is None and not pod.entries:
            return  # deleted during an outage, and never seen
        last = known if known is not None else pod
        ended = pod.done or last.done or not last.node_name
        node = self._store.get("", last.node_name)
        departure = Departure(
            uid=pod.metadata.uid,
            pod=pod.metadata.name,
            node=last.node_name,
            node_uid=node.metadata.uid if node is not None else "",
            grace=max(last.grace, pod.grace if pod.node_name else 0.0),
            left=self.clock(),
            ended=ended,
        )
        self._seen[pod.metadata.uid] = departure
        if ended:
            return
        metrics.UNSAFE_DEPARTURES.inc()
        log.info(
            "Pod left before its containers had ended",
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            node=last.node_name,
            reason=Reason.CONTAINERS_NOT_ENDED.value,
        )
        if not self.options.holds:
            self._report(last, departure)

    def facts(self, claim: Claim) -> SafeRelease | None:
        """Return the facts for the plan of a claim; None where departures are only reported."""
        if not self.options.holds:
            return None
        now = self.clock()
        uids = [one.uid for one in claim.consumers if one.is_pod]
        nodes = {node.metadata.name: node for node in self._nodes_of(claim, uids)}
        return SafeRelease(
            now=now,
            seen={uid: self._seen[uid] for uid in uids if uid in self._seen},
            first_missed={uid: self._missed[uid] for uid in uids if uid in self._missed},
            nodes=nodes,
            alive={name: self._alive[name] for name in nodes if name in self._alive},
            unseen_grace=self.options.unseen_grace,
        )

    def planned(self, key: Key, plan: Plan | None) -> None:
        """Note the consumers that a plan waits for."""
        if plan is None or not plan.left:
            if plan is None or not plan.live_reads:
                self.left.pop(key, None)
            return
        self.left[key] = plan.left
        for one in plan.left:
            self._missed.setdefault(one.consumer.uid, one.departure.left)

    def oldest(self) -> float:
        """Return for how many seconds the oldest consumer is waited for; 0 for none."""
        left = [one.departure.left for every in self.left.values() for one in every]
        return max(0.0, self.clock() - min(left)) if left else 0.0

    async def run(self) -> None:
        """Look for signs of life of the kubelets that are waited for, until cancelled."""
        while True:
            waiting = self._waiting_nodes()
            self._leases = {name: self._leases[name] for name in waiting & self._leases.keys()}
            await asyncio.gather(*(self._look(name) for name in waiting))
            await asyncio.sleep(POLL_INTERVAL)

    def _waiting_nodes(self) -> set[str]:
        left = (one for every in self.left.values() for one in every)
        return {one.departure.node for one in left if one.asks_kubelet}

    async def _look(self, name: str) -> None:
        """Read the Lease of a node. A renewal since the last look is proof of life at that look.

        The time in the Lease is the kubelet's; only that it changes counts.
        """
        looked = self.clock()
        try:
            lease = await find(self.cluster.client, LEASES.path(NODE_LEASES, name))
        except ApiError as error:
            log.warning("Cannot read the Lease of a node", name=name, error=str(error))
            return
        spec = (lease or {}).get("spec") or {}
        renewed = str(spec.get("renewTime") or "")
        known, since = self._leases.get(name, ("", looked))
        if renewed and known and renewed != known:
            self._alive[name] = since
            self._enqueue(name)
        self._leases[name] = (renewed, looked)

    def _nodes_of(self, claim: Claim, uids: list[str]) -> Iterator[Node]:
        """Yield the nodes that consumers of a claim ran on."""
        departures = [self._seen[uid] for uid in uids if uid in self._seen]
        departures += recorded(claim.left_consumers).values()
        for name in {claim.node_name, *(one.node for one in departures)}:
            node = self._store.get("", name)
            if node is not None:
                yield self._as_observed(node)

    def _as_observed(self, node: Node) -> Node:
        """Return a node that is Ready not before it was seen to become so, whatever its clock."""
        again = self._ready_again.get(node.metadata.uid)
        return node if again is None else node.ready_not_before(again)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if old is not None and new is not None and new.ready and not old.ready:
            self._ready_again[new.metadata.uid] = self.clock()
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._ready_again.pop(old.metadata.uid, None)
        node = new if new is not None else old
        if node is not None and _state(old) != _state(new):
            self._enqueue(node.metadata.name)

    def _enqueue(self, node: str) -> None:
        for key, every in self.left.items():
            if any(one.departure.node == node for one in every):
                self.handlers.queue.add(key)

    def _report(self, pod: Pod, departure: Departure) -> None:
        namespace = pod.metadata.namespace
        for name in pod.claim_names():
            claim = self.cluster.state.claims.get(namespace, name)
            if claim is not None and claim.allocated and claim.is_reserved_for(departure.uid):
                self.report(claim, _note(namespace, departure))


def _note(namespace: str, departure: Departure) -> str:
    return (
        f"{namespace}/{departure.pod} left the API before its containers on {departure.node} had "
        "ended: its devices may be given to another pod while they still run. "
        "--safe-release prevents it with --claims=own"
    )


def _state(node: Node | None) -> Mapping[str, Any] | None:
    if node is None:
        return None
    return {"uid": node.metadata.uid, "ready": node.ready, "out": node.out_of_service}
