"""Pods that leave the API before their containers have ended keep their claim."""

from dataclasses import replace
from typing import Any

import pytest

from dragoman.claims.actions import RecordDepartures, UpdateReservedFor
from dragoman.claims.claimfacts import ClaimFacts, ClaimPlan, LiveRead
from dragoman.claims.deallocation import plan_claim
from dragoman.claims.heartbeat import Alive, Heartbeat
from dragoman.claims.saferelease import LIMIT, MARGIN, SafeRelease
from dragoman.model.claim import Claim
from dragoman.model.departure import Departure, record, recorded, timestamp
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod
from tests.unit.dragoman.claims.objects import NAMESPACE, PodObject, claim, pod

NOW = 1_800_000_000.0
TRAINER = pod("trainer-0").on("node-4")
OTHER = pod("other").on("node-4").in_phase("Running")


def node(
    name: str = "node-4", *, ready: bool = True, since: float = 0.0, **more: Any
) -> NodeHealth:
    status = "True" if ready else "Unknown"
    condition = {"type": "Ready", "status": status, "lastTransitionTime": timestamp(since)}
    metadata = {"name": name, "uid": more.pop("uid", "node-uid"), "creationTimestamp": timestamp(0)}
    metadata |= more.pop("metadata", {})
    return NodeHealth.parse(
        {"metadata": metadata, "status": {"conditions": [condition]}, "spec": more}
    )


def departure(**more: Any) -> Departure:
    known = {"uid": TRAINER.uid, "pod": "trainer-0", "node": "node-4", "node_uid": "node-uid"}
    return Departure(**{**known, "grace": 30.0, "left": NOW, **more})


def reserved(*consumers: PodObject, allocated: float = NOW - 60, **annotations: str) -> Claim:
    made = claim("mine").on_node("node-4").reserved_for(*(consumers or (TRAINER,)))
    made = made.changed("status", "allocation", "allocationTimestamp", to=timestamp(allocated))
    for key, value in annotations.items():
        made = made.annotated(f"dragoman.dev/{key.replace('_', '-')}", value)
    return Claim.parse(made.document)


def facts(safe: SafeRelease, mine: Claim | None = None, **more: Any) -> ClaimFacts:
    """Return the facts of a claim whose pod `trainer-0` is deleted; a live read finds its node."""
    read = LiveRead("nodes", "", "node-4")
    more = {"live": {read: safe.nodes["node-4"]} if "node-4" in safe.nodes else {}, **more}
    return ClaimFacts(
        claim=mine or reserved(left_consumers=record([departure()])),
        pods={OTHER.name: Pod.parse(OTHER.document)},
        deleted={TRAINER.uid},
        safe=safe,
        **more,
    )


def safe(
    *,
    at: float,
    alive: float = 0.0,
    since: float = 0.0,
    here: NodeHealth | None = None,
    **more: Any,
) -> SafeRelease:
    """Return what is known `at` seconds after the pod left; its kubelet lived until `alive`."""
    known = {"seen": {TRAINER.uid: departure()}, "nodes": {"node-4": here or node()}}
    heartbeats = {"node-4": Alive(NOW + since, NOW + alive)}
    return SafeRelease(NOW + at, alive=heartbeats, **{**known, **more})


def releases(plan: ClaimPlan) -> bool:
    return any(isinstance(one, UpdateReservedFor) and one.deallocate for one in plan.actions)


def test_a_departure_is_recorded_before_anything_else() -> None:
    (action,) = plan_claim(facts(safe(at=0), reserved())).actions
    assert isinstance(action, RecordDepartures)
    assert recorded(action.text) == {TRAINER.uid: departure(node_uid="")}
    assert action.document()["metadata"]["resourceVersion"] == "1"


def test_a_pod_whose_containers_had_ended_frees_its_devices_at_once() -> None:
    assert releases(plan_claim(facts(safe(at=0, seen={}, ended={TRAINER.uid}), reserved())))


@pytest.mark.parametrize(
    ("at", "alive", "freed"),
    [
        (30 + MARGIN - 0.1, 100, False),
        (30 + MARGIN, 0, False),
        (3000, 30 + MARGIN - 0.1, False),
        (30 + MARGIN, 30 + MARGIN, True),
    ],
)
def test_on_a_ready_node_the_grace_period_and_then_a_sign_of_life(
    at: float, alive: float, freed: bool
) -> None:
    plan = plan_claim(facts(safe(at=at, alive=alive)))
    assert releases(plan) is freed
    assert bool(plan.left) is not freed


def test_the_time_begins_again_when_the_node_becomes_ready() -> None:
    again = node(since=NOW + 1000)
    late = 1000 + 30 + MARGIN
    assert not releases(plan_claim(facts(safe(at=late - 1, alive=late - 1, here=again))))
    assert releases(plan_claim(facts(safe(at=late, alive=late, here=again))))


