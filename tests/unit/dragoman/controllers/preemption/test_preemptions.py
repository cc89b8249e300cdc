"""What the preemptions of a cluster allow and do, beside other processes and deleted objects."""

import asyncio
import threading
import time
from typing import Any, cast

import pytest

from dragoman.allocation import DeviceID
from dragoman.cluster.reader import Reader
from dragoman.controllers.preemption import carrier as carriers
from dragoman.controllers.preemption import preemptions as module
from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.planning import NEEDED
from dragoman.controllers.preemption.preemptions import Preemptions
from dragoman.controllers.preemption.rules import ReservationRules
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.preemption.policy import Policy
from dragoman.preemption.reservation import rule_manifest
from dragoman.preemption.stored import FINALIZER, Journal, PreemptionLimits, timestamp
from tests.support.manifests import Json

NOW = 1_800_000_000.0
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
METADATA = {"namespace": "ns", "name": "uid-train", "uid": "uid-journal"}
RULES = Resource("resource.k8s.io", "v1beta2", "devicetaintrules")


class Server:
    """Lists what it has."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Json]] = {"devicetaintrules": [], "devicepreemptions": []}
        self.deleted: list[str] = []
        self.pods: dict[str, Json] = {}
        self.refusal = ApiError(500, "InternalError", "nothing is created here")

    async def get(self, path: str, **_: str) -> Json:
        kind, _slash, name = path.rpartition("/")
        if name in self.objects:
            return {"items": self.objects[name], "metadata": {}}
        if name in self.pods:
            return self.pods[name]
        raise ApiError(404, "NotFound", f"{kind} has no {name}")

    async def post(self, *_: object) -> Json:
        raise self.refusal

    async def patch(self, path: str, *_: object) -> Json:
        raise ApiError(409, "Conflict", f"{path} has changed")

    async def delete(self, path: str, _: object) -> Json:
        self.deleted.append(path)
        return {}


def journal(phase: str, evictions: int) -> Json:
    evicted = [
        {"pod": f"p{one}", "owner": "o", "at": timestamp(NOW - 600)} for one in range(evictions)
    ]
    return {
        "metadata": METADATA,
        "spec": {"mode": "Preempt", "node": "n", "pod": {"name": "train", "uid": "uid-train"}},
        "status": {"phase": phase, "evictions": evicted},
    }


async def test_deleting_pods_and_objects_does_not_begin_limits_anew() -> None:
    server: Any = Server()
    now = NOW
    carrier = Carrier(
        server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits(), clock=lambda: now
    )
    preemptions = Preemptions(server, carrier, Policy())
    server.objects["devicepreemptions"] = [journal("Placing", 7)]
    await preemptions.refresh()
    server.objects["devicepreemptions"] = []
    for _ in range(2):
        await preemptions.refresh()

        budget = preemptions.budget
        assert (budget.evictions("ns"), budget.evictions("other")) == (7, 0)
        assert budget.attempt("uid-train") == 2
        assert not budget.running
        assert preemptions.allowed().recent == {"o"}

    now += 3600.0
    await preemptions.refresh()
    assert preemptions.budget.attempt("uid-train") == 1
    assert preemptions.budget.evictions() == 0


def running(name: str, second: int) -> Json:
    made = journal("Reserving", 0)
    metadata = {"namespace": name, "name": f"uid-{name}", "uid": f"j-{name}"}
    created = {"creationTimestamp": timestamp(NOW + second), "finalizers": [FINALIZER]}
    pod = {"name": name, "uid": f"u-{name}"}
    return {
        **made,
        "metadata": metadata | created,
        "spec": {"mode": "Preempt", "node": f"node-{name}", "pod": pod},
    }


async def test_a_clock_that_is_ahead_admits_no_more_preemptions_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server: Any = Server()
    ahead = NOW + 3000.0
    carrier = Carrier(
        server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits(), clock=lambda: ahead
    )
    preemptions = Preemptions(server, carrier, Policy())
    server.objects["devicepreemptions"] = [running("a", 0), running("b", 1)]
    await preemptions.refresh()
    assert preemptions.budget.young == {"j-a", "j-b"}
    monkeypatch.setattr(module, "BEGINNING", 0.0)
    assert not preemptions.budget.young


async def test_a_preemption_counts_with_those_before_it_and_a_new_one_with_all() -> None:
    server: Any = Server()
    carrier = Carrier(server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    preemptions = Preemptions(server, carrier, Policy())
    server.objects["devicepreemptions"] = [running("b", 1), running("a", 0)]
    await preemptions.refresh()
    both = {"u-a": "node-a", "u-b": "node-b"}
    assert preemptions.allowed().promised == both
    later, earlier = preemptions.journals
    assert preemptions.allowed(later).promised == {"u-a": "node-a"}
    assert preemptions.allowed(earlier).promised == {}


async def test_nothing_is_kept_of_preemptions_that_are_gone() -> None:
    server: Any = Server()
    carrier = Carrier(server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    preemptions = Preemptions(server, carrier, Policy())
    server.objects["devicepreemptions"] = [running("a", 0)]
    for uid in ("j-a", "j-gone"):
        carrier._looked[uid], carrier._said[uid] = 0.0, "a budget allows 0 disruptions"
    await preemptions.refresh()
    assert carrier._looked.keys() == carrier._said.keys() == {"j-a"}


async def test_a_pod_that_is_placed_while_its_plan_is_computed_again_waits_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server: Any = Server()
    carrier = Carrier(server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    pod = {"metadata": {"name": "a", "namespace": "a", "uid": "u-a"}, "spec": {}}
    server.pods = {"a": pod}

    async def endless(*_: object) -> None:
        pod["spec"] = {"nodeName": "node-a"}
        await asyncio.sleep(3600)

    monkeypatch.setattr(carriers, "GLANCE", 0.01)
    monkeypatch.setattr(Carrier, "_look", endless)
    document = running("a", 0)
    document["metadata"]["creationTimestamp"] = timestamp(time.time())
    document["status"] = {"phase": "Evicting"}
    found = await carrier.advance(Journal.parse(document), ReservationRules())
    assert found.reason == "placed on node-a"


async def test_a_plan_that_nobody_waits_for_is_computed_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carrier = Carrier(
        cast("Any", Server()), CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits()
    )
    begun, ended = threading.Event(), threading.Event()

    def looked(*of: Any) -> None:
        begun.set()
        while not of[-1]():
            time.sleep(0.001)
        ended.set()

    async def read(*_: object) -> Snapshot:
        return Snapshot(taken="", kubernetes="v1.36.3", objects=dict.fromkeys(NEEDED, ()))

    monkeypatch.setattr(carriers, "looked", looked)
    monkeypatch.setattr(Reader, "read", read)
    look = asyncio.create_task(carrier._look(Journal.parse(running("a", 0))))
    assert await asyncio.to_thread(begun.wait, 60)
    look.cancel()
    assert await asyncio.to_thread(ended.wait, 60)


async def test_plans_that_are_computed_again_at_one_time_share_what_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server: Any = Server()
    carrier = Carrier(server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    server.pods = {
        name: {"metadata": {"name": name, "namespace": name, "uid": f"u-{name}"}, "spec": {}}
        for name in "abc"
    }
    reads = 0

    async def read(*_: object) -> Snapshot:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0.01)
        return Snapshot(taken="", kubernetes="v1.36.3", objects={})

    monkeypatch.setattr(Reader, "read", read)
    documents = [running(name, 0) for name in "abc"]
    for one in documents:
        one["metadata"]["creationTimestamp"] = timestamp(time.time())
        one["status"] = {"phase": "Evicting"}
    steps = (carrier.advance(Journal.parse(one), ReservationRules()) for one in documents)
    found = await asyncio.gather(*steps)
    assert {one.reason for one in found} == {"there was no time to compute the plan again"}
    assert reads == 1


async def test_a_process_that_is_behind_releases_no_devices_of_a_preemption_that_goes_on() -> None:
    """Without the reservation another pod takes the devices whose pods are being evicted."""
    server: Any = Server()
    carrier = Carrier(server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    preemptions = Preemptions(server, carrier, Policy())
    server.objects["devicepreemptions"] = [
        {**journal("Evicting", 1), "metadata": METADATA | {"finalizers": [FINALIZER]}}
    ]
    device = DeviceID("gpu.example.com", "n", "device-0")
    rule = rule_manifest("resource.k8s.io/v1beta2", device, "uid-train")
    rule["metadata"]["uid"] = "uid-rule"
    server.objects["devicetaintrules"] = [rule]
    await preemptions.refresh()

    # The pod is gone, so this process would end the preemption; but another one has written it.
    await preemptions.advance()

    assert preemptions.reserved == 1
    assert not server.deleted
    assert not preemptions.progressed


async def test_a_rule_that_cannot_be_created_is_an_error_unless_it_is_there() -> None:
    """As 404 where the API server does not serve the version of the rules any more."""
    server: Any = Server()
    carrier = Carrier(
        server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits(), clock=lambda: NOW
    )
    metadata = {"name": "train", "namespace": "ns", "uid": "uid-train"}
    server.pods = {"train": {"metadata": metadata, "spec": {}}}
    document = journal("Reserving", 0)
    document["metadata"] = METADATA | {"creationTimestamp": timestamp(NOW)}
    document["spec"]["reserved"] = [{"driver": "a.example", "pool": "n", "device": "device-0"}]
    server.refusal = ApiError(409, "AlreadyExists", "it exists")
    assert not (await carrier.advance(Journal.parse(document), ReservationRules())).actions
    server.refusal = ApiError(404, "NotFound", "the server could not find the requested resource")
    with pytest.raises(ApiError, match="could not find"):
        await carrier.advance(Journal.parse(document), ReservationRules())


async def test_a_step_that_takes_long_keeps_no_other_preemption_back() -> None:
    """A plan that is computed again takes seconds, and tenants choose which."""
    server: Any = Server()
    carrier = Carrier(server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), PreemptionLimits())
    preemptions = Preemptions(server, carrier, Policy())
    slow, quick = (
        {
            **journal("Reserving", 0),
            "metadata": {"namespace": name, "name": f"uid-{name}", "uid": name}
            | {"finalizers": [FINALIZER]},
            "spec": {"mode": "Preempt", "node": name, "pod": {"name": name, "uid": f"u-{name}"}},
        }
        for name in ("slow", "quick")
    )
    server.objects["devicepreemptions"] = [slow, quick]
    asked: list[str] = []
    get = server.get
    computed = asyncio.Event()

    async def reads(path: str, **more: str) -> Json:
        if path.endswith("/pods/slow"):
            asked.append("slow")
            await computed.wait()
        if path.endswith("/pods/quick"):
            asked.append("quick")
        found: Json = await get(path, **more)
        return found

    server.get = reads
    await preemptions.refresh()
    async with asyncio.timeout(20):
        for _ in range(3):
            await preemptions.advance()
    assert (asked.count("slow"), asked.count("quick")) == (1, 3)
    computed.set()
    await preemptions.advance()
    preemptions.stop()
