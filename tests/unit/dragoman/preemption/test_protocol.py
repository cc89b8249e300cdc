"""The protocol of a preemption: which step follows which facts, also after a process ended."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from dragoman.allocation import DeviceID, profile
from dragoman.controllers.preemption.rules import ReservationRules
from dragoman.diagnosis.explain import cluster_of
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.model.metadata import Owner
from dragoman.preemption import journal as manifests
from dragoman.preemption.candidates import Candidate, Victim
from dragoman.preemption.comparison import sight_of
from dragoman.preemption.limits import PAUSE, PreemptionBudget
from dragoman.preemption.planner import PreemptionOutcome
from dragoman.preemption.policy import Policy
from dragoman.preemption.preemptionfacts import BoundPod
from dragoman.preemption.protocol import (
    PATIENCE,
    SETTLE,
    ClaimState,
    CreateReservation,
    DeleteRule,
    EvictVictim,
    Look,
    ProtocolFacts,
    RemoveJournalFinalizer,
    ReplaceClaim,
    SetStatus,
    Sight,
    Tell,
    TellVictim,
    step,
)
from dragoman.preemption.refusals import other_reason
from dragoman.preemption.reservation import (
    devices_to_reserve,
    out_of_service,
    tolerates,
    with_toleration,
)
from dragoman.preemption.stored import (
    Journal,
    Phase,
    PreemptionLimits,
    RequestedEviction,
    digest,
    timestamp,
)
from dragoman.preemption.trial import KEPT_AWAY
from tests.support.manifests import Json, claim_spec
from tests.support.worlds.inventory import DRIVER, device_class, held, pool, snapshot
from tests.support.worlds.preemption import holding, node, planned, waiting

GPU = DeviceID(DRIVER, "n", "device-0")
OTHER = DeviceID(DRIVER, "n", "device-1")
BATCH = BoundPod(
    "ns", "batch", "uid-batch", "n", grace=30, owner=Owner("apps/v1", "ReplicaSet", "b", "uid-b")
)
VICTIM = Victim(BATCH, (GPU,))
SAME = Look(Sight.SAME, (VICTIM,))
RULES = {GPU: ("rule-0", "uid-0"), OTHER: ("rule-1", "uid-1")}
JOURNAL = Journal(
    namespace="ns",
    name="uid-train",
    uid="uid-journal",
    pod="train",
    pod_uid="uid-train",
    priority=1000,
    node="n",
    victims=frozenset({digest("uid-batch")}),
    devices=(GPU, OTHER),
    created=100.0,
)
READY = replace(JOURNAL, reserved=101.0)
NOW = 101.0 + SETTLE
GONE = RequestedEviction("x", "", 102.0)


def kinds(seen: ProtocolFacts) -> list[type]:
    return [type(one) for one in step(seen).actions]


def fields(seen: ProtocolFacts) -> dict[str, object]:
    (found,) = [
        one for one in step(seen).actions if isinstance(one, SetStatus) and "endedAt" in one.fields
    ]
    return dict(found.fields)


def test_claims_tolerate_the_reservation_before_devices_are_reserved() -> None:
    missing = ClaimState("c", replacement={"metadata": {}})
    assert kinds(ProtocolFacts(JOURNAL, 100.0, claims=(missing,))) == [ReplaceClaim]
    tolerating = ClaimState("c", tolerates=True)
    assert kinds(ProtocolFacts(JOURNAL, 100.0, claims=(tolerating,))) == [
        CreateReservation,
        CreateReservation,
    ]
    half = {GPU: RULES[GPU]}
    assert step(ProtocolFacts(JOURNAL, 100.0, rules=half)).actions == (CreateReservation(OTHER),)


def test_nothing_is_evicted_before_the_plan_is_computed_again() -> None:
    assert kinds(ProtocolFacts(JOURNAL, 100.0, rules=RULES)) == [SetStatus]
    assert kinds(ProtocolFacts(READY, 101.5, rules=RULES)) == []
    found = step(ProtocolFacts(READY, NOW, rules=RULES))
    assert (found.look, found.actions) == (True, ())
    evicting = step(ProtocolFacts(READY, NOW, rules=RULES, look=SAME))
    assert [type(one) for one in evicting.actions] == [
        SetStatus,
        Tell,
        EvictVictim,
        TellVictim,
        SetStatus,
    ]
    first = evicting.actions[0]
    # What limits count is written before the eviction: a process may end between the two.
    assert isinstance(first, SetStatus)
    assert [one["pod"] for one in first.fields["evictions"]] == [digest("uid-batch")]
    assert first.fields["deadline"] == NOW + 30 + PreemptionLimits().timeout


@pytest.mark.parametrize("sight", [Sight.ROOM, Sight.UNKNOWN])
def test_without_a_reason_nothing_is_evicted(sight: Sight) -> None:
    assert step(ProtocolFacts(READY, NOW, rules=RULES, look=Look(sight))).actions == ()


def test_a_changed_plan_releases_the_devices_first() -> None:
    look = Look(Sight.CHANGED, why="other pods would have to end than planned")
    seen = ProtocolFacts(READY, NOW, rules=RULES, look=look)
    assert kinds(seen) == [SetStatus, DeleteRule, DeleteRule, RemoveJournalFinalizer]
    assert fields(seen)["phase"] == "Aborted"
    assert fields(seen)["message"] == look.why


def test_another_process_goes_on_with_the_pods_that_are_left() -> None:
    evicting = replace(READY, phase=Phase.EVICTING, evictions=(RequestedEviction("x", "", 102.0),))
    assert step(ProtocolFacts(evicting, NOW, rules=RULES)).look
    assert EvictVictim in kinds(ProtocolFacts(evicting, NOW, rules=RULES, look=SAME))
    room = step(ProtocolFacts(evicting, NOW, rules=RULES, look=Look(Sight.ROOM))).actions
    assert room == (SetStatus({"phase": "Placing"}),)
    assert (
        step(ProtocolFacts(replace(evicting, phase=Phase.PLACING), NOW, rules=RULES)).actions == ()
    )


def test_a_place_ends_it_in_every_phase() -> None:
    for phase in (Phase.RESERVING, Phase.EVICTING, Phase.PLACING):
        seen = ProtocolFacts(replace(READY, phase=phase), NOW, node="n", rules=RULES)
        assert kinds(seen) == [SetStatus, DeleteRule, DeleteRule, RemoveJournalFinalizer]
        assert fields(seen)["phase"] == "Placed"


def test_the_time_limit_counts_from_the_evictions() -> None:
    late = ProtocolFacts(READY, 100.0 + PreemptionLimits().timeout, rules=RULES)
    assert fields(late)["phase"] == "Aborted"
    done = replace(
        READY, phase=Phase.PLACING, evictions=(RequestedEviction("x", "", 102.0),), deadline=300.0
    )
    assert step(ProtocolFacts(done, 299.0, rules=RULES)).actions == ()
    assert fields(ProtocolFacts(done, 300.0, rules=RULES)) == {
        "phase": "Failed",
        "endedAt": 300.0,
        "message": "not placed within 198 s after 1 eviction",
    }


def test_a_failure_names_the_budget_that_kept_a_pod() -> None:
    budget = "Cannot evict pod as it would violate the pod's disruption budget."
    late = replace(READY, phase=Phase.EVICTING, evictions=(GONE,), message=budget, deadline=110.0)
    assert str(fields(ProtocolFacts(late, 111.0, rules=RULES))["message"]).endswith(f": {budget}")


def test_no_time_limit_is_beyond_the_longest_preemption() -> None:
    limits = PreemptionLimits(timeout=60.0, max_grace=600.0, release=10.0)
    forged = replace(READY, phase=Phase.PLACING, deadline=10.0**15, evictions=(GONE,))
    last = JOURNAL.created + 2 * 60 + 600 + 10
    assert step(ProtocolFacts(forged, last - 1, rules=RULES, limits=limits)).actions == ()
    assert fields(ProtocolFacts(forged, last, rules=RULES, limits=limits))["phase"] == "Failed"


def test_the_release_of_a_claim_has_its_time() -> None:
    seen = ProtocolFacts(READY, NOW, rules=RULES, look=SAME, limits=PreemptionLimits(release=600.0))
    first = step(seen).actions[0]
    assert isinstance(first, SetStatus)
    assert first.fields["deadline"] == NOW + 30 + 60 + 600


def test_deleting_the_object_stops_it() -> None:
    seen = ProtocolFacts(replace(READY, deleting=True), NOW, rules=RULES, look=SAME)
    assert kinds(seen) == [DeleteRule, DeleteRule, RemoveJournalFinalizer]


def test_a_claim_that_a_user_wrote_is_not_touched() -> None:
    written = ClaimState("mine", why_not="was not made from a template of the pod")
    seen = ProtocolFacts(JOURNAL, 100.0, claims=(written,))
    assert kinds(seen) == [SetStatus, RemoveJournalFinalizer]
    assert "claim mine" in str(fields(seen)["message"])


def test_other_namespaces_learn_nothing() -> None:
    foreign = Victim(replace(BATCH, namespace="web"), (GPU,))
    actions = step(
        ProtocolFacts(READY, NOW, rules=RULES, look=Look(Sight.SAME, (foreign,)))
    ).actions
    (told,) = [one for one in actions if isinstance(one, TellVictim)]
    assert "train" not in told.note
    assert "1000" not in told.note


# Journals -----------------------------------------------------------------------------------------

WORLD = (
    device_class(),
    node("n"),
    pool("n", 1),
    *holding("batch", "n", [0], owner=("ReplicaSet", "b")),
    *waiting(1),
)


def stored() -> Journal:
    made = planned(*WORLD)
    document = manifests.preempting(made, made.chosen.devices if made.chosen else (), 1)
    document["metadata"]["uid"] = "uid-journal"
    return Journal.parse(document)


def test_a_journal_is_compared_with_a_plan() -> None:
    made = planned(*WORLD, only="n")
    look = sight_of(made, stored())
    assert look.sight is Sight.SAME
    assert [one.pod.name for one in look.victims] == ["batch"]


@pytest.mark.parametrize(
    "forged",
    [{"victims": frozenset({digest("uid-of-another")})}, {"node": "other"}, {"devices": ()}],
)
def test_a_forged_journal_evicts_nothing(forged: dict[str, object]) -> None:
    made = planned(*WORLD, only="n")
    look = sight_of(made, replace(stored(), **forged))  # type: ignore[arg-type]
    assert (look.sight, look.victims) == (Sight.CHANGED, ())
    assert "batch" not in look.why


def test_a_journal_names_other_namespaces_by_digests_alone() -> None:
    made = planned(*WORLD)
    assert made.chosen is not None
    (victim,) = made.chosen.victims
    foreign = replace(victim, pod=replace(victim.pod, namespace="web", name="secret", uid="u-1"))
    found = replace(made, candidates=(replace(made.chosen, victims=(foreign,)),))
    document = manifests.preempting(found, (), 2)
    assert "secret" not in str(document)
    assert "u-1" not in str(document)
    assert document["metadata"]["name"].endswith("-2")
    assert document["spec"]["victimsElsewhere"] == 1


def test_a_pod_that_the_scheduler_places_is_no_failure() -> None:
    pod, asked = waiting(1)
    allocated = held(asked, ("n", "device-0"), pods=[pod])
    begun = replace(stored(), evictions=(GONE,))
    made = planned(device_class(), node("n"), pool("n", 1), pod, allocated, only="n")
    assert sight_of(made, begun).sight is Sight.ROOM
    promised = {**pod, "status": {**pod["status"], "nominatedNodeName": "n"}}
    made = planned(device_class(), node("n"), pool("n", 1), promised, asked, only="n")
    assert sight_of(made, begun).sight is Sight.ROOM
    assert sight_of(made, stored()).sight is Sight.CHANGED
    # It got its node between the read of the pod and that of the cluster.
    there = {**pod, "spec": {**pod["spec"], "nodeName": "n"}}
    made = planned(device_class(), node("n"), pool("n", 1), there, allocated, only="n")
    assert sight_of(made, begun).sight is Sight.ROOM


def test_no_plan_for_another_node_than_the_journals() -> None:
    made = planned(*WORLD, only="elsewhere")
    assert made.outcome is PreemptionOutcome.NONE


# Reservations -------------------------------------------------------------------------------------


def test_a_toleration_is_added_to_every_request() -> None:
    spec = claim_spec("gpu")
    spec["devices"]["requests"].append(
        {"name": "b", "firstAvailable": [{"name": "x"}, {"name": "y"}]}
    )
    assert not tolerates(spec, "u")
    made = with_toleration(spec, "u")
    assert made is not None
    assert tolerates(made, "u")
    assert not tolerates(made, "other")
    assert with_toleration(made, "u") == made
    assert "tolerations" not in str(spec)


def test_a_request_takes_sixteen_tolerations() -> None:
    spec = claim_spec("gpu")
    spec["devices"]["requests"][0]["exactly"]["tolerations"] = [{"key": f"k{n}"} for n in range(16)]
    assert with_toleration(spec, "u") is None


@pytest.mark.parametrize("at", [10.0**15, -1.0])
def test_every_time_has_a_timestamp(at: float) -> None:
    assert timestamp(at) in {"9999-12-31T23:59:59.000Z", "1970-01-01T00:00:00.000Z"}


def test_partitions_that_share_counters_are_reserved_as_well() -> None:
    takes = [{"counterSet": "gpu", "counters": {"memory": {"value": "40Gi"}}}]
    others = [{"counterSet": "else", "counters": {"memory": {"value": "40Gi"}}}]
    devices = [
        {"name": "device-0", "consumesCounters": takes},
        {"name": "device-1", "consumesCounters": takes},
        {"name": "device-2", "consumesCounters": others},
    ]
    part = pool("n", devices)
    part["spec"]["pool"]["resourceSliceCount"] = 2
    counters = pool("n", [])
    counters["metadata"]["name"] = "counters"
    counters["spec"]["pool"]["resourceSliceCount"] = 2
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [
        {"name": one, "counters": {"memory": {"value": "80Gi"}}} for one in ("gpu", "else")
    ]
    world = parse(snapshot(device_class(), node("n"), part, counters))
    cluster = cluster_of(take(world, profile("1.36")))
    found = devices_to_reserve(cluster, Candidate("n", (Victim(BATCH, (GPU,)),), (GPU,)))
    assert found == (GPU, OTHER)


def other_rule(since: float, effect: str = "NoSchedule", key: str = "maintenance") -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r", "uid": "uid-r", "creationTimestamp": timestamp(since)},
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": "n", "device": "device-0"},
            "taint": {"key": f"dragoman.dev/{key}", "value": "x", "effect": effect},
        },
    }


@pytest.mark.parametrize(
    ("rule", "devices"),
    [
        pytest.param(other_rule(JOURNAL.created + 1), (GPU,), id="a drain after the plan"),
        pytest.param(other_rule(JOURNAL.created - 1), (), id="a rule that the plan knew"),
        pytest.param(other_rule(JOURNAL.created + 1, "None"), (), id="a rule without effect"),
        pytest.param(
            other_rule(JOURNAL.created + 1, key="preemption"), (), id="another reservation"
        ),
    ],
)
def test_a_device_is_out_of_service_by_later_rules_of_others(
    rule: Json, devices: tuple[DeviceID, ...]
) -> None:
    rules = ReservationRules()
    rules.add(rule)
    assert out_of_service(rules.others, JOURNAL) == devices


def test_a_rule_that_others_labeled_as_a_reservation_drains_all_the_same() -> None:
    rule = other_rule(JOURNAL.created + 1)
    rule["metadata"]["labels"] = {"dragoman.dev/preemption": "uid-train"}
    rules = ReservationRules()
    rules.add(rule)
    assert out_of_service(rules.others, JOURNAL) == (GPU,)
    assert not rules.reserved


def test_a_rule_that_cannot_be_read_keeps_no_preemption_back() -> None:
    rules = ReservationRules()
    rules.add({**other_rule(JOURNAL.created + 1), "spec": {"taint": "x", "deviceSelector": []}})
    rules.add(other_rule(JOURNAL.created + 1))
    assert out_of_service(rules.others, JOURNAL) == (GPU,)


@pytest.mark.parametrize(
    ("phase", "evictions"),
    [(Phase.RESERVING, ()), (Phase.EVICTING, (GONE,)), (Phase.PLACING, (GONE,))],
)
def test_a_drain_wins_over_a_reservation_and_is_no_failure(
    phase: Phase, evictions: tuple[RequestedEviction, ...]
) -> None:
    journal = replace(READY, phase=phase, evictions=evictions)
    seen = ProtocolFacts(journal, NOW, rules=RULES, drained=GPU)
    assert step(seen).look
    seen = replace(seen, look=Look(Sight.CHANGED, why="no plan holds"))
    assert kinds(seen)[:3] == [SetStatus, DeleteRule, DeleteRule]
    assert fields(seen)["phase"] == Phase.ABORTED.value
    assert f"device {GPU} is taken out of service" in str(fields(seen)["message"])
    assert (Tell in kinds(seen)) == bool(evictions)
    placed, gone = replace(seen, node="n"), replace(seen, gone=True)
    assert fields(placed)["phase"] == Phase.PLACED.value
    assert Tell not in kinds(placed)
    assert Tell not in kinds(gone)


def test_a_preemption_goes_on_whose_plan_holds_without_a_drained_device() -> None:
    placing = replace(READY, phase=Phase.PLACING, evictions=(GONE,))
    seen = ProtocolFacts(placing, NOW, rules=RULES, drained=GPU, look=Look(Sight.ROOM))
    assert not kinds(seen)
    # Something else kept the pod from its place: this counts as any failure.
    assert (
        fields(replace(seen, now=placing.created + PreemptionLimits().timeout))["phase"] == "Failed"
    )
    evicting = replace(READY, phase=Phase.EVICTING)
    assert EvictVictim in kinds(ProtocolFacts(evicting, NOW, rules=RULES, drained=OTHER, look=SAME))


# Limits -------------------------------------------------------------------------------------------

PLAN = Candidate("n", (VICTIM,), (GPU,))


def ended(number: int, phase: Phase, **more: object) -> Journal:
    made = replace(JOURNAL, uid=f"u{number}", pod_uid=f"p{number}", namespace=f"ns{number}")
    return replace(made, phase=phase, ended=1000.0 + number, finalizers=(), **more)  # type: ignore[arg-type]


def refusal(
    *journals: Journal,
    limits: PreemptionLimits | None = None,
    now: float = 1100.0,
    young: Collection[str] = (),
    known: Collection[str] | None = None,
) -> str:
    budget = PreemptionBudget(journals, limits or PreemptionLimits(), now, young=frozenset(young))
    known = budget.reserved if known is None else known
    return next(budget.refusals("ns", "uid-train", PLAN, known), "")


def test_a_preemption_may_begin() -> None:
    assert refusal() == ""
    assert refusal(ended(1, Phase.PLACED)) == ""


def test_evictions_of_an_hour_are_limited() -> None:
    many = tuple(RequestedEviction(str(one), "", 500.0) for one in range(30))
    assert "30 pods in an hour" in refusal(ended(1, Phase.PLACED, evictions=many))
    assert refusal(ended(1, Phase.PLACED, evictions=many), now=500.0 + 3600) == ""


def test_a_namespace_has_a_share_of_them() -> None:
    many = tuple(RequestedEviction(str(one), "", 500.0) for one in range(10))
    assert refusal(ended(1, Phase.PLACED, evictions=many)) == ""
    own = replace(ended(1, Phase.PLACED, evictions=many), namespace="ns")
    assert "10 are the most" in refusal(own)


def test_evictions_to_come_count() -> None:
    running = replace(ended(1, Phase.RESERVING), node="m", victims=frozenset("abcdefgh"))
    many = tuple(RequestedEviction(str(one), "", 500.0) for one in range(22))
    before = ended(2, Phase.PLACED, evictions=many)
    assert "30 pods in an hour" in refusal(before, running)
    assert refusal(before) == ""


def test_three_failures_in_a_row_stop_all() -> None:
    failed = [ended(one, Phase.FAILED) for one in range(3)]
    assert "the last 3 preemptions failed" in refusal(*failed)
    assert refusal(*failed, ended(3, Phase.PLACED)) == ""
    assert refusal(*failed[:2], ended(3, Phase.ABORTED)) == ""
    assert refusal(*failed, now=1000.0 + 3602) == ""


def test_failures_of_one_namespace_stop_its_own_preemptions() -> None:
    theirs = [replace(ended(one, Phase.FAILED), namespace="theirs") for one in range(4)]
    assert refusal(*theirs) == ""
    assert PreemptionBudget(theirs, PreemptionLimits(), 1100.0).paused == {"theirs"}
    own = [replace(one, namespace="ns") for one in theirs]
    assert "the last 3 preemptions failed" in refusal(*own)
    assert refusal(*own, now=1004.0 + PAUSE) == ""


def test_two_namespaces_pause_themselves_alone() -> None:
    """A tenant may have two, and let preemptions fail as often as it likes."""
    failed = [replace(ended(n, Phase.FAILED), namespace=f"a{n % 2}") for n in range(9)]
    assert refusal(*failed) == ""
    assert PreemptionBudget(failed, PreemptionLimits(), 1100.0).paused == {"a0", "a1"}
    three = [*failed, ended(10, Phase.FAILED)]
    assert "the last 3 preemptions failed" in refusal(*three)
    assert refusal(*failed, ended(9, Phase.PLACED), ended(10, Phase.FAILED)) == ""


def test_a_pause_of_all_is_over_after_minutes_for_one_preemption_at_a_time() -> None:
    failed = [ended(one, Phase.FAILED) for one in range(3)]
    later = 1003.0 + PAUSE
    assert refusal(*failed, now=later) == ""
    running = replace(ended(4, Phase.PLACING), node="m", evictions=(GONE,), ended=0.0)
    assert "one preemption is under way at a time" in refusal(*failed, running, now=later)
    assert refusal(*failed, replace(running, phase=Phase.PLACED, ended=later), now=later) == ""


def test_victims_that_take_their_time_take_no_place_from_others() -> None:
    slow = [
        replace(ended(one, Phase.PLACING), node=f"m{one}", evictions=(GONE,)) for one in range(5)
    ]
    assert refusal(*slow) == ""


BUSY = "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
POST = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", ""),
        (BUSY + POST, ""),
        (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a, b}.",
            "",
        ),
        ('0/1 nodes are available: resourceclaim "x" not found.', ""),
        (
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. " + POST,
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            "0/1 nodes are available: 1 node(s) had no available disk. " + POST,
            "node(s) had no available disk",
        ),
        (
            "0/2 nodes are available: 1 cannot allocate all claims, 1 the rack is full.",
            "the rack is full",
        ),
        (
            f"0/2 nodes are available: 1 cannot allocate all claims, 1 {KEPT_AWAY}. " + POST,
            KEPT_AWAY,
        ),
        (
            "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity A].",
            "node(s) didn't satisfy plugin(s) [NodeAffinity A]",
        ),
    ],
)
def test_a_reason_of_another_plugin_ends_a_preemption_before_evictions(
    said: str, reason: str
) -> None:
    assert other_reason(said) == reason
    assert other_reason(said, 1) == ("" if reason == KEPT_AWAY else reason)
    seen = ProtocolFacts(READY, NOW, rules=RULES, look=SAME, said=said)
    if not reason:
        assert EvictVictim in kinds(seen)
        return
    assert kinds(seen) == []  # the scheduler may look again
    found = fields(replace(seen, now=101.0 + PATIENCE))
    assert found["phase"] == "Aborted"
    assert str(found["message"]).endswith(reason)


def test_an_eviction_that_is_refused_is_no_failure() -> None:
    journal = replace(READY, phase=Phase.EVICTING, evictions=(GONE,), deadline=200.0)
    refused = replace(journal, message="a budget allows 0 disruptions")
    assert fields(ProtocolFacts(journal, 300.0))["phase"] == "Failed"
    assert fields(ProtocolFacts(refused, 300.0))["phase"] == "Aborted"
    assert Tell in kinds(ProtocolFacts(refused, 300.0))


def test_what_was_evicted_counts_without_its_object() -> None:
    many = tuple(RequestedEviction(str(one), "uid-b", 500.0) for one in range(30))
    gone = replace(ended(1, Phase.PLACED, evictions=many), namespace="ns", pod_uid="uid-train")
    budget = PreemptionBudget((), PreemptionLimits(), 1100.0, (gone,))
    found = list(budget.refusals("ns", "uid-train", PLAN, ()))
    assert any("for pods of the namespace" in one for one in found)
    assert any("30 pods in an hour" in one for one in found)
    assert budget.attempt("uid-train") == 2
    assert budget.resting() == {"uid-b": 500.0}


def test_one_preemption_for_a_namespace_and_a_pod_and_one_that_reserves_on_a_node() -> None:
    other = replace(JOURNAL, namespace="x", pod_uid="y")
    assert "on node n" in refusal(other)
    assert refusal(replace(other, reserved=101.0)) == ""
    assert "on node n" in refusal(replace(other, reserved=101.0), known=())
    assert "for this namespace" in refusal(replace(JOURNAL, node="m", pod_uid="y"))
    assert "for the pod" in refusal(JOURNAL)
    two = [replace(ended(one, Phase.PLACING), node=f"m{one}") for one in (1, 2)]
    assert "2 preemptions are under way" in refusal(*two, young={"u1", "u2"})


def test_preemptions_that_their_tenants_hold_up_take_no_place_from_others() -> None:
    """As by claims that are created anew each time that they are replaced."""
    held = [replace(ended(one, Phase.RESERVING), node=f"m{one}") for one in range(5)]
    assert "2 preemptions are under way" in refusal(*held, young={one.uid for one in held})
    assert refusal(*held) == ""


def test_a_journal_that_others_keep_from_being_deleted_has_ended() -> None:
    held_back = replace(JOURNAL, deleting=True, finalizers=("a.example/x",))
    assert refusal(held_back) == ""
    assert not held_back.active
    assert "for the pod" in refusal(replace(JOURNAL, deleting=True))


def test_a_pod_rests_after_a_failure_and_gives_up_after_three() -> None:
    def own(number: int, phase: Phase) -> Journal:
        return replace(ended(number, phase), pod_uid="uid-train", attempt=number)

    assert "follows at 1970-01-01T00:17:41Z" in refusal(own(1, Phase.FAILED), now=1050.0)
    assert refusal(own(1, Phase.FAILED), now=1062.0) == ""
    three = [own(1, Phase.FAILED), own(2, Phase.ABORTED), own(3, Phase.ABORTED)]
    assert "3 plans for the pod" in refusal(*three, now=3000.0)
    assert PreemptionBudget(three, PreemptionLimits(), 3000.0).attempt("uid-train") == 4


def test_a_controller_that_lost_a_pod_is_spared() -> None:
    spared = Policy(resting=frozenset({digest("uid-b")}))
    assert planned(*WORLD, policy=spared).outcome is PreemptionOutcome.NONE
    young = Policy(recent=frozenset({digest("uid-b")}), min_runtime=10**9)
    assert planned(*WORLD, policy=young).outcome is PreemptionOutcome.NONE
    old = Policy(recent=frozenset({digest("uid-b")}), min_runtime=0)
    assert planned(*WORLD, policy=old).outcome is PreemptionOutcome.PLANNED
