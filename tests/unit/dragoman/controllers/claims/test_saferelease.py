"""What the operator remembers of pods that leave, and of their nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dragoman.claims.actions import RecordDepartures
from dragoman.claims.claimfacts import ClaimPlan, LiveRead
from dragoman.claims.saferelease import LIMIT, MARGIN
from dragoman.controllers.claims.enqueue import EventHandlers, ObjectKey, lane
from dragoman.controllers.claims.gather import Gatherer
from dragoman.controllers.claims.livereads import LiveReads
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.controllers.claims.saferelease import SafeReleaseOptions, SafeReleaser
from dragoman.kube.workqueue import WorkQueue
from dragoman.metrics import UNSAFE_DEPARTURES
from dragoman.model.claim import LEFT_CONSUMERS_ANNOTATION, Claim
from dragoman.model.departure import Departure, record, timestamp
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod
from tests.support.clusters import cluster_of
from tests.unit.dragoman.claims.objects import NAMESPACE, Object, claim, pod

TRAINER = pod("trainer-0").using("gpu", claim="mine").on("node-4").in_phase("Running")
MINE = claim("mine").on_node("node-4").reserved_for(TRAINER)
PENDING = pod("trainer-0").using("gpu", claim="mine")
LISTED = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
POD = LiveRead("pods", NAMESPACE, "trainer-0")
MIDNIGHT = 1_800_000_000.0
KEY = ObjectKey("claim", NAMESPACE, "mine")


@dataclass
class Leases:
    """A client that knows one Lease."""

    renewed: float = MIDNIGHT
    requests: set[str] = field(default_factory=set)
    ending: bool = False  # Whether the namespace is being deleted

    async def get(self, path: str, **_: str) -> Mapping[str, Any]:
        self.requests.add(path)
        if path == f"/api/v1/namespaces/{NAMESPACE}":
            return {"metadata": {"deletionTimestamp": MADE} if self.ending else {}}
        lease = {"metadata": {"name": "node-4"}, "spec": {"renewTime": timestamp(self.renewed)}}
        if path == LISTED:
            return {"metadata": {}, "items": [lease]}
        assert path == f"{LISTED}/node-4"
        return lease


@dataclass
class Operator:
    """The claim controller's parts, without an API server."""

    holds: bool = True
    leads: bool = True
    now: float = MIDNIGHT
    leases: Leases = field(default_factory=Leases)
    reports: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster = cluster_of(self.leases)
        self.state = self.cluster.state
        self.queue: WorkQueue[ObjectKey] = WorkQueue("claims", lane)
        other = OtherController(self.state, lambda _: None, lambda *_: None)
        handlers = EventHandlers(self.state, self.queue, other)
        handlers.observe(self.cluster)
        self.safe = SafeReleaser(
            self.cluster,
            handlers,
            lambda mine, note: self.reports.append((mine.metadata.name, note)),
            SafeReleaseOptions(self.holds),
            lambda: self.leads,
            lambda: self.now,
        )
        self.gatherer = Gatherer(self.state, self.safe)
        self.see(TRAINER, MINE)
        self.node()

    def see(self, *objects: Object) -> None:
        for one in objects:
            if one.document["kind"] == "Pod":
                self.cluster.pods.changed(Pod.parse(one.document))
            else:
                self.cluster.claims.changed(Claim.parse(one.document))

    def node(
        self, *, ready: bool = True, uid: str = "node-uid", made: str = "", since: str = ""
    ) -> None:
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since or MADE}
        metadata = {"name": "node-4", "uid": uid, "creationTimestamp": made or MADE}
        document = {"metadata": metadata, "status": {"conditions": [condition]}}
        self.cluster.nodes.changed(NodeHealth.parse(document))

    def plan(self) -> ClaimPlan:
        """Plan with live reads that find another pod, and the node as it is stored."""
        replaced = Pod.parse(pod("trainer-0", uid="new").document)
        node = self.cluster.nodes.store.get("", "node-4")
        live = LiveReads({POD: replaced, LiveRead("nodes", "", "node-4"): node})
        plan = self.gatherer.plan(KEY, live)
        assert plan is not None
        return plan

    def waits(self) -> bool:
        """Plan, write what is to be recorded, and plan again; whether a pod is waited for."""
        plan = self.plan()
        if plan.actions and isinstance(plan.actions[0], RecordDepartures):
            annotations = plan.actions[0].document()["metadata"]["annotations"]
            recorded = MINE.changed("metadata", "annotations", to=annotations)
            self.see(recorded.changed("metadata", "resourceVersion", to="2"))
            plan = self.plan()
        return bool(plan.left)

    async def passes(self, seconds: float) -> None:
        """Let time pass while the kubelet is silent."""
        for _ in range(int(seconds / 2)):
            self.now += 2
            self.plan()
            await self.safe._look()

    async def beats(self, times: int) -> None:
        """Let the kubelet renew its Lease each ten seconds."""
        for _ in range(times):
            await self.passes(10)
            self.leases.renewed = self.now


