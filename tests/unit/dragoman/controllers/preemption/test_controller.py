"""Report mode: what it writes for pods that wait, and that it writes nothing else."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from dragoman.allocation import Cluster, DeviceID
from dragoman.controllers.context import Context
from dragoman.controllers.preemption import controller, planning
from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.controller import OBJECTS, PreemptionController
from dragoman.controllers.preemption.preemptions import Preemptions
from dragoman.diagnosis.subject import Subject
from dragoman.kube import backoff
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.resources import Resource
from dragoman.metrics import REGISTRY
from dragoman.preemption.planner import PreemptionPlan, plan
from dragoman.preemption.policy import Policy
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman.preemption.reservation import rule_manifest, toleration
from dragoman.preemption.stored import FINALIZER, PreemptionLimits, timestamp
from tests.support.apiserver import ApiServer, Place
from tests.support.manifests import Json
from tests.support.worlds.inventory import device_class, pool, snapshot
from tests.support.worlds.preemption import holding, node, waiting


class Server(ApiServer):
    """An API server as far as the controller sees it.

    Attributes:
        refused: Plurals that may not be listed.
        closed: Namespaces in which nothing may be created.
    """

    def __init__(self, *manifests: Mapping[str, Any]) -> None:
        super().__init__()
        self.refused: set[str] = set()
        self.closed: set[str] = set()
        self.fail = self._refusal
        self.store(*manifests)

    def _refusal(self, request: str, place: Place) -> ApiError | None:
        if request.startswith("LIST") and place.plural in self.refused:
            return ApiError(403, "Forbidden", f"{place.plural} is forbidden")
        if request == "POST devicepreemptions" and place.namespace in self.closed:
            return ApiError(403, "Forbidden", "exceeded quota: count/devicepreemptions")
        return None

    @property
    def journal(self) -> list[Json]:
        return self.of("devicepreemptions")

    @property
    def events(self) -> list[str]:
        return [one["note"] for one in self.of("events")]

    @property
    def lists(self) -> Counter[str]:
        return Counter(
            {name[5:]: count for name, count in self.requests.items() if name.startswith("LIST ")}
        )


@asynccontextmanager
async def running(
    server: Server, *, leading: Callable[[], bool] = lambda: True, **more: Any
) -> AsyncIterator[None]:
    client: Any = server
    recorder = EventRecorder(client)
    made = PreemptionController(
        Context(client, recorder, leading),
        Policy(),
        after=0.0,
        tick=0.005,
        **{"interval": 0.05, **more},
    )
    tasks = [asyncio.create_task(one.run()) for one in (recorder, made)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 — the condition is a list
            await asyncio.sleep(0.005)


CLUSTER = (device_class(), node("n"), pool("n", 2))
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
RULES = Resource("resource.k8s.io", "v1beta2", "devicetaintrules")
PREEMPTION = {
    "kind": "DevicePreemption",
    "metadata": {"name": "uid-train", "namespace": "ns", "finalizers": [FINALIZER]},
    "spec": {"mode": "Preempt", "node": "n", "pod": {"name": "train", "uid": "uid-train"}},
    "status": {"phase": "Evicting"},
}
RESERVATION = rule_manifest(
    RULES.api_version, DeviceID("gpu.example.com", "n", "device-0"), "uid-train"
)
SPACES = tuple({"kind": "Namespace", "metadata": {"name": name}} for name in ("ns", "other"))


def elsewhere(name: str, device: int) -> list[Json]:
    found = holding(name, "n", [device])
    for one in found:
        one["metadata"]["namespace"] = "other"
    return found


async def test_a_plan_is_an_object_and_an_event_and_nothing_else() -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0]), *elsewhere("y", 1), *waiting(2))
    async with running(server):
        await until(lambda: server.events)
    (found,) = server.journal
    assert found["metadata"]["name"] == "uid-of-ns-train"
    assert found["metadata"]["ownerReferences"][0]["name"] == "train"
    assert found["spec"]["node"] == "n"
    assert [one["name"] for one in found["spec"]["victims"]] == ["x"]
    assert (found["status"]["victims"], found["spec"]["victimsElsewhere"]) == (2, 1)
    (said,) = server.events
    assert said == (
        "Would fit on n if 2 pods ended: ns/x (priority 0), 1 of other namespaces. "
        "Mode report: nothing is evicted."
    )
    assert {place.plural for _, place in server.written} == {"devicepreemptions"}
    # A pod of another namespace is counted, and named nowhere.
    assert "other/y" not in str(server.journal)


async def test_the_object_goes_when_the_pod_has_a_place() -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    async with running(server):
        await until(lambda: server.journal)
        for place in [one for one in server.objects if one.plural in ("pods", "resourceclaims")]:
            server.remove(place)
        await until(lambda: not server.journal)


async def test_the_same_plan_is_written_and_said_once() -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    async with running(server):
        await until(lambda: server.lists["nodes"] > 2)
    assert [method for method, _ in server.written] == ["POST", "PATCH"]
    assert len(server.events) == 1


async def test_nothing_but_pods_without_a_node_is_read_while_none_waits() -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]))
    async with running(server):
        await until(lambda: server.lists["pods"] > 3)
    assert server.lists.keys() == {"pods", "devicepreemptions"}
    assert server.lists["devicepreemptions"] == 1


async def test_a_follower_writes_nothing() -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    async with running(server, leading=lambda: False):
        await asyncio.sleep(0.1)
    assert not server.requests
    assert not server.written


@pytest.mark.parametrize("plural", ["poddisruptionbudgets", "namespaces", "pods"])
async def test_without_a_right_nothing_is_said(plural: str) -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    server.refused.add(plural)
    async with running(server):
        await until(lambda: server.lists[plural] > 1)
    assert not server.journal
    assert not server.events


async def test_pods_alike_share_a_plan_and_a_namespace_has_few_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alike = [one for index in range(60) for one in waiting(2, name=f"train-{index}")]
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *alike)
    plans: list[str] = []

    def counted(
        facts: PreemptionFacts, subject: Subject, cluster: Cluster, **more: Any
    ) -> PreemptionPlan:
        plans.append(subject.pod.key)
        return plan(facts, subject, cluster, **more)

    monkeypatch.setattr(planning, "plan", counted)
    async with running(server):
        await until(lambda: len(server.journal) >= OBJECTS)
    assert len(server.journal) == OBJECTS
    assert len(plans) <= server.lists["nodes"]


async def test_an_object_of_another_mode_is_left_alone() -> None:
    server = Server(*CLUSTER, *SPACES)
    metadata = {"name": "u", "namespace": "ns", "uid": "1"}
    server.store({"kind": "DevicePreemption", "metadata": metadata, "spec": {"mode": "On"}})
    async with running(server):
        await until(lambda: server.lists["pods"] > 3)
    assert len(server.journal) == 1


async def test_a_pod_that_waits_for_cpu_alone_causes_no_reads() -> None:
    pod, _ = waiting(2)
    del pod["spec"]["resourceClaims"]
    server = Server(*CLUSTER, *SPACES, pod)
    async with running(server):
        await until(lambda: server.lists["pods"] > 3)
    assert server.lists.keys() == {"pods", "devicepreemptions"}


async def test_a_namespace_that_refuses_objects_keeps_no_other_from_its_report() -> None:
    first = waiting(2, priority=200)
    for one in first:
        one["metadata"] |= {"namespace": "other", "uid": f"foreign-{one['kind']}"}
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *first, *waiting(2))
    server.closed.add("other")
    async with running(server):
        await until(lambda: server.journal)
    assert [one["metadata"]["namespace"] for one in server.journal] == ["ns"]


@pytest.mark.parametrize(("namespace", "uid"), [("other", "uid-of-ns-train"), ("ns", "forged")])
async def test_a_forged_object_gives_way_to_the_report(namespace: str, uid: str) -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    forged = {"name": "uid-of-ns-train", "namespace": namespace, "uid": "1"}
    spec = {"mode": "Report", "pod": {"uid": uid}}
    server.store({"kind": "DevicePreemption", "metadata": forged, "spec": spec})
    async with running(server):
        await until(lambda: server.events)
    (found,) = server.journal
    assert found["metadata"]["namespace"] == "ns"
    assert found["spec"]["pod"]["uid"] == "uid-of-ns-train"


async def test_a_pod_that_is_deleted_says_nothing_about_its_siblings() -> None:
    oldest = waiting(2, name="a")
    oldest[0]["metadata"] |= {
        "uid": "a",
        "creationTimestamp": "2025-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    given = [*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *oldest, *waiting(2, name="b")]
    found = planning.compute(snapshot(*given), {"a", "uid-of-ns-b"}, Policy())
    outcomes = {one.subject.pod.key: str(one.outcome) for one in found.plans}
    assert outcomes == {"ns/a": "NotEligible", "ns/b": "Planned"}


async def test_a_namespace_spends_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SHARE", -1.0)
    given = [*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2)]
    found = planning.compute(snapshot(*given), {"uid-of-ns-train"}, Policy())
    assert (found.plans, found.left_out) == ((), 1)


async def test_pods_that_another_controller_watches_are_not_listed() -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    listed = [one for one in server.of("pods") if not one["spec"].get("nodeName")]
    async with running(server, stored=lambda: listed):
        await until(lambda: server.lists["nodes"] > 1)
    assert server.lists["pods"] <= server.lists["nodes"] + 1
    assert server.journal


async def test_passes_take_a_share_of_the_time_while_a_limit_is_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    client: Any = server
    carrier = Carrier(
        client, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits(parallel=0)
    )
    preemptions = Preemptions(client, carrier, Policy())
    passes = 0

    def slow(*arguments: Any) -> planning.PlannedPreemptions:
        nonlocal passes
        passes += 1
        time.sleep(0.05)
        return planning.compute(*arguments)

    monkeypatch.setattr(controller, "compute", slow)
    began = time.monotonic()
    async with running(server, interval=60.0, preemptions=preemptions):
        for index in range(40):
            server.store(*waiting(2, name=f"later-{index}"))
            await asyncio.sleep(0.03)
    assert passes > 1
    assert (passes - 1) * 0.05 * (1 + controller.REST) <= time.monotonic() - began
    assert not server.of("devicetaintrules")


async def test_what_no_limit_is_in_the_way_of_is_planned_at_the_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The claim of the pod was written by its user, and tolerates no reservation."""
    monkeypatch.setattr(controller, "AGAIN", 0.01)
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *waiting(2))
    async with running(server, interval=60.0, preemptions=preempting(server)):
        await until(lambda: server.events)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                await until(lambda: server.lists["nodes"] > 1)
    assert "was not made from a template" in server.events[0]
    assert server.lists["nodes"] == 1


