"""The next writes of a drain: what is held, who is evicted, and when nothing is left."""

from dataclasses import replace

import pytest

from dragoman.maintenance.actions import (
    Allocate,
    CreateHeldClaim,
    CreateTaintRule,
    EvictionMode,
    EvictPod,
    MarkOverlap,
    Reallocate,
)
from dragoman.maintenance.holds import Hold, HoldKind, HoldSelector
from dragoman.maintenance.plan import plan
from dragoman.model.claim import Claim
from dragoman.model.deviceid import DeviceID
from tests.unit.dragoman.maintenance.builders import (
    NEW,
    OLD,
    A,
    B,
    facts,
    held_claim,
    rule,
    running,
    user,
)

EVERYTHING = {"operator": "Exists"}


def eviction(name: str, *, now: bool = False) -> EvictPod:
    return EvictPod("ns", name, f"uid-of-ns-{name}", now)


def test_the_rule_comes_before_any_eviction() -> None:
    found = plan(facts(user("x"), pods=[running("x")]))
    assert found.actions == (CreateTaintRule(HoldSelector(*A)),)
    assert (found.held, found.idle) == (False, False)


def test_pods_are_evicted_once_the_rule_is_there() -> None:
    found = plan(facts(user("x"), pods=[running("x")], holds=[rule()]))
    assert found.actions == (eviction("x"),)
    assert (found.held, found.idle) == (True, False)


def test_a_hold_that_a_devicemaintenance_ends_is_no_hold_of_a_command() -> None:
    foreign = replace(rule(), maintenance="m")
    found = plan(facts(holds=[foreign]))
    assert found.actions == (CreateTaintRule(HoldSelector(*A)),)
    assert found.held
    assert plan(replace(facts(holds=[foreign]), maintenance="m")).actions == ()
    claim = replace(held_claim(), maintenance="m")
    assert plan(facts(holds=[claim])).actions == (CreateTaintRule(HoldSelector(*A)),)


def test_one_rule_for_a_pool_covers_its_devices() -> None:
    found = plan(facts(devices=(A, B), holds=[rule(HoldSelector(A.driver, A.pool))]))
    assert found.actions == ()
    assert (found.held, found.idle) == (True, True)


