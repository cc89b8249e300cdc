"""Drains devices: plans, writes, and waits for the next change until the devices are idle."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from dragoman import surroundings
from dragoman.controllers.maintenance.view import MaintenanceView
from dragoman.controllers.maintenance.writer import WriteOutcome, Writer, WriteResult, hold_name
from dragoman.kube.errors import ApiError
from dragoman.maintenance.actions import (
    Action,
    CreateHeldClaim,
    CreateTaintRule,
    EvictionMode,
    EvictPod,
)
from dragoman.maintenance.holds import Hold, HoldKind, HoldSelector
from dragoman.maintenance.plan import MaintenanceFacts, MaintenancePlan, plan
from dragoman.model.deviceid import DeviceID

TICK, IDLE_TICK = 1.0, 10.0
"""Longest seconds between two plans, while devices are in use and after."""
TRIES = 3
"""How often a hold that is to be created may exist already, because another process is faster."""
ALREADY_EXISTS = "AlreadyExists"
_REFUSED = frozenset({400, 403, 409, 422})
"""Answers about one object, not about the API server."""
SETTLE = 3.0
"""Seconds after the last hold was written before idle devices count as drained: the scheduler may
have chosen a device just before it saw the hold, and writes such an allocation within moments."""
FIRST_EVICTION_RETRY, LONGEST_EVICTION_RETRY = 1.0, 5.0
"""Seconds until a refused eviction is tried again; kubectl drain waits 5 seconds each time."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is drained, and how."""

    devices: tuple[DeviceID, ...]  # The target
    selectors: tuple[HoldSelector, ...]  # What rules select
    kind: HoldKind  # How devices are held
    evict: EvictionMode = EvictionMode.NEVER  # What happens to pods
    rate: float = 0.0  # Least seconds between two evictions
    unmanaged: bool = True  # Whether pods without a controller are evicted as well


class DrainStep(StrEnum):
    """What a drain reports."""

    CREATED = "created"
    EXISTED = "existed"
    REFUSED = "refused"
    EVICTED = "evicted"
    ENDED = "ended"
    TOLERATES = "tolerates"
    RETURNS = "returns"
    UNMANAGED = "unmanaged"


@dataclass(frozen=True, slots=True)
class News:
    """One step of a drain."""

    step: DrainStep  # What happened
    subject: str  # The pod as `namespace/name`, the object or the claim
    message: str = ""  # Why, where there is a reason
    seconds: float = 0.0  # Since the pod was first to be evicted


@dataclass
class _Attempt:
    """Evictions of one pod."""

    began: float
    again: float = 0.0
    delay: float = FIRST_EVICTION_RETRY
    message: str = ""
    evicted: bool = False