def preempting(server: Server, clock: Callable[[], float] = time.time) -> Preemptions:
    client: Any = server
    carrier = Carrier(
        client, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits(), clock=clock
    )
    return Preemptions(client, carrier, Policy())


def gauge(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"dragoman_preemption_{name}", labels)


async def test_a_replica_that_does_not_lead_any_more_reports_nothing_to_alerts() -> None:
    server = Server(*CLUSTER, *SPACES, *failures(time.time()))
    for device in ("device-0", "device-1"):
        kept = DeviceID("gpu.example.com", "n", device)
        server.store(rule_manifest(RULES.api_version, kept, "uid-train"))
    server.store(PREEMPTION)
    server.fail = lambda request, _: (
        ApiError(500, "InternalError", "no") if request.startswith(("PATCH", "DELETE")) else None
    )
    leads = True
    async with running(server, leading=lambda: leads, preemptions=preempting(server)):
        await until(lambda: gauge("reserved_devices") == 2)
        await until(lambda: gauge("paused", reason="failures") == 1)
        leads = False
        await until(lambda: gauge("reserved_devices") == 0)
    assert gauge("paused", reason="failures") == 0


async def test_a_pause_passes_although_no_pod_waits() -> None:
    now = time.time()
    server = Server(*CLUSTER, *SPACES, *failures(now))
    async with running(server, preemptions=preempting(server, lambda: now)):
        await until(lambda: gauge("paused", reason="failures") == 1)
        now += 3600.0
        await until(lambda: gauge("paused", reason="failures") == 0)