def test_a_plan_compares_each_device_with_its_own_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of devices with a hold each must not delay everything else in the operator."""
    devices = tuple(A._replace(device=f"gpu-{index}") for index in range(300))
    made = facts(devices=devices, holds=[rule(HoldSelector(*one)) for one in devices])
    compared = []
    covers = HoldSelector.covers

    def counted(selector: HoldSelector, device: DeviceID) -> bool:
        compared.append(device)
        return covers(selector, device)

    monkeypatch.setattr(HoldSelector, "covers", counted)
    assert plan(made).held
    assert len(compared) <= len(devices)


def test_pods_stay_when_only_a_hold_is_wanted() -> None:
    found = plan(facts(user("x"), pods=[running("x")], holds=[rule()], evict=EvictionMode.NEVER))
    assert found.actions == ()
    assert [claim.key for claim in found.claims] == ["ns/x"]


def test_now_deletes() -> None:
    found = plan(facts(user("x"), pods=[running("x")], holds=[rule()], evict=EvictionMode.NOW))
    assert found.actions == (eviction("x", now=True),)


def test_ended_and_ending_pods_are_left_alone() -> None:
    ended = running("x", phase="Succeeded")
    assert plan(facts(user("x"), pods=[ended], holds=[rule()])).actions == ()


def test_admin_access_is_no_use() -> None:
    found = plan(facts(user("x", adminAccess=True), pods=[running("x")], holds=[rule()]))
    assert found.actions == ()
    assert found.idle


@pytest.mark.parametrize(
    ("created", "tolerations", "evicted"),
    [
        pytest.param(OLD, [EVERYTHING], True, id="the claim was there before the rule"),
        pytest.param(NEW, [], True, id="the scheduler had not seen the rule yet"),
        pytest.param(NEW, [EVERYTHING], False, id="tolerates every taint, and would come back"),
        pytest.param(NEW, [{"key": "dragoman.dev/maintenance"}], False, id="tolerates the key"),
        pytest.param(NEW, [{"key": "other", "operator": "Exists"}], True, id="another key"),
        pytest.param(NEW, [EVERYTHING | {"effect": "NoExecute"}], True, id="another effect"),
    ],
)
def test_who_comes_after_the_rule_by_a_toleration_stays(
    created: str, tolerations: list[dict[str, str]], evicted: bool
) -> None:
    claim = user("x", created=created, tolerations=tolerations)
    found = plan(facts(claim, pods=[running("x")], holds=[rule()]))
    assert found.actions == ((eviction("x"),) if evicted else ())
    assert found.tolerating == (() if evicted else ("ns/x",))


@pytest.mark.parametrize(
    ("allocated", "created", "returns"),
    [
        pytest.param(OLD, NEW, True, id="a replacement on the claim of its predecessor"),
        pytest.param(OLD, OLD, False, id="a user from before the drain"),
        pytest.param(NEW, NEW, False, id="the claim came after that"),
        pytest.param("", NEW, False, id="the time of the allocation is not known"),
    ],
)
def test_replacements_on_a_shared_claim_are_named_and_not_evicted(
    allocated: str, created: str, returns: bool
) -> None:
    claim = user("x")
    assert claim.held is not None
    claim = replace(claim, held=replace(claim.held, allocated_at=allocated))
    pod = running("x")
    pod = replace(pod, metadata=replace(pod.metadata, created=created))
    began = replace(facts(claim, pods=[pod], holds=[rule()]), began="2026-11-22T10:30:00Z")
    found = plan(began)
    assert found.returning == (("ns/x",) if returns else ())
    assert found.actions == (() if returns else (eviction("x"),))


# Held claims --------------------------------------------------------------------------------------


def test_a_held_claim_is_created_early_and_allocated_when_the_device_is_free() -> None:
    used = facts(user("x"), kind=HoldKind.CLAIM, pods=[running("x")])
    assert plan(used).actions == (CreateHeldClaim(A),)
    waiting = held_claim(allocated=False)
    used = facts(user("x"), kind=HoldKind.CLAIM, pods=[running("x")], holds=[waiting])
    assert plan(used).actions == (eviction("x"),)
    assert not plan(used).held
    assert plan(facts(kind=HoldKind.CLAIM, holds=[waiting])).actions == (Allocate(waiting, A),)
    found = plan(facts(kind=HoldKind.CLAIM, holds=[held_claim()]))
    assert (found.actions, found.held, found.idle) == ((), True, True)


def test_a_claim_that_got_the_device_too_is_marked_then_made_good() -> None:
    both = facts(user("x"), kind=HoldKind.CLAIM, pods=[running("x")], holds=[held_claim()])
    assert plan(both).actions == (MarkOverlap(held_claim()), eviction("x"))
    assert not plan(both).held
    marked = held_claim(overlapped=True)
    both = facts(user("x"), kind=HoldKind.CLAIM, pods=[running("x")], holds=[marked])
    assert plan(both).actions == (eviction("x"),)
    after = plan(facts(kind=HoldKind.CLAIM, holds=[marked]))
    assert after.actions == (Reallocate(marked, A),)
    assert not after.held


def test_shares_do_not_delay_a_held_claim() -> None:
    share = user("x", shareID="11111111-1111-1111-1111-111111111111")
    waiting = held_claim(allocated=False)
    found = plan(facts(share, kind=HoldKind.CLAIM, holds=[waiting], evict=EvictionMode.NEVER))
    assert found.actions == (Allocate(waiting, A),)


def test_a_held_claim_suffices_where_rules_are_served_later() -> None:
    found = plan(facts(kind=HoldKind.RULE, holds=[held_claim()]))
    assert (found.actions, found.held) == ((), True)


# Level-driven -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*HoldKind])
@pytest.mark.parametrize("evict", [*EvictionMode])
@pytest.mark.parametrize("claims", [(), (user("x"),), (user("x"), user("y", "b"))], ids=len)
def test_carrying_out_plans_ends(
    kind: HoldKind, evict: EvictionMode, claims: tuple[Claim, ...]
) -> None:
    """Apply each action to the facts as the API server would; at the end nothing is left to do."""
    holds: list[Hold] = []
    left, pods = {one.key: one for one in claims}, [running("x"), running("y")]
    for _ in range(20):
        state = facts(
            *left.values(), kind=kind, holds=holds, pods=pods, evict=evict, devices=(A, B)
        )
        actions = plan(state).actions
        if not actions:
            break
        for action in actions:
            match action:
                case CreateTaintRule(selector):
                    holds.append(rule(selector))
                case CreateHeldClaim(device):
                    holds.append(held_claim(device, allocated=False))
                case Allocate(hold, device) | Reallocate(hold, device):
                    holds[holds.index(hold)] = held_claim(device)
                case EvictPod(_, name):
                    left.pop(f"ns/{name}")
                case MarkOverlap():
                    raise AssertionError("no other claim gets a device here")
    else:
        raise AssertionError("it does not end")
    end = plan(state)
    assert end.idle == (evict is not EvictionMode.NEVER or not claims)
    assert end.held == (kind is HoldKind.RULE or end.idle)
