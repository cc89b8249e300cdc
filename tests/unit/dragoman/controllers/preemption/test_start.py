"""Mode on waits for DeviceTaintRules, and reports plans until they are served."""

import asyncio
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.controllers.context import Context
from dragoman.controllers.preemption import start
from dragoman.controllers.preemption.controller import PreemptionController
from dragoman.kube import discovery
from dragoman.kube.events import EventRecorder
from dragoman.kube.resources import Resource
from dragoman.metrics import REGISTRY
from dragoman.preemption.reservation import toleration
from dragoman.settings import Settings
from tests.simulation.objects import SERVED
from tests.support.apiserver import ApiServer
from tests.support.worlds.inventory import device_class, pool
from tests.support.worlds.preemption import holding, node, waiting

CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
RULES = "resource.k8s.io/v1beta2"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 — the condition is a list
            await asyncio.sleep(0.005)


async def test_plans_are_only_reported_until_rules_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, claim = waiting(1)
    own = [toleration(train["metadata"]["uid"])]
    claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = own
    server: Any = ApiServer()
    space = {"kind": "Namespace", "metadata": {"name": "ns"}}
    server.store(device_class(), node("n"), pool("n", 1), space)
    server.store(*holding("x", "n", [0]), train, claim)
    monkeypatch.setattr(discovery, "OPTIONAL_INTERVAL", 0.01)
    accounts: list[str] = []

    def acting_as(account: str) -> Any:
        accounts.append(account)
        return server

    server.acting_as = acting_as
    monkeypatch.setattr(start, "PreemptionController", partial(PreemptionController, tick=0.005))
    served = dict(SERVED)
    monkeypatch.setattr("tests.simulation.requests.SERVED", {**served, RULES: ()})
    process: Any = SimpleNamespace(
        context=Context(server, EventRecorder(server)),
        settings=Settings(preemption="on", preemption_after=0.0, preemption_account="account"),
        cluster=SimpleNamespace(
            pods="pods",
            require=lambda _: None,
            waiting=lambda: None,
            served=SimpleNamespace(claims=CLAIMS, templates=CLAIMS),
        ),
    )

    def modes() -> list[str]:
        return [one["spec"]["mode"] for one in server.of("devicepreemptions")]

    def paused() -> float | None:
        return REGISTRY.get_sample_value("dragoman_preemption_paused", {"reason": "rules"})

    task = asyncio.create_task((await start.start(process))())
    try:
        await until(lambda: modes() == ["Report"])
        assert paused() == 1
        monkeypatch.setattr("tests.simulation.requests.SERVED", served)
        await until(lambda: modes() == ["Preempt"])
        assert paused() == 0
        assert accounts == ["account"]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
