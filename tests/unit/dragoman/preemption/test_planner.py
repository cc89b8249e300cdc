"""What a plan respects beside priorities: claims, budgets, policies, the scheduler's own work."""

from typing import Any

import pytest

from dragoman.allocation import DeviceID, TimeBudget, TooExpensiveError, profile
from dragoman.controllers.preemption.planning import in_turn
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.model.claimcontent import parse_spec
from dragoman.model.taints import RESERVATION
from dragoman.preemption import planner
from dragoman.preemption.candidates import Why
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan
from dragoman.preemption.policy import Policy, PreemptionCode, VictimChoice
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman.preemption.reservation import rule_manifest, toleration
from dragoman.preemption.rivals import Rivals
from dragoman.preemption.spending import Spending
from tests.support.manifests import Json
from tests.support.worlds.inventory import DRIVER, claim, device_class, held, pod, pool, snapshot
from tests.support.worlds.preemption import budget, holding, node, planned, running, waiting

ONE = (device_class(), node("n"))


def victims(made: PreemptionPlan) -> list[str]:
    assert made.chosen is not None, made.refusals
    return [one.pod.name for one in made.chosen.victims]


def refusals(made: PreemptionPlan) -> dict[str, Why]:
    return {one.node: one.why for one in made.refusals}


def test_the_least_important_pods_end_and_their_devices_are_named() -> None:
    made = planned(
        *ONE,
        pool("n", 3),
        *holding("old", "n", [0], 10),
        *holding("new", "n", [1], 10, started="2026-11-22T11:00:00Z"),
        *holding("high", "n", [2], 100),
        *waiting(1),
    )
    assert made.outcome is PreemptionOutcome.PLANNED
    assert victims(made) == ["new"]
    assert made.chosen is not None
    assert [one.device for one in made.chosen.victims[0].devices] == ["device-1"]
    assert [one.device for one in made.chosen.devices] == ["device-1"]


def test_pods_without_devices_stay() -> None:
    made = planned(
        *ONE, pool("n", 1), running("web", "n"), *holding("batch", "n", [0]), *waiting(1)
    )
    assert victims(made) == ["batch"]


def test_a_shared_claim_is_released_by_all_of_its_pods() -> None:
    first, second = running("a", "n", claims={"g": "s"}), running("b", "n", 5, claims={"g": "s"})
    shared = held(claim("s"), ("n", "device-0"), pods=[first, second])
    made = planned(*ONE, pool("n", 1), first, second, shared, *waiting(1))
    assert sorted(victims(made)) == ["a", "b"]


def test_an_entry_of_reserved_for_that_names_a_foreign_uid_makes_no_victim() -> None:
    foreign = running("web", "n")
    foreign["metadata"] |= {"namespace": "other", "uid": "uid-of-web"}
    own, theirs = holding("own", "n", [0])
    forged = {"resource": "pods", "name": "web", "uid": "uid-of-web"}
    theirs["status"]["reservedFor"].append(forged)
    made = planned(*ONE, pool("n", 1), foreign, own, theirs, *waiting(1))
    assert made.outcome is PreemptionOutcome.NONE
    (refusal,) = made.refusals
    assert [one.code for one in refusal.reasons] == [PreemptionCode.SHARED]


def test_a_pod_with_an_endless_grace_period_stays() -> None:
    endless = holding("endless", "n", [0], terminationGracePeriodSeconds=10**12)
    brief = holding("brief", "n", [1], 5, terminationGracePeriodSeconds=100)
    assert victims(planned(*ONE, pool("n", 2), *endless, *brief, *waiting(1))) == ["brief"]
    made = planned(*ONE, pool("n", 1), *endless, *waiting(1))
    (refusal,) = made.refusals
    assert [one.code for one in refusal.reasons] == [PreemptionCode.GRACE]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        pytest.param(
            running("b", "n", 2000, claims={"g": "s"}), "b has priority 2000", id="higher"
        ),
        pytest.param(running("b", "m", claims={"g": "s"}), "also used by ns/b", id="elsewhere"),
    ],
)
def test_a_claim_that_an_unremovable_pod_uses_too_is_never_released(other: Any, words: str) -> None:
    first = running("a", "n", claims={"g": "s"})
    shared = held(claim("s"), ("n", "device-0"), pods=[first, other])
    made = planned(*ONE, node("m"), pool("n", 1), first, other, shared, *waiting(1))
    assert made.outcome is PreemptionOutcome.NONE
    (found,) = [one for one in made.refusals if one.node == "n"]
    assert found.why is Why.SPARED
    assert words in found.reasons[0].text