LEFT = Departure(TRAINER.uid, "trainer-0", "node-4", "", 30.0, 0.0)
MADE = "2026-01-01T00:00:00Z"


@pytest.fixture
async def operator() -> Operator:
    return Operator()


async def test_a_pod_that_ended_before_it_left_is_not_waited_for(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.in_phase("Failed").document))
    assert not operator.waits()


async def test_a_pod_that_left_while_it_ran_is_waited_for(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    operator.now += 7
    assert operator.safe.oldest() == 7


async def test_a_pod_that_was_replaced_unseen_is_waited_for(operator: Operator) -> None:
    operator.see(pod("trainer-0", uid="new"))
    assert operator.waits()


async def test_a_kubelet_that_lives_on_after_the_deadline_frees(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    await operator.beats(11)
    assert operator.waits()
    await operator.passes(10)
    assert operator.waits()
    await operator.beats(2)
    assert not operator.waits()
    operator.see(
        MINE.changed("status", "reservedFor", to=[]).changed("metadata", "resourceVersion", to="3")
    )
    operator.plan()
    assert operator.safe.oldest() == 0


async def test_a_release_that_fails_is_tried_again_at_once(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    await operator.beats(20)
    assert not operator.waits()


async def test_a_node_that_comes_back_has_the_whole_time_whatever_its_clock_says(
    operator: Operator,
) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    operator.node(ready=False)
    assert operator.waits()
    operator.now += 1000
    operator.node(ready=True)
    await operator.beats(5)
    assert operator.plan().pending[0].after == pytest.approx(30 + MARGIN - 40, abs=12)


async def test_a_list_that_hides_that_a_node_was_not_ready_begins_the_time_again(
    operator: Operator,
) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    await operator.beats(8)
    operator.node(since=timestamp(MIDNIGHT - 3600))
    await operator.beats(8)
    assert operator.waits()


async def test_many_leases_are_read_with_one_list(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    (key, (left,)) = next(iter(operator.safe.left.items()))
    others = [replace(left, departure=replace(left.departure, node=f"n{n}")) for n in range(40)]
    operator.safe.left[key] = (left, *others)
    for renewed in (0, 10):
        operator.now += 10
        operator.leases.renewed = MIDNIGHT + renewed
        await operator.safe._look()
    assert operator.leases.requests == {LISTED}
    assert operator.plan().left[0].after is not None


async def test_a_change_of_the_node_enqueues_the_claims_that_wait_for_it(
    operator: Operator,
) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    operator.queue.open()
    while len(operator.queue):
        operator.queue.done(await operator.queue.get("release"))
    operator.node(ready=False)
    assert await operator.queue.get("release") == KEY


async def test_in_other_modes_the_pod_is_only_reported() -> None:
    operator = Operator(holds=False)
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert not operator.waits()
    ((name, note),) = operator.reports
    assert name == "mine"
    assert "trainer-0" in note
    assert "--claims=own" in note


async def test_a_kubelet_that_was_silent_has_the_whole_time_from_its_return(
    operator: Operator,
) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    await operator.beats(2)
    await operator.passes(145)  # the kubelet is down, its Node still Ready
    await operator.beats(12)
    assert operator.waits()
    await operator.beats(3)
    assert not operator.waits()


async def test_an_operator_without_history_counts_from_the_first_sign_of_life(
    operator: Operator,
) -> None:
    left = record([replace(LEFT, left=operator.now - 3600)])
    operator.state.pods.drop(NAMESPACE, "trainer-0", TRAINER.uid)
    operator.see(MINE.annotated(LEFT_CONSUMERS_ANNOTATION, left))
    await operator.beats(68)
    assert operator.waits()
    assert operator.safe.oldest() > 3600
    await operator.beats(4)
    assert not operator.waits()


async def test_a_pod_that_was_bound_and_deleted_during_an_outage_is_waited_for(
    operator: Operator,
) -> None:
    operator.see(PENDING)
    operator.cluster.pods.handle({"type": "DELETED", "object": TRAINER.identity()})
    (left,) = operator.plan().left
    assert (left.departure.node, left.departure.grace) == ("node-4", 30)


async def test_a_pod_that_was_bound_and_replaced_during_an_outage_is_waited_for(
    operator: Operator,
) -> None:
    operator.see(PENDING, pod("trainer-0", uid="new"))
    assert operator.waits()


async def test_a_pod_that_is_found_gone_after_it_was_seen_to_end_is_not_waited_for(
    operator: Operator,
) -> None:
    operator.see(PENDING)
    known = operator.state.pods.get(NAMESPACE, "trainer-0")
    assert known is not None
    operator.cluster.pods.deleted(Pod.parse(TRAINER.in_phase("Failed").document))
    operator.cluster.pods.missing(known)
    assert not operator.waits()


async def test_a_pod_that_never_had_a_node_is_not_waited_for(operator: Operator) -> None:
    operator.see(PENDING)
    operator.cluster.pods.deleted(Pod.parse(PENDING.document))
    assert not operator.waits()


async def test_a_record_that_cannot_be_written_is_made_up_for_by_memory(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    plan = operator.plan()
    assert isinstance(plan.actions[0], RecordDepartures)
    assert operator.safe.oldest() == 0
    assert plan.pending[0].report
    operator.now += 5
    assert operator.safe.oldest() == 5
    operator.safe.record_refused(KEY, "403 Forbidden")
    plan = operator.plan()
    assert not plan.actions
    assert "403 Forbidden" in plan.pending[0].message
    await operator.beats(15)
    assert not operator.waits()


async def test_nothing_is_waited_for_once_the_claim_is_gone(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    operator.cluster.claims.deleted(Claim.parse(MINE.document))
    assert not operator.safe.left


async def test_a_node_that_is_made_anew_after_the_first_look_frees(operator: Operator) -> None:
    operator.cluster.pods.missing(Pod.parse(PENDING.document))
    operator.node(ready=False)
    assert operator.waits()
    operator.node(ready=False, uid="new-node", made=timestamp(operator.now + 5))
    assert not operator.waits()


async def test_only_the_leader_counts_departures(operator: Operator) -> None:
    before = UNSAFE_DEPARTURES._value.get()
    operator.leads = False
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert UNSAFE_DEPARTURES._value.get() == before
    assert operator.waits()


async def test_a_pod_that_a_restored_backup_brought_back_is_waited_for(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.in_phase("Failed").document))
    operator.cluster.pods.roll_back()
    operator.see(TRAINER)
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()


@pytest.mark.parametrize("ending", [False, True])
async def test_a_namespace_that_is_deleted_ends_the_wait_for_a_lost_node(
    operator: Operator, ending: bool
) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    operator.node(ready=False)
    assert operator.waits()
    deleted = MINE.changed("metadata", "deletionTimestamp", to=MADE)
    operator.see(deleted.changed("metadata", "resourceVersion", to="4"))
    operator.leases.ending = ending
    for _ in range(3):
        operator.plan()
        await operator.safe._look_at_namespaces()
        operator.now += LIMIT + MARGIN
    assert bool(operator.plan().left) is not ending