def test_the_time_begins_again_when_the_kubelet_is_back() -> None:
    late = 1000 + 30 + MARGIN
    assert not releases(plan_claim(facts(safe(at=late - 1, alive=late - 1, since=1000))))
    assert releases(plan_claim(facts(safe(at=late, alive=late, since=1000))))
    assert not releases(plan_claim(facts(replace(safe(at=late), alive={}))))


def test_a_node_that_is_not_ready_keeps_the_claim_and_says_for_whom() -> None:
    plan = plan_claim(facts(safe(at=1e6, alive=1e6, here=node(ready=False))))
    (wait,) = plan.pending
    assert not plan.actions
    assert wait.message.startswith(f"waits for node-4 to end {NAMESPACE}/trainer-0: ")
    assert "out-of-service" in wait.message
    assert wait.after is None


def test_the_taint_of_a_node_that_is_out_of_service_frees_at_once() -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    assert releases(plan_claim(facts(safe(at=0, here=node(ready=False, taints=[taint])))))


def test_a_node_is_gone_only_where_the_api_server_says_so() -> None:
    read = LiveRead("nodes", "", "node-4")
    unknown = safe(at=0, nodes={})
    assert plan_claim(facts(unknown)).live_reads == (read,)
    assert releases(plan_claim(facts(unknown, live={read: None})))
    assert not releases(plan_claim(facts(unknown, live={read: node()})))


def test_another_node_of_the_same_name_frees_at_once() -> None:
    new = node(ready=False, uid="other-uid", metadata={"creationTimestamp": timestamp(NOW + 5)})
    assert releases(plan_claim(facts(safe(at=9, here=new))))


NEW = node(ready=False, uid="new", metadata={"creationTimestamp": timestamp(NOW + 5)})


def test_a_node_that_its_kubelet_registered_again_while_the_pod_ran_is_no_other() -> None:
    for known in ("seen", "missed"):
        left: dict[str, Any] = {"seen": {}, known: {TRAINER.uid: departure(node_uid="")}}
        plan = plan_claim(facts(safe(at=9, here=NEW, **left), reserved()))
        assert not releases(plan)
        assert [one.departure.node_uid for one in plan.left] == ["new"]


def test_a_node_that_was_made_anew_since_it_was_first_missed_is_another() -> None:
    mine = reserved(left_consumers=record([departure()]))
    first = {TRAINER.uid: departure()}
    assert releases(plan_claim(facts(safe(at=9, seen={}, missed=first, here=NEW), mine)))


def test_a_record_of_another_node_frees_nothing() -> None:
    forged = record([departure()]).replace('"left"', '"nodeUID":"older","left"')
    later = node(ready=False, uid="new", metadata={"creationTimestamp": timestamp(NOW + 3600)})
    plan = plan_claim(facts(safe(at=9, seen={}, here=later), reserved(left_consumers=forged)))
    assert not releases(plan)


@pytest.mark.parametrize(
    "now",
    [node(since=NOW + 85), node(ready=False)],
    ids=["Ready again since a moment", "not Ready"],
)
def test_what_is_stored_of_a_node_releases_nothing(now: NodeHealth) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    read = LiveRead("nodes", "", "node-4")
    for stored in (node(), node(taints=[taint]), NEW):
        late = safe(at=30 + MARGIN, alive=30 + MARGIN, here=stored)
        assert plan_claim(facts(late, live={})).live_reads == (read,)
        assert not releases(plan_claim(facts(late, live={read: now})))


def test_a_record_alone_never_says_where_a_pod_was() -> None:
    forged = record([departure(node="no-such-node", grace=600.0)])
    mine = replace(reserved(left_consumers=forged), node_name="")
    plan = plan_claim(facts(safe(at=1e6, seen={}), mine))
    assert not plan.actions
    assert not plan.live_reads
    assert plan.pending[0].message.startswith("waits for no-such-node to end")


@pytest.mark.parametrize(("written", "believed"), [(0.0, 600.0), (1800.0, 1800.0), (1e9, LIMIT)])
def test_a_record_only_lengthens_the_wait_and_only_up_to_the_limit(
    written: float, believed: float
) -> None:
    forged = reserved(left_consumers=record([departure(grace=written, left=NOW - 50)]))
    unseen: dict[str, Any] = {"seen": {}, "missed": {TRAINER.uid: departure(grace=600.0)}}
    early = believed + MARGIN - 1
    assert not releases(plan_claim(facts(safe(at=early, alive=early, **unseen), forged)))
    late = safe(at=believed + MARGIN, alive=believed + MARGIN, **unseen)
    (action,) = plan_claim(facts(late, forged)).actions
    if isinstance(action, RecordDepartures):  # the record is mended first
        assert recorded(action.text).get(TRAINER.uid) is None or believed != written
        (action,) = plan_claim(facts(late, reserved(left_consumers=action.text))).actions
    assert isinstance(action, UpdateReservedFor)