@pytest.mark.parametrize(
    ("more", "policy", "code"),
    [
        ({"priority": 2 * 10**9}, Policy(), None),
        ({"owner": ("DaemonSet", "agent")}, Policy(), PreemptionCode.DAEMON),
        (
            {"annotations": {"dragoman.dev/preemptible": "false"}},
            Policy(),
            PreemptionCode.ANNOTATION,
        ),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, Policy(), PreemptionCode.MIRROR),
        ({"schedulingGroup": {"podGroupName": "gang"}}, Policy(), PreemptionCode.GROUP),
        (
            {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}},
            Policy(),
            PreemptionCode.GROUP,
        ),
        ({}, Policy(protected=("ns",)), PreemptionCode.NAMESPACE),
        ({}, Policy(select=VictimChoice.OPTED_IN), PreemptionCode.NOT_OPTED_IN),
        ({"priority": 95}, Policy(min_gap=10), PreemptionCode.HIGHER),
    ],
)
def test_some_pods_never_end_for_another(
    more: dict[str, Any], policy: Policy, code: PreemptionCode | None
) -> None:
    made = planned(*ONE, pool("n", 1), *holding("x", "n", [0], **more), *waiting(1), policy=policy)
    assert made.outcome is PreemptionOutcome.NONE
    (found,) = made.refusals
    # That a pod has a higher priority is no rule that could be changed.
    assert [one.code for one in found.reasons] == ([code] if code else [])


def test_a_namespace_may_keep_its_pods() -> None:
    space = {
        "kind": "Namespace",
        "metadata": {"name": "ns", "annotations": {"dragoman.dev/preemptible": "false"}},
    }
    made = planned(*ONE, space, pool("n", 1), *holding("x", "n", [0]), *waiting(1))
    assert made.refusals[0].reasons[0].code is PreemptionCode.ANNOTATION
    agreed = {**space["metadata"], "annotations": {"dragoman.dev/preemptible": "true"}}  # type: ignore[dict-item]
    made = planned(
        *ONE,
        {**space, "metadata": agreed},
        pool("n", 1),
        *holding("x", "n", [0]),
        *waiting(1),
        policy=Policy(select=VictimChoice.OPTED_IN),
    )
    assert victims(made) == ["x"]


def test_a_violated_budget_ends_no_pod() -> None:
    web = {"app": "web"}
    cluster = (*ONE, pool("n", 1), *holding("x", "n", [0], labels=web), *waiting(1))
    made = planned(*cluster, budget("web", web, 0))
    assert made.outcome is PreemptionOutcome.NONE
    assert made.refusals[0].why is Why.BUDGET
    assert made.refusals[0].details == ("PodDisruptionBudget ns/web allows 0 disruptions",)
    assert victims(planned(*cluster, budget("web", web, 1))) == ["x"]


def test_pods_that_the_eviction_api_refuses_stay_where_others_do() -> None:
    web = {"app": "web", "tier": "x"}
    made = planned(
        *ONE,
        pool("n", 2),
        *holding("a", "n", [0], labels=web, started="2026-11-22T11:00:00Z"),
        *holding("b", "n", [1]),
        *waiting(1),
        budget("web", {"app": "web"}, 1),
        budget("tier", {"tier": "x"}, 1),
    )
    assert victims(made) == ["b"]