def failures(at: float) -> list[Json]:
    """Make what is left of preemptions that failed in a row."""
    return [
        {
            "kind": "DevicePreemption",
            "metadata": {"name": f"uid-{number}", "namespace": "ns"},
            "spec": {"mode": "Preempt", "node": "n", "pod": {"name": "p", "uid": f"uid-{number}"}},
            "status": {"phase": "Failed", "endedAt": timestamp(at)},
        }
        for number in range(3)
    ]


async def test_reports_of_a_pass_that_failed_are_cleared() -> None:
    server = Server(*CLUSTER, *SPACES)

    def failing(request: str, _: Place) -> ApiError | None:
        failed = request.startswith("PATCH") and bool(server.journal)
        return ApiError(500, "InternalError", "no") if failed else None

    async with running(server):
        await until(lambda: server.lists["devicepreemptions"])
        server.fail = failing
        server.store(*holding("x", "n", [0, 1]), *waiting(2))
        await until(lambda: server.journal)
        for place in [one for one in server.objects if one.plural in ("pods", "resourceclaims")]:
            server.remove(place)
        await until(lambda: not server.journal)


async def test_a_preemption_goes_on_soon_after_the_api_server_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backoff, "FIRST", 3600.0)
    monkeypatch.setattr(backoff, "LONGEST", 3600.0)
    monkeypatch.setattr(controller, "LONGEST_ACTIVE_DELAY", 0.01)
    server = Server(*CLUSTER, *SPACES, PREEMPTION)
    away = ApiError(0, "NoAnswer", "the API server cannot be reached")
    server.fail = lambda request, _: away if request == "GET pods" else None
    async with running(server, preemptions=preempting(server)):
        await until(lambda: server.requests["GET pods"])
        server.fail = lambda *_: away
        before = server.requests["LIST pods"]
        await until(lambda: server.requests["LIST pods"] > before + 2)
        server.fail = lambda *_: None
        await until(lambda: FINALIZER not in server.journal[0]["metadata"].get("finalizers", ()))


