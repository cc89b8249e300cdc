"""Pods that leave the API before their containers have ended keep their claim."""

from dataclasses import replace
from typing import Any

import pytest

from dragoman.claims import (
    ClaimFacts,
    LiveRead,
    Plan,
    RecordDepartures,
    UpdateReservedFor,
    plan_claim,
)
from dragoman.claims.saferelease import SETTLE, SafeRelease
from dragoman.model import Claim, Node, Pod
from dragoman.model.departure import Departure, record, recorded, timestamp
from tests.unit.claims.objects import NAMESPACE, PodObject, claim, pod

NOW = 1_800_000_000.0
TRAINER = pod("trainer-0").on("node-4")
OTHER = pod("other").on("node-4").in_phase("Running")
SELECTOR = {
    "nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-4"]}]}
    ]
}


def node(name: str = "node-4", *, ready: bool = True, since: float = 0.0, **more: Any) -> Node:
    status = "True" if ready else "Unknown"
    condition = {"type": "Ready", "status": status, "lastTransitionTime": timestamp(since)}
    metadata = {"name": name, "uid": more.pop("uid", "node-uid"), "creationTimestamp": timestamp(0)}
    metadata |= more.pop("metadata", {})
    return Node.parse({"metadata": metadata, "status": {"conditions": [condition]}, "spec": more})


def departure(**more: Any) -> Departure:
    known = {"uid": TRAINER.uid, "pod": "trainer-0", "node": "node-4", "node_uid": "node-uid"}
    return Departure(**{**known, "grace": 30.0, "left": NOW, **more})


def reserved(*consumers: PodObject, **annotations: str) -> Claim:
    made = claim("mine").allocated().reserved_for(*(consumers or (TRAINER,)))
    made = made.changed("status", "allocation", "nodeSelector", to=SELECTOR)
    for key, value in annotations.items():
        made = made.annotated(f"dragoman.dev/{key.replace('_', '-')}", value)
    return Claim.parse(made.document)


def facts(safe: SafeRelease, mine: Claim | None = None, **more: Any) -> ClaimFacts:
    """Return the facts of a claim whose pod `trainer-0` is known to be deleted."""
    return ClaimFacts(
        claim=mine or reserved(left_consumers=record([departure()])),
        pods={OTHER.name: Pod.parse(OTHER.document)},
        deleted={TRAINER.uid},
        safe=safe,
        **more,
    )


def safe(*, at: float, alive: float = 0.0, here: Node | None = None, **more: Any) -> SafeRelease:
    known = {"seen": {TRAINER.uid: departure()}, "nodes": {"node-4": here or node()}}
    return SafeRelease(NOW + at, alive={"node-4": NOW + alive}, **{**known, **more})


def releases(plan: Plan) -> bool:
    return any(isinstance(one, UpdateReservedFor) and one.deallocate for one in plan.actions)


def test_a_departure_is_recorded_before_anything_else() -> None:
    (action,) = plan_claim(facts(safe(at=0), reserved())).actions
    assert isinstance(action, RecordDepartures)
    assert recorded(action.text) == {TRAINER.uid: departure()}
    assert action.document()["metadata"]["resourceVersion"] == "1"


def test_a_pod_whose_containers_had_ended_frees_its_devices_at_once() -> None:
    ended = {TRAINER.uid: departure(ended=True)}
    assert releases(plan_claim(facts(safe(at=0, seen=ended), reserved())))


@pytest.mark.parametrize(
    ("at", "alive", "freed"),
    [
        (30 + SETTLE - 0.1, 100, False),
        (30 + SETTLE, 0, False),
        (3000, 30 + SETTLE - 0.1, False),
        (30 + SETTLE, 30 + SETTLE, True),
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
    assert not releases(plan_claim(facts(safe(at=1039, alive=1039, here=again))))
    assert releases(plan_claim(facts(safe(at=1040, alive=1040, here=again))))


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


def test_a_record_that_names_another_uid_of_the_same_node_frees_nothing() -> None:
    forged = reserved(left_consumers=record([departure(node_uid="forged")]))
    assert not releases(plan_claim(facts(safe(at=9, seen={}, here=node(ready=False)), forged)))


def test_a_pod_that_left_unseen_counts_from_the_first_look() -> None:
    unseen = safe(at=0, seen={}, unseen_grace=600)
    (action,) = plan_claim(facts(unseen, reserved())).actions
    assert isinstance(action, RecordDepartures)
    written = recorded(action.text)[TRAINER.uid]
    assert (written.node, written.grace, written.left) == ("node-4", 600, NOW)
    late = safe(at=5000, seen={}, alive=5000)
    assert releases(plan_claim(facts(late, reserved(left_consumers=action.text))))


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
