"""Drains on a model of the cluster: any order of events, kills, budgets, and what is reported."""

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from dragoman.controllers.maintenance.drainer import SETTLE, TRIES, Drainer, DrainStep, News, Order
from dragoman.controllers.maintenance.view import ClusterView
from dragoman.controllers.maintenance.writer import Writer
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.holds import HOLD_TAINT, HoldKind, HoldSelector
from dragoman.maintenance.manifests import Origin, claim_manifest, rule_manifest
from dragoman.model.deviceid import DeviceID
from tests.unit.dragoman.controllers.maintenance.model import (
    DRIVER,
    POOL,
    Model,
    device_ids,
    path_of,
)
from tests.unit.examples import examples

CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
RULES = Resource("resource.k8s.io", "v1", "devicetaintrules")
TARGET = DeviceID(DRIVER, POOL, "a")


class Stage:
    """A model, and a drain of its first device."""

    def __init__(self, seed: int, kind: HoldKind) -> None:
        self.random = random.Random(seed)
        self.model = Model(self.random, rules=kind is HoldKind.RULE)
        self.kind = kind
        self.news: list[News] = []
        self.order = Order((TARGET,), (HoldSelector(*TARGET),), kind, EvictionMode.WHEN_ALLOWED)
        self.drainer: Drainer

    async def start(self, **more: Any) -> None:
        """Start a process: nothing but the cluster is remembered."""
        model: Any = self.model
        view = ClusterView(model, CLAIMS)
        model.view = view
        for informer in (view.claims, view.pods):
            await informer.resync()
        rules = RULES if self.kind is HoldKind.RULE else None
        writer = Writer(model, CLAIMS, rules, "ops", Origin("why", "ann"), **more)
        self.drainer = Drainer(view, writer, self.order, self.news.append, lambda: self.model.now)

    def others(self, steps: int) -> None:
        for _ in range(steps):
            self.model.step()

    async def turn(self) -> None:
        """Let the drain make one plan, and time pass."""
        await self.drainer.step()
        self.model.now += 0.5

    def said(self, step: DrainStep) -> list[str]:
        return [news.subject for news in self.news if news.step is step]


@pytest.mark.parametrize("kind", [*HoldKind])
@pytest.mark.parametrize("seed", range(examples(10)))
def test_any_order_of_events_and_any_kill_ends_with_an_idle_device(
    kind: HoldKind, seed: int
) -> None:
    async def play() -> None:
        stage = Stage(seed, kind)
        model, chance = stage.model, stage.random
        for index in range(chance.randint(1, 5)):
            model.add_pod(f"pod-{index}")
            stage.others(chance.randint(0, 6))
        await stage.start()
        for turn in range(300):
            await stage.turn()
            if chance.random() < 0.1:
                await stage.start()
            if turn < 40 and chance.random() < 0.2:
                model.add_pod(f"late-{turn}")
            stage.others(chance.randint(0, 8))
        stage.others(200)
        plan = await stage.drainer.step()
        assert (plan.held, plan.idle, plan.actions) == (True, True, ())
        assert not model.expects("a")
        assert model.owners("a") == []
        assert len(model.evicted) == len(set(model.evicted))
        for index in range(4):
            model.add_pod(f"new-{index}")
        stage.others(200)
        assert model.owners("a") == []

    asyncio.run(play())


def test_only_pods_of_the_target_are_evicted() -> None:
    async def play() -> None:
        stage = Stage(1, HoldKind.RULE)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        (user,) = stage.model.owners("a")
        await stage.start()
        for _ in range(20):
            await stage.turn()
            stage.others(20)
        assert stage.model.evicted == [user]
        assert stage.said(DrainStep.EVICTED) == stage.said(DrainStep.ENDED) == [f"ns/{user}"]
        assert len(stage.said(DrainStep.CREATED)) == 1

    asyncio.run(play())