async def test_plans_are_only_reported_where_the_scheduler_preempts_for_devices_itself() -> None:
    train, claim = waiting(2)
    requests = claim["spec"]["devices"]["requests"]
    requests[0]["exactly"]["tolerations"] = [toleration(train["metadata"]["uid"])]
    promised, own = waiting(1, name="promised")
    promised["status"]["nominatedNodeName"] = "m"
    low, held = holding("low", "m", [0])
    low["metadata"]["deletionTimestamp"] = "2026-11-24T00:00:00Z"
    low["status"]["conditions"] = [{"type": "DisruptionTarget", "reason": "PreemptionByScheduler"}]
    others = (node("m"), pool("m", 1), low, held, promised, own)
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), train, claim, *others)
    said: list[str] = []
    preemptions = preempting(server)
    async with running(server, preemptions=preemptions, stood_down=said.append):
        await until(lambda: server.lists["nodes"] > 2)
    (report,) = server.journal
    assert report["spec"]["mode"] == "Report"
    assert "kube-scheduler preempts for devices itself" in report["status"]["message"]
    assert said == ["ns/promised"]


async def test_plans_of_a_pass_know_no_reservation_that_is_made_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = Preemptions.begin

    async def begun(self: Preemptions, *of: Any) -> str:
        why = await begin(self, *of)
        self.journals = tuple(replace(one, reserved=1.0) for one in self.journals)
        return why

    monkeypatch.setattr(Preemptions, "begin", begun)
    first, second = waiting(1), waiting(1, name="second")
    for pod, claim in (first, second):
        exactly = claim["spec"]["devices"]["requests"][0]["exactly"]
        exactly["tolerations"] = [toleration(pod["metadata"]["uid"])]
    for one in second:
        one["metadata"]["namespace"] = "other"
    server = Server(*CLUSTER, *SPACES, *holding("x", "n", [0, 1]), *first, *second)
    async with running(server, preemptions=preempting(server)):
        await until(lambda: len(server.journal) > 1)
    assert sorted(one["spec"]["mode"] for one in server.journal) == ["Preempt", "Report"]
    (report,) = [one for one in server.journal if one["spec"]["mode"] == "Report"]
    assert "another preemption reserves devices on node n now" in report["status"]["message"]


async def test_reservations_are_released_whose_preemption_disappears() -> None:
    """As where its object is deleted by force, or another process ended it."""
    server = Server(*CLUSTER, *SPACES)
    # Another process writes the object all the time: this one cannot end the preemption itself.
    server.fail = lambda request, _: (
        ApiError(409, "Conflict", "changed") if request == "PATCH devicepreemptions" else None
    )
    server.store(PREEMPTION, {**RESERVATION, "kind": "DeviceTaintRule"})
    client: Any = server
    carrier = Carrier(client, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    async with running(server, preemptions=Preemptions(client, carrier, Policy())):
        await until(lambda: server.requests["GET devicepreemptions"] > 1)
        assert server.of("devicetaintrules")
        server.remove(Place("devicepreemptions", "ns", "uid-train"))
        await until(lambda: not server.of("devicetaintrules"))