@dataclass
class Drainer:
    """Carries out the plans for one order."""

    view: MaintenanceView  # Claims and pods, followed by the caller
    writer: Writer  # Writes for this order
    order: Order  # What is drained
    # Receives what happens
    report: Callable[[News], None] = lambda news: None  # noqa: ARG005 — nothing is reported
    clock: Callable[[], float] = surroundings.monotonic  # Monotonic seconds
    plan: MaintenancePlan | None = None  # The last plan; None before the first
    rules: tuple[Hold, ...] = ()  # DeviceTaintRules at the last tick
    _attempts: dict[str, _Attempt] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)
    _existing: Counter[Action] = field(default_factory=Counter)
    _began: str = ""
    _written: float = float("-inf")
    _next_eviction: float = float("-inf")
    _ticked: float = float("-inf")

    async def run(
        self, done: Callable[[MaintenancePlan], bool], settle: float = SETTLE
    ) -> MaintenancePlan:
        """Plan and write until a plan is done; return it.

        Args:
            done: Whether a plan leaves nothing to wait for. It is tried again on a live list of
                claims, some time after the last hold was written.
            settle: That time, in seconds.

        Raises:
            ApiError: A hold cannot be written.
        """
        changed = asyncio.Event()

        def notice(devices: Collection[DeviceID] | None) -> None:
            if devices is None:
                self._ticked = float("-inf")  # rules are read again
                changed.set()
            elif not wanted.isdisjoint(devices):
                changed.set()

        async with self.view.notifying(notice):
            while True:
                changed.clear()
                wanted = frozenset(self.order.devices)
                current = await self.step()
                if done(current) and await self._settled(done, settle):
                    return self.plan or current
                # Not wait_for, which loses a cancellation that meets a change (Python 3.11).
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._tick()):
                        await changed.wait()

    def settled(self) -> bool:
        """Whether the scheduler must have seen every hold."""
        return self.clock() - self._written >= SETTLE

    def refusals(self) -> dict[str, str]:
        """Return why the Eviction API refused pods that still use a device, by name."""
        pods = self.plan.pods if self.plan else ()
        return {
            f"{pod.metadata.namespace}/{pod.metadata.name}": attempt.message
            for pod in pods
            if (attempt := self._attempts.get(pod.metadata.uid))
            and attempt.message
            and not attempt.evicted
        }

    def _tick(self) -> float:
        done = self.plan is not None and self.plan.idle and self.plan.held
        return IDLE_TICK if done and self.settled() else TICK

    async def step(self) -> MaintenancePlan:
        """Make a plan, and do what can be done now; raise the first ApiError at the end."""
        if self.clock() - self._ticked >= self._tick():
            self.rules = await self.view.rules(self.writer.rules)
            self._ticked = self.clock()
        self.plan = current = plan(self.facts())
        self._report_pods(current)
        refused: ApiError | None = None
        for action in current.actions:
            if isinstance(action, EvictPod) and not self._may_evict(action):
                continue
            try:
                await (self._evict(action) if isinstance(action, EvictPod) else self._hold(action))
            except ApiError as error:
                if error.code not in _REFUSED:
                    raise
                refused = refused or error  # the others must not wait for this one
        if refused is not None:
            raise refused
        return current

    def facts(self) -> MaintenanceFacts:
        """Return what the next plan is computed from."""
        self._began = self._began or self.view.newest()
        claims = self.view.of_devices(self.order.devices)
        owners = tuple(one.fact for one in claims if one.hold is None or one.used)
        held = tuple(
            one.hold
            for one in claims
            if one.hold and (one.holds_device or one.hold.namespace == self.writer.namespace)
        )
        return MaintenanceFacts(
            devices=self.order.devices,
            kind=self.order.kind,
            selectors=self.order.selectors,
            holds=(*self.rules, *held),
            claims=owners,
            pods=self.view.pods_of(owners),
            evict=self.order.evict,
            began=self._began,
            maintenance=self.writer.origin.maintenance,
            unmanaged=self.order.unmanaged,
        )

    async def _settled(self, done: Callable[[MaintenancePlan], bool], settle: float) -> bool:
        """Whether a plan is still done on a live list, some time after the last hold."""
        remaining = self._written + settle - self.clock()
        if remaining > 0:
            return False
        await self.view.refresh()
        self._ticked = float("-inf")
        return done(await self.step())

    async def _hold(self, action: Action) -> None:
        outcome = await self.writer.do(action)
        self._written = self.clock()
        self._ticked = float("-inf")
        if outcome.written is not None:
            self.view.wrote(outcome.written)
        self._require_hold(action, outcome)
        name = hold_name(action, outcome)
        if name and name not in self._reported:
            self._reported.add(name)
            created = outcome.result is WriteResult.DONE
            self.report(News(DrainStep.CREATED if created else DrainStep.EXISTED, name))

    def _require_hold(self, action: Action, outcome: WriteOutcome) -> None:
        """Raise ApiError where an object has the name of a hold again and again, and is none."""
        if outcome.result is not WriteResult.EXISTS or outcome.written is None:
            return
        self._existing[action] += 1
        if self._existing[action] > TRIES and isinstance(action, CreateTaintRule | CreateHeldClaim):
            name = outcome.written["metadata"]["name"]
            if isinstance(action, CreateTaintRule):
                what, kind = str(action.selector), "devicetaintrule"
            else:
                what, kind = str(action.device), f"-n {self.writer.namespace} resourceclaim"
            text = f"{name} exists already and does not hold {what}: kubectl delete {kind} {name}"
            raise ApiError(409, ALREADY_EXISTS, text)

    def _may_evict(self, action: EvictPod) -> bool:
        now = self.clock()
        attempt = self._attempts.setdefault(action.uid, _Attempt(began=now))
        return not attempt.evicted and now >= max(attempt.again, self._next_eviction)

    async def _evict(self, action: EvictPod) -> None:
        attempt = self._attempts[action.uid]
        self._names[action.uid] = action.key
        outcome = await self.writer.do(action)
        now = self.clock()
        if outcome.result in {WriteResult.REFUSED, WriteResult.CONFLICT}:
            attempt.delay = min(attempt.delay * 1.5, LONGEST_EVICTION_RETRY)
            attempt.again = now + max(attempt.delay, outcome.retry_after or 0.0)
            if outcome.message and outcome.message != attempt.message:
                attempt.message = outcome.message
                self.report(
                    News(DrainStep.REFUSED, action.key, outcome.message, now - attempt.began)
                )
            return
        attempt.evicted = True
        if outcome.result is WriteResult.DONE:
            self._next_eviction = now + self.order.rate
            self.report(News(DrainStep.EVICTED, action.key, seconds=now - attempt.began))

    def _report_pods(self, current: MaintenancePlan) -> None:
        """Report evicted pods that have ended, and claims that tolerate the hold."""
        there = {pod.metadata.uid for pod in current.pods}
        for uid, name in [*self._names.items()]:
            if uid not in there:
                began = self._attempts[uid].began
                del self._names[uid]
                if self._attempts[uid].evicted:
                    self.report(News(DrainStep.ENDED, name, seconds=self.clock() - began))
        for step, names in (
            (DrainStep.TOLERATES, current.tolerating),
            (DrainStep.RETURNS, current.returning),
            (DrainStep.UNMANAGED, current.unmanaged),
        ):
            for name in names:
                if name not in self._reported:
                    self._reported.add(name)
                    self.report(News(step, name))