LONG = (
    pod("long")
    .on("node-4")
    .in_phase("Running")
    .changed("spec", "terminationGracePeriodSeconds", to=3000)
)


def running(mine: Claim, grace: int = 3000, **more: Any) -> ClaimPlan:
    """Plan for a claim that a running pod with a long grace period uses."""
    user = LONG.changed("spec", "terminationGracePeriodSeconds", to=grace)
    known = SafeRelease(NOW, nodes={"node-4": node()}, **more)
    return plan_claim(
        ClaimFacts(claim=mine, pods={LONG.name: Pod.parse(user.document)}, safe=known)
    )


def test_a_long_grace_period_is_recorded_while_the_pod_runs() -> None:
    (action,) = running(reserved(LONG)).actions
    assert isinstance(action, RecordDepartures)
    assert not recorded(action.text), "nobody waits for a pod that runs"
    done = running(reserved(LONG, left_consumers=action.text))
    assert not done.actions
    assert not done.pending
    # The next operator never saw the pod.
    unseen = SafeRelease(
        NOW + 3000 + MARGIN - 1,
        missed={LONG.uid: departure(uid=LONG.uid, pod="long", grace=600.0)},
        nodes={"node-4": node()},
        alive={"node-4": Alive(NOW, NOW + 3000 + MARGIN)},
    )
    mine = reserved(LONG, left_consumers=action.text)
    plan = plan_claim(ClaimFacts(claim=mine, deleted={LONG.uid}, safe=unseen))
    assert [one.departure.grace for one in plan.left] == [3000]


@pytest.mark.parametrize("forged", ["", "{}", record([]), record([departure()])])
def test_the_record_of_a_pod_that_runs_is_mended(forged: str) -> None:
    (action,) = running(reserved(LONG, left_consumers=forged)).actions
    assert isinstance(action, RecordDepartures)
    assert '"graceSeconds":3000' in action.text


def test_a_grace_period_that_any_operator_assumes_costs_no_write() -> None:
    assert not running(reserved(LONG), grace=600).actions


def test_a_grace_period_beyond_the_limit_is_counted_as_the_limit_and_said() -> None:
    asked = departure(grace=LIMIT, asked=1e9)
    mine = reserved(left_consumers=record([asked]))
    left: dict[str, Any] = {"seen": {TRAINER.uid: departure(grace=1e9)}}
    plan = plan_claim(facts(safe(at=0, **left), mine))
    assert "its grace period of 1e+09 s counts as 3600 s" in plan.pending[0].message
    late = LIMIT + MARGIN
    assert releases(plan_claim(facts(safe(at=late, alive=late, **left), mine)))


@pytest.mark.parametrize(("after", "freed"), [(LIMIT + MARGIN - 1, False), (LIMIT + MARGIN, True)])
def test_a_namespace_that_is_deleted_keeps_nothing_for_ever(after: float, freed: bool) -> None:
    lost = safe(at=after, here=node(ready=False), ending=NOW)
    assert releases(plan_claim(facts(lost))) is freed


def test_a_pod_that_left_unseen_counts_from_the_first_look() -> None:
    unseen = safe(at=0, seen={}, unseen_grace=600)
    (action,) = plan_claim(facts(unseen, reserved())).actions
    assert isinstance(action, RecordDepartures)
    written = recorded(action.text)[TRAINER.uid]
    assert (written.node, written.grace, written.left) == ("node-4", 600, NOW)
    missed = {TRAINER.uid: replace(written, node_uid="node-uid")}
    late = safe(at=5000, seen={}, missed=missed, alive=5000)
    assert releases(plan_claim(facts(late, reserved(left_consumers=action.text))))


def test_a_pod_that_was_never_seen_with_a_node_ran_where_its_devices_are() -> None:
    plan = plan_claim(facts(safe(at=0, seen={TRAINER.uid: departure(node="")}), reserved()))
    assert [one.departure.node for one in plan.left] == ["node-4"]


def test_a_pod_that_was_missed_for_devices_without_a_node_ran_where_its_others_are() -> None:
    missed = {TRAINER.uid: departure(node="", node_uid="")}
    plan = plan_claim(facts(safe(at=0, seen={}, missed=missed, nodes={}), reserved()))
    assert plan.live_reads == (LiveRead("nodes", "", "node-4"),)


