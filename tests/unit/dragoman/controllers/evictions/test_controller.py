"""The eviction controller on a model of the API server, in virtual time."""

import asyncio
import random
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dragoman.kube.errors import ApiError
from dragoman_base.versions import Release
from tests.unit.dragoman.claims.objects import ClaimObject, PodObject, pod
from tests.unit.dragoman.controllers.evictions.model import Fate, Pods, controlling
from tests.unit.dragoman.evictions.builders import DRIVER, T0, a_rule, a_slice, pair, result, taint
from tests.unit.dragoman.kube.virtual_time import in_virtual_time
from tests.unit.examples import examples

RULE = a_rule()
ALWAYS = {"operator": "Exists"}


@in_virtual_time
async def test_an_eviction_takes_one_read_one_patch_one_deletion_and_one_event() -> None:
    user, held = pair()
    api = Pods(user)
    async with controlling(api, held, rules=(RULE,)):
        await asyncio.sleep(60)
    assert api.requests == {"GET": 1, "PATCH": 1, "DELETE": 1}
    assert [one["note"] for one in api.events] == ["Marking for deletion"]
    assert api.events[0]["type"] == "Normal"
    assert api.events[0]["reportingController"] == "dragoman"


@in_virtual_time
async def test_a_pod_that_was_replaced_survives() -> None:
    user, held = pair()
    api = Pods(user.changed("metadata", "uid", to="another"))
    async with controlling(api, held, rules=(RULE,)) as controller:
        controller.state.cluster.pods.put(_fact(user))
        await asyncio.sleep(60)
    assert api.deletions == {}


def _fact(found: Any) -> Any:
    from dragoman.model.pod import Pod  # noqa: PLC0415 — one use

    return Pod.parse(found.document)


@in_virtual_time
@pytest.mark.parametrize("code", [404, 409])
async def test_a_refusal_of_what_is_there_ends_no_eviction(code: int) -> None:
    user, held = pair()
    refused = {kind: ApiError(code, "Confused", "no") for kind in ("DELETE", "APPLY")}
    api = Pods(user, fate=lambda kind: refused.pop(kind, None))
    async with controlling(api, held, rules=(RULE,)):
        await asyncio.sleep(60)
    assert refused == {}
    assert len(api.deletions) == 1
    assert api.rules != []


@in_virtual_time
async def test_assist_evicts_only_what_the_stock_controller_forgets() -> None:
    user, held = pair("plain")
    extended = pod("extended", namespace="ns").on("n").with_extended_claim("made")
    _, claim = pair("other")
    made = claim.changed("metadata", "name", to="made").owned_by(extended)
    made = made.changed("status", "reservedFor", to=[]).reserved_for(extended)
    api = Pods(user, extended)
    api.claims = {"made": made.document}
    async with controlling(api, held, made, rules=(RULE,), stock=Release()):
        await asyncio.sleep(60)
    assert api.deletions == {"extended": 1}
    assert api.rules == []


@in_virtual_time
async def test_assist_reads_the_claim_before_it_evicts() -> None:
    extended = pod("extended", namespace="ns").on("n").with_extended_claim("made")
    _, claim = pair("other")
    made = claim.changed("metadata", "name", to="made").owned_by(extended)
    made = made.changed("status", "reservedFor", to=[]).reserved_for(extended)
    released = made.changed("status", to={}).changed("metadata", "resourceVersion", to="2")
    api = Pods(extended)
    api.claims = {"made": released.document}
    async with controlling(api, made, rules=(RULE,), stock=Release()):
        await asyncio.sleep(60)
    assert api.deletions == {}


@pytest.mark.parametrize("stock", [True, False], ids=["stock controller", "alone"])
def test_own_waits_until_rules_show_whether_the_stock_controller_evicts(stock: bool) -> None:
    user, held = pair()
    api = Pods(user)
    written = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}" if stock else ""
    rule = replace(RULE, stock_stamp=written)
    broken = a_slice("s", gpu_0=taint())

    @in_virtual_time
    async def run() -> None:
        async with controlling(api, held, slices=(broken,), listed=False) as controller:
            await asyncio.sleep(5)
            assert api.deletions == {}
            informer = controller._devices.rules
            informer.changed(rule)
            informer.synced.set()
            await asyncio.sleep(60)

    run()
    assert len(api.deletions) == (0 if stock else 1)


def unsteady(chance: random.Random) -> Fate:
    """Return what becomes of a request while the API server has a bad time."""
    fates: list[Fate] = [
        None,
        None,
        "lost",
        ApiError(409, "Conflict", "conflict"),
        ApiError(429, "TooManyRequests", "later", retry_after=1.0),
        ApiError(500, "InternalError", "no"),
        ApiError(0, "NoAnswer", "connection refused"),
    ]
    return chance.choice(fates)


