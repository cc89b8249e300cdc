"""What the operator remembers of pods that leave, and of their nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from dragoman.claims import LiveRead, Plan, RecordDepartures
from dragoman.controllers.claims.enqueue import EventHandlers, Key, lane
from dragoman.controllers.claims.gather import Gatherer
from dragoman.controllers.claims.livereads import LiveReads
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.controllers.claims.saferelease import SafeReleaseOptions, SafeReleaser
from dragoman.kube.workqueue import WorkQueue
from dragoman.model import Claim, Node, Pod
from tests.support.clusters import cluster_of
from tests.unit.claims.objects import NAMESPACE, Object, claim, pod

TRAINER = pod("trainer-0").using("gpu", claim="mine").on("node-4").in_phase("Running")
MINE = claim("mine").allocated().reserved_for(TRAINER)
POD = LiveRead("pods", NAMESPACE, "trainer-0")
KEY = Key("claim", NAMESPACE, "mine")


@dataclass
class Leases:
    """A client that knows one Lease."""

    renewed: str = "1"

    async def get(self, path: str) -> Mapping[str, Any]:
        assert path.endswith("/namespaces/kube-node-lease/leases/node-4")
        return {"spec": {"renewTime": self.renewed}}


@dataclass
class Operator:
    """The claim controller's parts, without an API server."""

    holds: bool = True
    now: float = 1_800_000_000.0
    leases: Leases = field(default_factory=Leases)
    reports: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster = cluster_of(self.leases)
        self.state = self.cluster.state
        self.queue: WorkQueue[Key] = WorkQueue("claims", lane)
        other = OtherController(self.state, lambda _: None, lambda *_: None)
        handlers = EventHandlers(self.state, self.queue, other)
        handlers.observe(self.cluster)
        self.safe = SafeReleaser(
            self.cluster,
            handlers,
            lambda mine, note: self.reports.append((mine.metadata.name, note)),
            SafeReleaseOptions(self.holds),
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

    def node(self, *, ready: bool = True) -> None:
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": MADE}
        metadata = {"name": "node-4", "uid": "node-uid", "creationTimestamp": MADE}
        document = {"metadata": metadata, "status": {"conditions": [condition]}}
        self.cluster.nodes.changed(Node.parse(document))

    def plan(self) -> Plan:
        live = LiveReads({POD: Pod.parse(pod("trainer-0", uid="new").document)})
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

    async def look(self) -> None:
        await self.safe._look("node-4")


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


async def test_a_kubelet_that_renews_its_lease_after_the_deadline_frees(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    await operator.look()
    operator.leases.renewed = "2"
    await operator.look()  # alive, but before the deadline
    operator.now += 41
    assert operator.waits()
    await operator.look()
    assert operator.waits()
    operator.now += 2
    operator.leases.renewed = "3"
    await operator.look()
    assert not operator.waits()
    assert operator.safe.oldest() == 0


async def test_a_node_that_comes_back_has_the_whole_time_whatever_its_clock_says(
    operator: Operator,
) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    operator.node(ready=False)
    assert operator.waits()
    operator.now += 1000
    operator.node(ready=True)
    plan = operator.plan()
    assert plan.pending[0].after == pytest.approx(30 + 10)


async def test_only_nodes_past_the_deadline_are_asked(operator: Operator) -> None:
    operator.cluster.pods.deleted(Pod.parse(TRAINER.document))
    assert operator.waits()
    assert operator.safe._waiting_nodes() == set()
    operator.now += 41
    assert operator.waits()
    assert operator.safe._waiting_nodes() == {"node-4"}


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
