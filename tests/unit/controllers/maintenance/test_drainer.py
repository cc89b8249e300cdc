"""Drains on a model of the cluster: any order of events, kills, budgets, and what is reported."""

import asyncio
import random
from typing import Any

import pytest

from dragoman.allocation.facts.objects import DeviceID
from dragoman.controllers.maintenance.drainer import SETTLE, Drainer, News, Order, Step
from dragoman.controllers.maintenance.view import ClusterView
from dragoman.controllers.maintenance.writer import Writer
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.resources import Resource
from dragoman.maintenance.holds import Kind, Selector
from dragoman.maintenance.manifests import Origin
from dragoman.maintenance.plan import Evict
from tests.unit.controllers.maintenance.model import DRIVER, POOL, Model
from tests.unit.examples import examples

CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
RULES = Resource("resource.k8s.io", "v1", "devicetaintrules")
TARGET = DeviceID(DRIVER, POOL, "a")


class Stage:
    """A model, and a drain of its first device."""

    def __init__(self, seed: int, kind: Kind) -> None:
        self.random = random.Random(seed)
        self.model = Model(self.random, rules=kind is Kind.RULE)
        self.kind = kind
        self.news: list[News] = []
        self.order = Order((TARGET,), (Selector(*TARGET),), kind, Evict.WHEN_ALLOWED)
        self.drainer: Drainer

    async def start(self, **more: Any) -> None:
        """Start a process: nothing but the cluster is remembered."""
        model: Any = self.model
        view = ClusterView(model, CLAIMS)
        model.view = view
        for informer in (view.claims, view.pods):
            await informer.resync()
        rules = RULES if self.kind is Kind.RULE else None
        writer = Writer(model, CLAIMS, rules, "ops", Origin("why", "ann"), **more)
        self.drainer = Drainer(view, writer, self.order, self.news.append, lambda: self.model.now)

    def others(self, steps: int) -> None:
        for _ in range(steps):
            self.model.step()

    async def turn(self) -> None:
        """Let the drain make one plan, and time pass."""
        await self.drainer.step()
        self.model.now += 0.5

    def said(self, step: Step) -> list[str]:
        return [news.subject for news in self.news if news.step is step]


@pytest.mark.parametrize("kind", [*Kind])
@pytest.mark.parametrize("seed", range(examples(10)))
def test_any_order_of_events_and_any_kill_ends_with_an_idle_device(kind: Kind, seed: int) -> None:
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
        stage = Stage(1, Kind.RULE)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        (user,) = stage.model.owners("a")
        await stage.start()
        for _ in range(20):
            await stage.turn()
            stage.others(20)
        assert stage.model.evicted == [user]
        assert stage.said(Step.EVICTED) == stage.said(Step.ENDED) == [f"ns/{user}"]
        assert len(stage.said(Step.CREATED)) == 1

    asyncio.run(play())


def test_a_refused_eviction_is_reported_once_and_tried_again() -> None:
    async def play() -> None:
        stage = Stage(2, Kind.RULE)
        stage.model.add_pod("x")
        stage.model.add_pod("y")
        stage.others(200)
        stage.model.allowed = False
        await stage.start()
        for _ in range(30):
            await stage.turn()
        (refused,) = [news for news in stage.news if news.step is Step.REFUSED]
        assert refused.message == "The disruption budget x needs more"
        assert stage.drainer.refusals() == {refused.subject: refused.message}
        stage.model.allowed = True
        for _ in range(30):
            await stage.turn()
            stage.others(5)
        assert len(stage.model.evicted) == 1

    asyncio.run(play())


def test_two_drains_of_one_device_share_its_hold() -> None:
    async def play() -> None:
        stage = Stage(3, Kind.CLAIM)
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
        stage = Stage(4, Kind.RULE)
        await stage.start(may_write=lambda: False)
        with pytest.raises(NotLeadingError):
            await stage.drainer.step()
        assert not stage.model.objects

    asyncio.run(play())


def test_a_rate_spaces_evictions() -> None:
    async def play() -> None:
        stage = Stage(5, Kind.RULE)
        stage.order = Order(
            (TARGET, DeviceID(DRIVER, POOL, "b")),
            (Selector(DRIVER, POOL),),
            Kind.RULE,
            Evict.WHEN_ALLOWED,
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


def test_a_drain_is_done_only_when_the_scheduler_must_have_seen_the_hold() -> None:
    async def play() -> None:
        stage = Stage(6, Kind.RULE)
        await stage.start()
        ended = asyncio.create_task(stage.drainer.run(lambda plan: plan.held and plan.idle))
        await asyncio.sleep(0.05)
        assert not ended.done()
        stage.model.now += SETTLE
        await asyncio.wait_for(ended, 5)

    asyncio.run(play())