def test_a_budget_without_selector_terms_counts_every_pod() -> None:
    made = planned(*ONE, pool("n", 1), *holding("x", "n", [0]), *waiting(1), budget("all", {}, 0))
    assert refusals(made) == {"n": Why.BUDGET}


def test_a_disruption_that_is_counted_already_is_not_counted_again() -> None:
    web = {"app": "web"}
    counted = budget("web", web, 0)
    counted["status"] |= {"disruptedPods": {"x": "2026-11-22T11:00:00Z"}, "desiredHealthy": 1}
    cluster = (*ONE, pool("n", 1), *holding("x", "n", [0], labels=web), *waiting(1))
    assert victims(planned(*cluster, counted)) == ["x"]


def test_pods_that_end_already_are_waited_for() -> None:
    ending = holding("x", "n", [0], 1000)
    ending[0]["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:30Z"
    made = planned(*ONE, pool("n", 1), *ending, *waiting(1))
    assert made.outcome is PreemptionOutcome.WAITS
    assert made.chosen is not None
    assert [one.name for one in made.chosen.ending] == ["x"]


def test_the_schedulers_own_preemption_is_left_to_it() -> None:
    busy = running("busy", "n")
    busy["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": "64"}
    hungry = waiting(1)
    hungry[0]["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": "1"}
    made = planned(*ONE, pool("n", 1), busy, *hungry)
    assert made.outcome is PreemptionOutcome.SCHEDULER
    # Where devices are in use as well, the scheduler removes no pod at all.
    both = planned(*ONE, pool("n", 1), busy, *holding("x", "n", [0]), *hungry)
    assert sorted(victims(both)) == ["busy", "x"]


def test_a_pod_that_fits_needs_no_plan() -> None:
    assert planned(*ONE, pool("n", 1), *waiting(1)).outcome is PreemptionOutcome.FITS


def test_a_node_that_the_scheduler_leaves_out_is_none() -> None:
    tainted = node("n")
    tainted["spec"] = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    made = planned(device_class(), tainted, pool("n", 1), *holding("x", "n", [0]), *waiting(1))
    assert refusals(made) == {"n": Why.FILTERED}
    assert refusals(planned(*ONE, pool("n", 1), *waiting(2))) == {"n": Why.NO_VICTIM}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"preemptionPolicy": "Never"}, PreemptionCode.NEVER),
        ({"priority": 0}, PreemptionCode.PRIORITY),
        ({"schedulerName": "other"}, PreemptionCode.SCHEDULER),
        ({"schedulingGates": [{"name": "g"}]}, PreemptionCode.GATED),
    ],
)
def test_some_pods_may_not_preempt(change: dict[str, Any], code: PreemptionCode) -> None:
    found = waiting(1)
    found[0]["spec"] |= change
    made = planned(*ONE, pool("n", 1), *holding("x", "n", [0]), *found)
    assert made.outcome is PreemptionOutcome.INELIGIBLE
    assert made.reasons[0].code is code


def test_what_is_not_simulated_is_reported_and_nothing_else() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    made = planned(*ONE, pool("n", 1), *holding("x", "n", [0]), *waiting(1, volumes=volumes))
    assert made.outcome is PreemptionOutcome.PLANNED
    assert [one.text for one in made.only_reported] == [
        "the pod has volumes, which are not simulated"
    ]
    token = [{"name": "t", "projected": {"sources": []}}]
    made = planned(*ONE, pool("n", 1), *holding("x", "n", [0]), *waiting(1, volumes=token))
    assert not made.only_reported


@pytest.mark.parametrize("label", ["managed", "podset", "queue-name", "pod-group-name"])
def test_plans_for_pods_of_kueue_are_only_reported(label: str) -> None:
    labels = {f"kueue.x-k8s.io/{label}": "x"}
    made = planned(*ONE, pool("n", 1), *holding("x", "n", [0]), *waiting(1, labels=labels))
    assert made.outcome is PreemptionOutcome.PLANNED
    assert [one.code for one in made.only_reported] == [PreemptionCode.KUEUE]