def test_a_limit_without_end_is_waited_for() -> None:
    mine = reserved(left_consumers=record([departure(grace=1e30)]))
    endless = safe(at=0, seen={TRAINER.uid: departure(grace=1e30)}, limit=1e30)
    assert "until 9999-12-31" in plan_claim(facts(endless, mine)).pending[0].message


def test_a_claim_whose_record_is_refused_is_planned_without() -> None:
    plan = plan_claim(facts(safe(at=0, unrecorded="403 Forbidden"), reserved()))
    assert not plan.actions
    assert len(plan.left) == 1
    assert "403 Forbidden" in plan.pending[0].message
    done = safe(at=30 + MARGIN, alive=30 + MARGIN, unrecorded="403 Forbidden")
    assert releases(plan_claim(facts(done, reserved())))


class Kubelet:
    """A Lease that is looked at each two seconds, and what the looks show."""

    def __init__(self) -> None:
        self.now = NOW
        self.seen = Heartbeat(timestamp(NOW), NOW)

    def renews(self, *after: float, duration: float = 40.0, clock: float = 0.0) -> Alive | None:
        """Let it renew the Lease after some seconds each; returns what is known then."""
        for seconds in after:
            renewed = self.now + seconds
            while self.now < renewed:
                self.now += 2
                now = renewed if self.now >= renewed else self.now - 1e6
                text = timestamp(now + clock) if now == renewed else self.seen.renewed
                self.seen = self.seen.look(text, duration, self.now, self.now)
        return self.seen.alive


def test_regular_renewals_are_one_span_from_the_renewal_before_the_first_look() -> None:
    assert Kubelet().renews() is None
    assert Kubelet().renews(10) == Alive(NOW, NOW + 8)
    assert Kubelet().renews(10, 10, 20) == Alive(NOW, NOW + 38)


def test_a_silence_begins_another_span() -> None:
    assert Kubelet().renews(10, 26, 10) == Alive(NOW + 36, NOW + 44)
    assert Kubelet().renews(30) == Alive(NOW + 30, NOW + 28)


def test_longer_leases_are_renewed_less_often() -> None:
    assert Kubelet().renews(100, 100, duration=400) == Alive(NOW, NOW + 198)


def test_a_clock_that_goes_back_proves_nothing() -> None:
    assert Kubelet().renews(10, clock=-3600) == Alive(NOW + 10, NOW + 8)


@pytest.mark.parametrize(
    "forged",
    [
        record([departure(left=0.0, grace=0.0)]),
        record([departure(node="node-5", grace=0.0)]),
        "[" * 100_000,
        '[{"uid":1}]',
        '{"uid":"x"}',
        record([departure()]).replace("30.0", "-1"),
        record([departure()]).replace("30.0", "1e999"),
    ],
)
def test_a_forged_record_counts_as_none(forged: str) -> None:
    plan = plan_claim(facts(safe(at=700, alive=700, seen={}), reserved(left_consumers=forged)))
    (action,) = plan.actions
    assert isinstance(action, RecordDepartures)
    assert recorded(action.text)[TRAINER.uid].left == NOW + 700


@pytest.mark.parametrize("name", ["../node-4", "node-4?x=y", "n" * 254])
def test_a_record_with_no_name_of_a_node_counts_as_none(name: str) -> None:
    assert not recorded(record([departure(node=name)]))


def test_devices_without_a_node_stay_where_nothing_says_where_the_pod_was() -> None:
    mine = replace(reserved(), node_name="")
    mine = replace(mine, left_consumers=record([departure(node="", node_uid="")]))
    plan = plan_claim(facts(safe(at=1e6, seen={}), mine))
    assert [one.departure.node for one in plan.left] == [""]
    assert "an unknown node" in plan.pending[0].message


def test_a_live_consumer_stays_and_one_that_ended_goes_beside_one_that_left() -> None:
    ended = pod("ended").on("node-4").in_phase("Succeeded")
    mine = reserved(TRAINER, OTHER, ended, left_consumers=record([departure()]))
    given = facts(safe(at=0), mine)
    given = replace(given, pods={**given.pods, ended.name: Pod.parse(ended.document)})
    (action,) = plan_claim(given).actions
    assert isinstance(action, UpdateReservedFor)
    assert [one.name for one in action.consumers] == ["trainer-0", "other"]
    assert not action.deallocate


def test_the_record_goes_once_no_pod_is_waited_for() -> None:
    mine = reserved(OTHER, left_consumers=record([departure()]))
    (action,) = plan_claim(facts(safe(at=0), mine)).actions
    assert isinstance(action, RecordDepartures)
    assert action.document()["metadata"]["annotations"] == {"dragoman.dev/left-consumers": None}


def test_without_safe_release_the_claim_is_free_at_once() -> None:
    assert releases(plan_claim(replace(facts(safe(at=0), reserved()), safe=None)))