def test_a_pod_without_a_controller_that_came_in_between_stays_and_is_said() -> None:
    async def play() -> None:
        stage = Stage(1, HoldKind.RULE)
        stage.order = replace(stage.order, unmanaged=False)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        (user,) = stage.model.owners("a")
        await stage.start()
        for _ in range(20):
            await stage.turn()
            stage.others(20)
        assert stage.model.evicted == []
        assert stage.said(DrainStep.UNMANAGED) == [f"ns/{user}"]

    asyncio.run(play())


def test_a_refused_eviction_is_reported_once_and_tried_again() -> None:
    async def play() -> None:
        stage = Stage(2, HoldKind.RULE)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        stage.model.allowed = False
        stage.model.grace = True
        await stage.start()
        for _ in range(30):
            await stage.turn()
        (refused,) = [news for news in stage.news if news.step is DrainStep.REFUSED]
        assert refused.message == "The disruption budget x needs more"
        assert stage.drainer.refusals() == {refused.subject: refused.message}
        stage.model.allowed = True
        for _ in range(30):
            await stage.turn()
            if stage.model.evicted:
                break
        # The evicted pod takes its time to end; the old answer is no reason any more.
        plan = await stage.drainer.step()
        assert [pod.metadata.deleting for pod in plan.pods] == [True]
        assert stage.drainer.refusals() == {}
        assert len(stage.model.evicted) == 1

    asyncio.run(play())


def test_an_eviction_that_meets_a_conflict_is_tried_again() -> None:
    async def play() -> None:
        stage = Stage(2, HoldKind.RULE)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        stage.model.conflicts = 2
        await stage.start()
        for _ in range(30):
            await stage.turn()
            stage.others(5)
        assert len(stage.model.evicted) == 1
        assert not stage.said(DrainStep.REFUSED)
        assert (await stage.drainer.step()).idle

    asyncio.run(play())


def forged(name: str, namespace: str, **more: Any) -> dict[str, Any]:
    """Return a claim with the name and the marks of a held one, as any user may create it."""
    marks = {"annotations": {"dragoman.dev/device": str(TARGET)}}
    uid = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"kind": "ResourceClaim", "metadata": {**uid, **marks}, "spec": {}, **more}


def test_a_claim_of_another_namespace_gets_no_device_because_of_its_name() -> None:
    async def play() -> None:
        stage = Stage(8, HoldKind.CLAIM)
        path = "/apis/resource.k8s.io/v1/namespaces/a-tenant/resourceclaims/dragoman-hold-mine"
        stage.model._store(path, forged("dragoman-hold-mine", "a-tenant"))
        await stage.start()
        for _ in range(5):
            await stage.turn()
        assert not stage.model.objects[path].get("status")
        plan = await stage.drainer.step()
        assert (plan.held, plan.actions) == (True, ())

    asyncio.run(play())


@pytest.mark.parametrize("kind", [*HoldKind])
def test_a_claim_that_pods_use_is_drained_whatever_its_name(kind: HoldKind) -> None:
    async def play() -> None:
        stage = Stage(9, kind)
        stage.model.add_pod("dragoman-hold-mine")
        stage.model.add_pod("y")
        stage.others(300)
        device = next(
            DeviceID(DRIVER, POOL, name)
            for name in "ab"
            if TARGET._replace(device=name)
            in device_ids(stage.model.objects[path_of("resourceclaims", "dragoman-hold-mine")])
        )
        stage.order = Order((device,), (HoldSelector(*device),), kind, EvictionMode.WHEN_ALLOWED)
        await stage.start()
        assert not (await stage.drainer.step()).idle
        for _ in range(20):
            await stage.turn()
            stage.others(20)
        assert stage.model.evicted == ["dragoman-hold-mine"]

    asyncio.run(play())


@pytest.mark.parametrize("kind", [*HoldKind])
def test_an_object_with_the_name_of_a_hold_that_holds_nothing_is_said(kind: HoldKind) -> None:
    """As a rule whose effect was changed: a drain would try to create it without end."""

    async def play() -> None:
        stage = Stage(4, kind)
        if kind is HoldKind.RULE:
            made = rule_manifest("v1", HoldSelector(*TARGET), HOLD_TAINT, Origin())
            made["spec"]["taint"]["effect"] = "None"
            path = RULES.path()
        else:
            made = claim_manifest("v1", "ops", TARGET, Origin())
            del made["metadata"]["annotations"]
            path = CLAIMS.path("ops")
        await stage.model.post(path, made)
        await stage.start()
        name = made["metadata"]["name"]
        for _ in range(TRIES):
            await stage.turn()
        with pytest.raises(ApiError, match=f"{name} exists already and does not hold {TARGET}: "):
            await stage.turn()

    asyncio.run(play())