@pytest.mark.parametrize("seed", range(examples(25)))
def test_no_pod_is_evicted_twice_and_none_that_may_stay(seed: int) -> None:
    """Leaders are killed at random times, while requests fail at random."""
    chance = random.Random(seed)

    @in_virtual_time
    async def run() -> Pods:
        pairs = [pair(f"leaves-{index}") for index in range(8)]
        pairs += [pair(f"stays-{index}", result("gpu-0", ALWAYS)) for index in range(4)]
        api = Pods(*(user for user, _ in pairs), fate=lambda _: unsteady(chance))
        claims = [held for _, held in pairs]
        for _ in range(3):
            async with controlling(api, *claims, rules=(RULE,)):
                await asyncio.sleep(chance.random() * 2)
        api.fate = lambda _: None
        async with controlling(api, *claims, rules=(RULE,)):
            await asyncio.sleep(120)
        return api

    api = run()
    assert api.deletions == {f"leaves-{index}": 1 for index in range(8)}


@in_virtual_time
async def test_the_event_of_an_eviction_is_posted_once_however_often_the_mark_fails() -> None:
    user, held = pair()
    refused = [ApiError(500, "InternalError", "no")] * 3

    def fate(kind: str) -> Fate:
        return refused.pop() if kind == "PATCH" and refused else None

    api = Pods(user, fate=fate)
    async with controlling(api, held, rules=(RULE,)):
        await asyncio.sleep(120)
    assert refused == []
    assert [one["note"] for one in api.events] == ["Marking for deletion"]


LATER = {"operator": "Exists", "tolerationSeconds": 10**12}
SOON = {"operator": "Exists", "tolerationSeconds": 60}


@in_virtual_time
async def test_a_taint_of_the_future_is_tolerated_once() -> None:
    """The clock that gave its time, or this one, is wrong by a year."""
    user, held = pair("a", result("gpu-0", SOON))
    api = Pods(user)
    year = time.time() - T0 + 366 * 86400
    async with controlling(api, held, rules=(a_rule(after=year),)):
        await asyncio.sleep(59)
        assert api.deletions == {}
        await asyncio.sleep(3)
    assert api.deletions == {"a": 1}


@in_virtual_time
async def test_a_deletion_that_comes_with_another_change_of_the_pod_changes_the_condition() -> None:
    """As where a list has what several events would have said."""
    user, held = pair("a", result("gpu-0", LATER))
    api = Pods(user)
    async with controlling(api, held, rules=(RULE,)) as controller:
        await asyncio.sleep(30)
        settled = controller.queue.delayed
        gone = user.bound("more", "b").changed("metadata", "resourceVersion", to="9")
        gone = gone.changed("metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z")
        api.watchers[0](gone.document)
        assert controller.queue.delayed == settled + 1, "the rule is reconciled again"


DEVICES = tuple(f"gpu-{index}" for index in range(4))
World = tuple[list[PodObject], list[ClaimObject], dict[str, str]]


def a_world(chance: random.Random) -> World:
    """Return pods, their claims, and what a rule selects."""
    users, claims = [], []
    for index in range(chance.randint(0, 10)):
        choices: list[list[dict[str, Any]]] = [[], [], [SOON], [LATER], [ALWAYS]]
        results = [
            result(one, *chance.choice(choices), pool=f"node-{chance.randint(1, 2)}")
            for one in chance.sample(DEVICES, chance.randint(1, 2))
        ]
        user, held = pair(f"pod-{index}", *results, namespace=f"ns-{chance.randint(1, 3)}")
        if chance.random() < 0.15:
            user = user.in_phase(chance.choice(("Succeeded", "Failed")))
        if chance.random() < 0.1:
            held = held.changed("status", "reservedFor", to=[])
        users.append(user)
        claims.append(held)
    whole = {"driver": DRIVER, "pool": "node-1", "device": chance.choice(DEVICES)}
    return users, claims, {key: one for key, one in whole.items() if chance.random() < 0.6}


@pytest.mark.parametrize("seed", range(examples(20)))
def test_a_dry_run_is_what_the_rule_then_does(seed: int) -> None:
    """The condition of a rule without effect, and then what the same rule does with effect."""
    users, claims, selector = a_world(random.Random(seed))
    slices = tuple(a_slice(pool, *DEVICES, pool=pool) for pool in ("node-1", "node-2"))

    @in_virtual_time
    async def run(effect: str) -> tuple[str, set[str], set[str]]:
        api = Pods(*users)
        rule = a_rule(effect=effect, selector=selector)
        async with controlling(api, *claims, rules=(rule,), slices=slices) as controller:
            await asyncio.sleep(60)
            later = {"/".join(one.place) for one in controller.state.planned.values()}
        message = api.rules[0]["status"]["conditions"][0]["message"]
        assert set(api.deletions.values()) <= {1}
        return message, set(api.deletions), later

    message, gone, later = run("None")
    assert (gone, later) == (set(), set())
    _, gone, later = run("NoExecute")
    names = [f"{one.document['metadata']['namespace']}/{one.name}" for one in users]
    left = later | {one for one in names if one.partition("/")[2] in gone}
    published, allocated, would, *_ = message.split(". ")
    assert would.startswith(f"{len(left)} pod{'' if len(left) == 1 else 's'} would be evicted in ")
    spaces = len({one.partition("/")[0] for one in left})
    assert f" in {spaces} " in would
    assert int(published.split()[0]) == sum(
        selector.items() <= {"driver": DRIVER, "pool": pool, "device": one}.items()
        for pool in ("node-1", "node-2")
        for one in DEVICES
    )
    assert int(allocated.split()[0]) == sum(
        selector.items() <= one.items()
        for held in claims
        for one in held.document["status"]["allocation"]["devices"]["results"]
    )
