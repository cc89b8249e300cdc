"""Safe release: remembers how pods left, watches nodes, and looks for signs of life of kubelets."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dragoman import metrics, surroundings
from dragoman.claims.claimfacts import ClaimPlan
from dragoman.claims.heartbeat import LEASE_DURATION, Alive, Heartbeat
from dragoman.claims.reasons import ClaimReason
from dragoman.claims.saferelease import LIMIT, MARGIN, Left, SafeRelease
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.enqueue import EventHandlers, ObjectKey
from dragoman.kube.client import find, items
from dragoman.kube.errors import ApiError
from dragoman.kube.recent import Recent
from dragoman.kube.resources import LEASES, NAMESPACES
from dragoman.logs import logger
from dragoman.model.claim import Claim
from dragoman.model.departure import Departure, recorded
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod

NODE_LEASES = "kube-node-lease"
"""Namespace of the Leases that kubelets renew, each ten seconds by default."""
POLL_INTERVAL = 2.0
"""Seconds between two looks at the Lease of a node."""
LISTED_FROM = 32
"""Leases that are read with one list; fewer are read one by one, because nodes may be thousands."""
NAMESPACE_INTERVAL = 10.0
"""Seconds between two looks whether namespaces are deleted whose claims wait, and are deleted."""
NAMESPACES_AT_ONCE = 32
"""Namespaces of one look."""
LEFT_LIMIT = 100_000
"""Pods that left, or ended, of which this is kept."""
RECORD_RETRY = 300.0
"""Seconds after which a record that the API server refused is tried again."""

log = logger("dragoman.claims")


class SafeReleaseOptions(NamedTuple):
    """How claims are released safely."""

    holds: bool  # Whether claims stay reserved; otherwise a departure is only reported
    # Seconds that are taken as the grace period of a pod that left unseen
    unseen_grace: float = 600.0
    margin: float = MARGIN  # Seconds that a kubelet has after the grace period
    limit: float = LIMIT  # Seconds of a pod's grace period that are believed


def steady() -> Callable[[], float]:
    """Return a clock of the seconds since the epoch that no correction of the time moves."""
    started = surroundings.unix() - surroundings.monotonic()
    return lambda: started + surroundings.monotonic()


@dataclass
class SafeReleaser:
    """What the controller knows for safe release."""

    cluster: ClusterStores  # Where pods and nodes are stored, and Leases are read
    handlers: EventHandlers  # Whose claims are enqueued when a node changes
    report: Callable[[Claim, str], None]  # Called where that is all, with a sentence
    options: SafeReleaseOptions  # Whether claims stay reserved
    leading: Callable[[], bool] = lambda: True  # Whether this process leads
    clock: Callable[[], float] = field(default_factory=steady)  # Seconds since the epoch

    def __post_init__(self) -> None:
        """Observe pods that leave."""
        # Consumers that are waited for, by key of their claim
        self.left: dict[ObjectKey, tuple[Left, ...]] = {}
        self._ended: Recent[str, None] = Recent(LEFT_LIMIT)
        self._seen: Recent[str, Departure] = Recent(LEFT_LIMIT)
        self._missed: Recent[str, Departure] = Recent(LEFT_LIMIT)
        self._unrecorded: Recent[ObjectKey, tuple[str, float]] = Recent(LEFT_LIMIT)
        self._ready_again: dict[str, float] = {}
        self._heartbeats: dict[str, Heartbeat] = {}
        # Since when namespaces are known to be deleted
        self._ending: dict[str, float] = {}
        self._asked = float("-inf")
        self._store = self.cluster.nodes.store
        self.cluster.nodes.observe(self._node_changed)
        self.cluster.claims.observe(self._claim_changed)
        self.cluster.pods.departed = self.pod_left

    def pod_left(self, known: Pod | None, final: Pod | None) -> None:
        """Remember how a pod left the API.

        Args:
            known: The pod as it was stored; None where it was not.
            final: The pod as it was deleted; None, or without its claims, where nothing saw that:
                it may have got a node, and run, since it was stored.
        """
        final = final if final is not None and final.uses_claims else None
        last = final or known
        if last is None:
            return  # deleted during an outage, and never seen
        uid = last.metadata.uid
        never_ran = final is not None and not final.node_name
        if never_ran or last.done or (known is not None and known.done):
            self._ended[uid] = None
            return
        # It may have left before: a restored backup brings pods back.
        self._ended.pop(uid, None)
        self._seen[uid] = Departure(
            uid=uid,
            pod=last.metadata.name,
            node=last.node_name,
            node_uid="",
            grace=max(last.grace, known.grace if known is not None else 0.0),
            left=self.clock(),
        )
        self._tell(last, self._seen[uid])

    def facts(self, claim: Claim) -> SafeRelease | None:
        """Return the facts for the plan of a claim; None where departures are only reported."""
        if not self.options.holds:
            return None
        uids = [one.uid for one in claim.consumers if one.is_pod]
        nodes = {node.metadata.name: node for node in self._nodes_of(claim, uids)}
        return SafeRelease(
            now=self.clock(),
            ended={uid for uid in uids if uid in self._ended},
            seen={uid: self._seen[uid] for uid in uids if uid in self._seen},
            missed={uid: self._missed[uid] for uid in uids if uid in self._missed},
            nodes=nodes,
            ready_again=self._ready_again,
            alive=dict(self._alive(nodes)),
            unseen_grace=self.options.unseen_grace,
            margin=self.options.margin,
            limit=self.options.limit,
            ending=self._ending.get(claim.metadata.namespace),
            unrecorded=self._why_unrecorded(claim),
        )

    def planned(self, key: ObjectKey, plan: ClaimPlan | None) -> None:
        """Note the consumers that a plan waits for."""
        if plan is None or not plan.left:
            # The write that releases it may fail; until it is done, kubelets are looked at.
            if plan is None or not (plan.live_reads or plan.actions):
                self.left.pop(key, None)
            return
        self.left[key] = plan.left
        for one in plan.left:
            known = self._seen if one.consumer.uid in self._seen else self._missed
            before = known.get(one.consumer.uid)
            # Devices of another claim may have no node: what is known of the pod's stays.
            if before is None or one.departure.node or not before.node:
                known[one.consumer.uid] = one.departure

    def record_refused(self, key: ObjectKey, why: str) -> None:
        """Go on without the record of a claim: this process remembers how its pods left."""
        self._unrecorded[key] = (why, self.clock())

    def oldest(self) -> float:
        """Return for how many seconds the oldest consumer is waited for; 0 for none."""
        left = [one.departure.since for every in self.left.values() for one in every]
        return max(0.0, self.clock() - min(left)) if left else 0.0

    async def run(self) -> None:
        """Look for signs of life of the kubelets that are waited for, until cancelled."""
        try:
            while True:
                await self._look()
                await self._look_at_namespaces()
                await asyncio.sleep(POLL_INTERVAL)
        finally:
            # The next leader waits; what this process waited for is no metric of its own any more.
            self.left.clear()
            self._heartbeats.clear()
            self._ending.clear()

    async def _look(self) -> None:
        """Look at the Leases of the nodes that are waited for."""
        waiting = self._waiting_nodes()
        known = self._heartbeats
        self._heartbeats = {name: known[name] for name in waiting & known.keys()}
        began = self.clock()
        try:
            if len(waiting) < LISTED_FROM:
                await asyncio.gather(*(self._read_lease(name) for name in waiting))
                return
            async for lease in items(self.cluster.client, LEASES.path(NODE_LEASES)):
                if lease["metadata"]["name"] in waiting:
                    self._heard(lease["metadata"]["name"], lease, began)
        except (ApiError, KeyError, TypeError, ValueError, AttributeError) as error:
            log.warning("Cannot read the Leases of nodes", error=str(error))

    async def _look_at_namespaces(self) -> None:
        """Enqueue claims that wait in namespaces which are deleted: those end their waits."""
        now = self.clock()
        if now - self._asked < NAMESPACE_INTERVAL:
            return
        self._asked = now
        claims = self.cluster.state.claims
        waiting = {
            key.namespace
            for key in self.left
            if (claim := claims.get(key.namespace, key.name)) is not None
            and claim.metadata.deleting
        }
        self._ending = {one: since for one, since in self._ending.items() if one in waiting}
        unknown = sorted(waiting - self._ending.keys())
        surroundings.chance().shuffle(unknown)
        try:
            for name in unknown[:NAMESPACES_AT_ONCE]:
                found = await find(self.cluster.client, NAMESPACES.path(name=name)) or {}
                if (found.get("metadata") or {}).get("deletionTimestamp"):
                    self._ending[name] = now
        except ApiError as error:
            log.warning("Cannot read namespaces", error=str(error))
        for key in self.left:
            if key.namespace in self._ending:
                self.handlers.queue.add(key)

    async def _read_lease(self, name: str) -> None:
        began = self.clock()
        lease = await find(self.cluster.client, LEASES.path(NODE_LEASES, name))
        self._heard(name, lease or {}, began)

    def _heard(self, name: str, lease: Mapping[str, Any], began: float) -> None:
        """Note a Lease, and enqueue the claims that wait for its renewal."""
        spec = lease.get("spec") or {}
        renewed = str(spec.get("renewTime") or "")
        duration = float(spec.get("leaseDurationSeconds") or LEASE_DURATION)
        known = self._heartbeats.get(name)
        if known is None:
            self._heartbeats[name] = Heartbeat(renewed, began)
            return
        heartbeat = known.look(renewed, duration, began, self.clock())
        self._heartbeats[name] = heartbeat
        if heartbeat.alive != known.alive:
            self._enqueue(name, lambda one: one.after is None)

    def _waiting_nodes(self) -> set[str]:
        left = (one for every in self.left.values() for one in every)
        return {one.departure.node for one in left if one.asks_kubelet}

    def _alive(self, names: Iterable[str]) -> Iterator[tuple[str, Alive]]:
        for name in names:
            heartbeat = self._heartbeats.get(name)
            if heartbeat is not None and heartbeat.alive is not None:
                yield name, heartbeat.alive

    def _why_unrecorded(self, claim: Claim) -> str:
        why, since = self._unrecorded.get(_key(claim), ("", float("-inf")))
        return why if self.clock() - since < RECORD_RETRY else ""

    def _nodes_of(self, claim: Claim, uids: list[str]) -> Iterator[NodeHealth]:
        """Yield the nodes that consumers of a claim ran on."""
        departures = [self._seen[uid] for uid in uids if uid in self._seen]
        departures += recorded(claim.left_consumers).values()
        for name in dict.fromkeys((claim.node_name, *(one.node for one in departures))):
            node = self._store.get("", name)
            if node is not None:
                yield node

    def _node_changed(self, old: NodeHealth | None, new: NodeHealth | None) -> None:
        if old is not None and new is not None and _is_ready_again(old, new):
            # Whatever its own clock says; a list may also hide that it was not Ready in between.
            self._ready_again[new.metadata.uid] = self.clock()
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._ready_again.pop(old.metadata.uid, None)
        node = new if new is not None else old
        if node is not None and _state(old) != _state(new):
            self._enqueue(node.metadata.name, lambda _: True)

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        """Wait for nothing of a claim that is gone."""
        if old is not None and new is None:
            self.left.pop(_key(old), None)
            self._unrecorded.pop(_key(old), None)

    def _enqueue(self, node: str, which: Callable[[Left], bool]) -> None:
        for key, every in self.left.items():
            if any(one.departure.node == node and which(one) for one in every):
                self.handlers.queue.add(key)

    def _tell(self, pod: Pod, departure: Departure) -> None:
        """Count a departure, log it, and report it where that is all; followers see it too."""
        if self.leading():
            metrics.UNSAFE_DEPARTURES.inc()
        log.info(
            "Pod left before its containers had ended",
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            node=departure.node,
            reason=ClaimReason.CONTAINERS_NOT_ENDED.value,
        )
        if not self.options.holds:
            self._report(pod, departure)

    def _report(self, pod: Pod, departure: Departure) -> None:
        namespace = pod.metadata.namespace
        for name in pod.claim_names():
            claim = self.cluster.state.claims.get(namespace, name)
            if claim is not None and claim.allocated and claim.is_reserved_for(departure.uid):
                self.report(claim, _note(namespace, departure))


def _key(claim: Claim) -> ObjectKey:
    return ObjectKey("claim", claim.metadata.namespace, claim.metadata.name)


def _note(namespace: str, departure: Departure) -> str:
    where = f" on {departure.node}" if departure.node else ""
    return (
        f"{namespace}/{departure.pod} left the API before its containers{where} had "
        "ended: its devices may be given to another pod while they still run. "
        "--safe-release prevents it with --claims=own"
    )


def _is_ready_again(old: NodeHealth, new: NodeHealth) -> bool:
    return new.ready and (not old.ready or old.ready_since != new.ready_since)


def _state(node: NodeHealth | None) -> Mapping[str, Any] | None:
    if node is None:
        return None
    return {
        "uid": node.metadata.uid,
        "ready": node.ready,
        "since": node.ready_since,
        "out": node.out_of_service,
    }