def test_a_refused_hold_leaves_no_other_device_in_service(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        stage = Stage(4, HoldKind.RULE)
        other = DeviceID(DRIVER, POOL, "b")
        stage.order = Order((TARGET, other), (), HoldKind.RULE, EvictionMode.WHEN_ALLOWED)
        post = stage.model.post

        async def refuse(path: str, body: Any) -> Any:
            if body["spec"]["deviceSelector"]["device"] == "a":
                raise ApiError(422, "Invalid", "spec.deviceSelector.device")
            return await post(path, body)

        monkeypatch.setattr(stage.model, "post", refuse)
        await stage.start()
        with pytest.raises(ApiError, match=r"spec\.deviceSelector\.device"):
            await stage.drainer.step()
        (held,) = stage.model.objects.values()
        assert held["spec"]["deviceSelector"]["device"] == "b"

    asyncio.run(play())


def test_two_drains_of_one_device_share_its_hold() -> None:
    async def play() -> None:
        stage = Stage(3, HoldKind.CLAIM)
        await stage.start()
        first = stage.drainer
        stage.drainer = Drainer(
            first.view, first.writer, stage.order, stage.news.append, lambda: stage.model.now
        )
        for _ in range(4):
            await asyncio.gather(first.step(), stage.drainer.step())
        assert len([path for path in stage.model.objects if "dragoman-hold" in path]) == 1
        assert (await first.step()).held

    asyncio.run(play())


def test_a_process_that_does_not_lead_writes_nothing() -> None:
    async def play() -> None:
        stage = Stage(4, HoldKind.RULE)
        await stage.start(leading=lambda: False)
        with pytest.raises(NotLeadingError):
            await stage.drainer.step()
        assert not stage.model.objects

    asyncio.run(play())


def test_a_rate_spaces_evictions() -> None:
    async def play() -> None:
        stage = Stage(5, HoldKind.RULE)
        stage.order = Order(
            (TARGET, DeviceID(DRIVER, POOL, "b")),
            (HoldSelector(DRIVER, POOL),),
            HoldKind.RULE,
            EvictionMode.WHEN_ALLOWED,
            10.0,
        )
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        await stage.start()
        times = []
        for _ in range(60):
            before = len(stage.model.evicted)
            await stage.turn()
            if len(stage.model.evicted) > before:
                times.append(stage.model.now)
        assert len(times) == 2
        assert times[1] - times[0] >= 10.0

    asyncio.run(play())


@pytest.mark.parametrize("kind", [*HoldKind])
def test_a_drain_that_is_stopped_at_a_change_ends(kind: HoldKind) -> None:
    """One that does not end would keep the only worker, and so every DeviceMaintenance."""

    async def play() -> None:
        stage = Stage(7, kind)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        stage.model.allowed = False
        await stage.start()
        draining = asyncio.create_task(stage.drainer.run(lambda _: False))
        await asyncio.sleep(0.05)
        (user,) = stage.model.owners("a")
        path = path_of("resourceclaims", user)
        stage.model._store(path, {**stage.model.objects[path]})
        draining.cancel()
        await asyncio.wait({draining}, timeout=30)
        assert draining.cancelled()

    asyncio.run(play())


def test_a_drain_is_done_only_when_the_scheduler_must_have_seen_the_hold() -> None:
    async def play() -> None:
        stage = Stage(6, HoldKind.RULE)
        await stage.start()
        ended = asyncio.create_task(stage.drainer.run(lambda plan: plan.held and plan.idle))
        await asyncio.sleep(0.05)
        assert not ended.done()
        stage.model.now += SETTLE
        await asyncio.wait_for(ended, 30)

    asyncio.run(play())