def test_a_plan_has_a_limit_of_victims() -> None:
    pods = [one for index in range(3) for one in holding(f"p{index}", "n", [index])]
    made = planned(*ONE, pool("n", 3), *pods, *waiting(3), policy=Policy(max_victims=2))
    assert refusals(made) == {"n": Why.TOO_MANY}


def test_a_search_that_is_too_large_names_no_victim() -> None:
    made = planned(
        *ONE, pool("n", 1), *holding("x", "n", [0]), *waiting(1), spending=Spending(calls=3)
    )
    assert made.outcome is PreemptionOutcome.UNKNOWN
    assert not made.complete


def test_devices_of_several_nodes_are_no_reason_to_end_a_pod() -> None:
    everywhere = pool("n", 1)
    del everywhere["spec"]["nodeName"]
    everywhere["spec"]["allNodes"] = True
    made = planned(*ONE, everywhere, *holding("x", "n", [0]), *waiting(1))
    assert refusals(made) == {"n": Why.NETWORK}


def test_partitions_come_free_with_their_counters() -> None:
    counters = [{"name": "gpu", "counters": {"memory": {"value": "80Gi"}}}]
    takes = [{"counterSet": "gpu", "counters": {"memory": {"value": "40Gi"}}}]
    whole = [{"counterSet": "gpu", "counters": {"memory": {"value": "80Gi"}}}]
    devices = [
        {"name": "device-0", "consumesCounters": takes},
        {"name": "device-1", "consumesCounters": takes},
        {"name": "device-2", "consumesCounters": whole, "attributes": {"all": {"bool": True}}},
    ]
    first = pool("n", devices, resourceSliceCount=2)
    second = pool("n", [], part=1, resourceSliceCount=2)
    second["spec"].pop("devices")
    second["spec"]["sharedCounters"] = counters
    found = waiting(1)
    selector = {"cel": {"expression": f'has(device.attributes["{DRIVER}"].all)'}}
    found[1]["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [selector]
    half = holding("half", "n", [0])
    made = planned(*ONE, first, second, *half, *found)
    # The partition that is held is another device: its counters are what is missing.
    assert victims(made) == ["half"]
    assert made.chosen is not None
    assert [one.device for one in made.chosen.devices] == ["device-2"]


def test_shares_come_free_one_by_one() -> None:
    device = {
        "name": "device-0",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "80Gi"}},
    }
    share = {"consumedCapacity": {"memory": "40Gi"}}
    pods = []
    for index, priority in enumerate((10, 20)):
        user = running(f"p{index}", "n", priority, claims={"g": f"c{index}"})
        more = {**share, "shareID": f"00000000-0000-4000-8000-00000000000{index}"}
        pods += [user, held(claim(f"c{index}"), ("n", "device-0"), pods=[user], **more)]
    found = waiting(1)
    capacity = {"requests": {"memory": "40Gi"}}
    found[1]["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = capacity
    assert victims(planned(*ONE, pool("n", [device]), *pods, *found)) == ["p0"]


def test_alternatives_are_taken_in_their_order() -> None:
    found = waiting(1)
    names = [("two", 2), ("one", 1)]
    found[1]["spec"]["devices"]["requests"][0] = {
        "name": "r",
        "firstAvailable": [
            {"name": name, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
            for name, count in names
        ],
    }
    pods = [*holding("a", "n", [0]), *holding("b", "n", [1], 10)]
    # Without any pod the first alternative would do; the second one spares a pod.
    assert victims(planned(*ONE, pool("n", 2), *pods, *found)) == ["a"]


def test_admin_access_holds_nothing() -> None:
    watcher = running("watch", "n", claims={"g": "admin"})
    admin = held(
        claim("admin", adminAccess=True), ("n", "device-0"), pods=[watcher], adminAccess=True
    )
    made = planned(*ONE, pool("n", 1), watcher, admin, *holding("x", "n", [0]), *waiting(1))
    assert victims(made) == ["x"]


def test_a_claim_of_the_pod_itself_stays_with_those_who_share_it() -> None:
    found = waiting(1)
    found[0]["spec"]["resourceClaims"].append({"name": "s", "resourceClaimName": "shared"})
    neighbor = running("neighbor", "n", claims={"g": "shared"})
    shared = held(claim("shared"), ("n", "device-0"), pods=[neighbor])
    made = planned(*ONE, pool("n", 2), neighbor, shared, *holding("x", "n", [1]), *found)
    assert victims(made) == ["x"]


def test_promises_to_more_important_pods_count() -> None:
    def cpu(one: Any, cores: int) -> Any:
        one["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": str(cores)}
        return one

    promised = cpu(waiting(1, 200, "first")[0], 60)
    promised["spec"].pop("resourceClaims")
    promised["status"]["nominatedNodeName"] = "n"
    found = waiting(1)
    cpu(found[0], 10)
    cluster = (*ONE, pool("n", 1), *holding("x", "n", [0]), *found)
    assert victims(planned(*cluster)) == ["x"]
    assert planned(*cluster, promised).outcome is PreemptionOutcome.NONE


def test_room_that_another_preemption_makes_is_taken_whatever_the_priority() -> None:
    first = waiting(1, 50, "first")[0]
    first["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": "60"}
    found = waiting(1)
    found[0]["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": "10"}
    cluster = (*ONE, pool("n", 1), *holding("x", "n", [0]), *found, first)
    assert victims(planned(*cluster)) == ["x"]
    policy = Policy(promised={"uid-of-ns-first": "n"})
    assert planned(*cluster, policy=policy).outcome is PreemptionOutcome.NONE
    assert victims(planned(*cluster, policy=Policy(promised={"uid-of-ns-first": "m"}))) == ["x"]


def test_a_victim_may_end_alone_although_its_budget_does_not_allow_the_end_of_all() -> None:
    # Default preemption counts the budget down for both, and calls the second one violating.
    made = planned(
        *ONE,
        pool("n", 3),
        *holding("high", "n", [0], 10, labels={"app": "a"}),
        *holding("low", "n", [1, 2], 5, labels={"app": "a"}),
        budget("b", {"app": "a"}, 1),
        *waiting(2),
    )
    assert victims(made) == ["low"]


def test_a_pod_that_is_not_ready_may_be_evicted_where_its_budget_always_allows_that() -> None:
    always = budget("b", {"app": "a"}, 0)
    always["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    given = [
        *(*ONE, pool("n", 1), *holding("x", "n", [0], labels={"app": "a"})),
        *waiting(1),
    ]
    assert planned(*given, always).outcome is PreemptionOutcome.PLANNED
    assert planned(*given, budget("b", {"app": "a"}, 0)).outcome is PreemptionOutcome.NONE


def test_budgets_of_tenants_cannot_take_more_than_the_time() -> None:
    users = [running(f"u{index}", "n", labels={"app": str(index)}) for index in range(40)]
    values = [f"v{index}" for index in range(1000)]
    many = [budget(f"b{index}", {"app": "none"}, 1) for index in range(300)]
    for one in many:
        expression = {"key": "app", "operator": "NotIn", "values": values}
        one["spec"]["selector"] = {"matchExpressions": [expression]}
    ticks = iter(range(10**9))
    with pytest.raises(TooExpensiveError), TimeBudget(2_000, clock=lambda: next(ticks)):
        planned(*ONE, pool("n", 1), *users, *many, *waiting(2))


def test_nodes_that_no_selector_matches_spend_time_as_well() -> None:
    nodes = [node(f"n{index}") for index in range(300)]
    waits = waiting(1, nodeSelector={"zone": "none"})
    ticks = iter(range(10**9))
    with pytest.raises(TooExpensiveError), TimeBudget(200, clock=lambda: next(ticks)):
        planned(device_class(), *nodes, *waits)


@pytest.mark.parametrize("name", ["a", "z"])
def test_pods_that_end_already_are_waited_for_on_any_node(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "LEAST", 1)
    ends = holding("ends", name, [0])
    ends[0]["metadata"]["deletionTimestamp"] = "2026-11-22T10:00:00Z"
    others = [
        one
        for index in range(4)
        for one in (
            node(f"n{index}"),
            pool(f"n{index}", 1),
            *holding(f"x{index}", f"n{index}", [0]),
        )
    ]
    made = planned(device_class(), node(name), pool(name, 1), *ends, *others, *waiting(1))
    assert made.outcome is PreemptionOutcome.WAITS


def test_pods_alike_share_what_they_request_although_each_tolerates_its_own_reservation() -> None:
    def subject(uid: str, *more: Json) -> Subject:
        made = waiting(1)
        exactly = made[1]["spec"]["devices"]["requests"][0]["exactly"]
        exactly["tolerations"] = [toleration(uid)]
        world = parse(snapshot(*ONE, pool("n", 1), *made, *more))
        return of_pod(world, world.pods["ns/train"])

    world = parse(snapshot(*ONE, pool("n", 1), *waiting(1)))
    plain = of_pod(world, world.pods["ns/train"]).claims[0].spec
    own = world.pods["ns/train"].pod.metadata.uid
    assert subject(own).claims[0].spec is plain
    assert subject("of-another").claims[0].spec is not plain
    # Users write the key wherever they like.
    for devices in (None, {}, {"config": [{"opaque": {"driver": RESERVATION}}]}):
        assert parse_spec({"devices": devices}).plain is None
    reserved = rule_manifest("resource.k8s.io/v1beta2", DeviceID(DRIVER, "n", "device-0"), own)
    (request,) = subject(own, reserved).claims[0].spec.requests
    assert request.exactly is not None
    assert [one.value for one in request.exactly.tolerations] == [own]


def apart(labels: Json, **more: Any) -> Json:
    """Return required anti-affinity to pods with labels."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{**term, **more}]}
    return {"podAntiAffinity": terms}


@pytest.mark.parametrize(
    ("affinity", "mate", "outcome"),
    [
        pytest.param(apart({"x": "y"}), 1000, PreemptionOutcome.NONE, id="it stays"),
        pytest.param(apart({"x": "y"}), 0, PreemptionOutcome.PLANNED, id="it ends"),
        pytest.param(apart({"x": "z"}), 1000, PreemptionOutcome.PLANNED, id="other pods"),
        pytest.param(
            apart({"x": "y"}, namespaces=["b"]), 1000, PreemptionOutcome.PLANNED, id="elsewhere"
        ),
        pytest.param(
            apart({"x": "y"}, namespaceSelector={}), 1000, PreemptionOutcome.NONE, id="everywhere"
        ),
        pytest.param(
            apart({"x": "y"}, topologyKey="zone"), 1000, PreemptionOutcome.PLANNED, id="no zone"
        ),
    ],
)
def test_a_pod_that_keeps_the_waiting_one_away_is_no_reason_to_evict_others(
    affinity: Json, mate: int, outcome: PreemptionOutcome
) -> None:
    made = planned(
        *ONE,
        pool("n", 1),
        *holding("batch", "n", [0]),
        running("mate", "n", mate, affinity=affinity),
        *waiting(1, labels={"x": "y"}),
    )
    assert made.outcome is outcome
    if made.chosen is not None and mate == 0:
        assert sorted(victims(made)) == ["batch", "mate"]


@pytest.mark.parametrize(
    ("volume", "reported"),
    [
        ({"configMap": {"name": "c"}}, False),
        ({"emptyDir": {}}, False),
        ({"rbd": {"monitors": ["m"], "image": "i", "pool": "p"}}, True),
        ({"iscsi": {"iqn": "i"}}, True),
        ({"persistentVolumeClaim": {"claimName": "c"}}, True),
        ({"ofTheFuture": {"name": "c"}}, True),
    ],
)
def test_only_volumes_that_are_known_to_be_harmless_let_pods_end(
    volume: Json, reported: bool
) -> None:
    pods = waiting(1, volumes=[{"name": "v", **volume}])
    made = planned(*ONE, pool("n", 1), *holding("batch", "n", [0]), *pods)
    assert made.outcome is PreemptionOutcome.PLANNED
    codes = [one.code for one in made.only_reported]
    assert codes == [PreemptionCode.NOT_COMPUTED] * reported


def thief(number: int, tolerations: list[Json], *, admin: bool = False) -> list[Json]:
    """Make a pod of another namespace that waits for a device."""
    made = pod(f"thief-{number}", "theirs", claims={"gpu": f"thief-{number}"})
    wanted = claim(f"thief-{number}", namespace="theirs")
    wanted["spec"]["devices"]["requests"][0]["exactly"] |= {"tolerations": tolerations}
    if admin:
        wanted["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    return [made, wanted]


EVERY: Json = {"operator": "Exists"}


@pytest.mark.parametrize(
    ("tolerations", "admin", "count", "rival"),
    [
        ([EVERY], False, 1, "every taint"),
        ([EVERY], False, 40, "every taint"),
        ([{**EVERY, "key": RESERVATION}], False, 1, "every taint"),
        ([{"key": RESERVATION, "value": "uid-of-ns-train"}], False, 1, "this reservation"),
        ([{"key": RESERVATION, "value": "uid-of-ns-other"}], False, 1, ""),
        ([{**EVERY, "effect": "NoExecute"}], False, 1, ""),
        ([{**EVERY, "key": "a.example/broken"}], False, 12, ""),
        ([], False, 12, ""),
        ([EVERY], True, 1, ""),
    ],
)
def test_a_claim_that_tolerates_the_reservation_would_take_the_devices(
    tolerations: list[Json], admin: bool, count: int, rival: str
) -> None:
    thieves = [one for n in range(count) for one in thief(n, tolerations, admin=admin)]
    given = [*ONE, pool("n", 1), *holding("batch", "n", [0]), *waiting(1), *thieves]
    world = parse(snapshot(*given))
    facts, cluster = PreemptionFacts.of(world), cluster_of(take(world, profile("1.36")))
    waits = world.pods["ns/train"]
    made = planner.plan(facts, of_pod(world, waits), cluster)
    assert made.chosen is not None
    found = Rivals(facts, cluster).of(waits, made.chosen, made.chosen.devices)
    said = f"a pod of another namespace tolerates {rival}, and could take the devices"
    assert found == (said if rival else "")


def test_a_claim_that_cannot_use_the_devices_is_no_rival() -> None:
    made, wanted = thief(1, [EVERY])
    exactly = wanted["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": "device.driver == 'other.example.com'"}}]
    given = [*ONE, pool("n", 1), *holding("batch", "n", [0]), *waiting(1), made, wanted]
    world = parse(snapshot(*given))
    facts, cluster = PreemptionFacts.of(world), cluster_of(take(world, profile("1.36")))
    waits = world.pods["ns/train"]
    chosen = planner.plan(facts, of_pod(world, waits), cluster).chosen
    assert chosen is not None
    assert Rivals(facts, cluster).of(waits, chosen, chosen.devices) == ""


def test_namespaces_take_turns_and_the_one_that_waited_longest_begins() -> None:
    pods = [
        pod(f"p{number}", name, priority=priority)
        for name, priority in (("busy", 900), ("calm", 1), ("late", 5))
        for number in range(2)
    ]
    world = parse(snapshot(*pods))

    def order(**turns: int) -> list[str]:
        return [one.key for one in in_turn(world.pods.values(), turns)]

    assert order() == ["busy/p0", "late/p0", "calm/p0", "busy/p1", "late/p1", "calm/p1"]
    assert order(busy=7, late=6)[:3] == ["calm/p0", "late/p0", "busy/p0"]
