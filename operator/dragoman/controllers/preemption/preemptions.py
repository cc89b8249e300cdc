"""The preemptions of the cluster: begins them within limits, takes them further, cleans up."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman import surroundings
from dragoman.allocation import DeviceID
from dragoman.controllers.preemption.carrier import AT_ONCE, Carrier, advance_all
from dragoman.controllers.preemption.rules import ReservationRules, read_rules
from dragoman.kube.client import Client, find, items
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import DEVICEPREEMPTIONS
from dragoman.logs import logger
from dragoman.model.fields import MalformedObjectError
from dragoman.preemption import journal as manifests
from dragoman.preemption.limits import BEGINNING, HOUR, OWNER_RESTS, PreemptionBudget
from dragoman.preemption.planner import PreemptionPlan
from dragoman.preemption.policy import Policy
from dragoman.preemption.reservation import MOST_RULES, TAINT_KEY
from dragoman.preemption.stored import ENDED, PREEMPT, Journal, Phase, mode_of

_CONFLICT = 409
STEP = 0.5
"""Seconds after which a step goes on beside others."""
REFUSED = frozenset({400, 403, 422})
"""A quota, a policy or a namespace that ends: no reason to leave out other pods."""

log = logger("dragoman.preemption")


@dataclass(slots=True)
class Preemptions:
    """What mode `on` does beside reports."""

    client: Client  # The account of preemption
    carrier: Carrier  # Takes preemptions further
    policy: Policy  # What is allowed
    journals: tuple[Journal, ...] = ()  # As they were read last
    # Whether the last steps wrote something, so that further ones may follow
    progressed: bool = False
    _rules: ReservationRules = field(default_factory=ReservationRules)
    _complete: bool = False
    _steps: dict[str, asyncio.Task[bool]] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _deleted: dict[str, Journal] = field(default_factory=dict)
    _known: dict[str, float] = field(default_factory=dict)  # When a UID was seen first, monotonic

    @property
    def budget(self) -> PreemptionBudget:
        """What the journals allow, and what this process knows of deleted ones."""
        deleted = tuple(self._deleted.values())
        since = surroundings.monotonic() - BEGINNING
        known = (one.uid for one in self.journals)
        young = frozenset(one for one in known if self._known.get(one, since + 1) > since)
        clock = self.carrier.clock()
        return PreemptionBudget(self.journals, self.carrier.limits, clock, deleted, young)

    @property
    def active(self) -> bool:
        """Whether a preemption is under way, or something is to be cleaned up."""
        return any(one.active for one in self.journals)

    @property
    def reserved(self) -> int:
        """Return how many devices are reserved."""
        return sum(map(len, self._rules.reserved.values()))

    async def refresh(self, *, all_of: bool = True) -> None:
        """Read rules, then journals: a rule that has no journal here is a stray one.

        Args:
            all_of: Whether all are read. Otherwise only reservations are, and the preemptions that
                are under way here: clusters may have thousands of rules and reports beside them.
        """
        async with self._lock:
            if all_of:
                rules = await read_rules(self.client, self.carrier.rules)
                found = await self._listed()
            else:
                mine = await read_rules(self.client, self.carrier.rules, labelSelector=TAINT_KEY)
                rules = replace(self._rules, reserved=mine.reserved)
                read = await asyncio.gather(*(self._again(one) for one in self.journals))
                found = [one for one in read if one is not None]
            self._rules, self._complete = rules, all_of
            self._keep_deleted({one.uid for one in found})
            self.journals = tuple(found)
            now = surroundings.monotonic()
            self._known = {one.uid: self._known.get(one.uid, now) for one in found}
            self.carrier.keep({one.uid for one in found if one.active})

    async def _listed(self) -> list[Journal]:
        documents = items(self.client, DEVICEPREEMPTIONS.path())
        parsed = [_parsed(one) async for one in documents if mode_of(one) == PREEMPT]
        return [one for one in parsed if one is not None]

    async def _again(self, journal: Journal) -> Journal | None:
        """Read a journal again; None where it is gone. Ended ones do not change any more."""
        if not journal.active:
            return journal
        path = DEVICEPREEMPTIONS.path(journal.namespace, journal.name)
        document = await find(self.client, path)
        return _parsed(document) if document is not None and mode_of(document) == PREEMPT else None

    def _keep_deleted(self, present: Collection[str]) -> None:
        """Keep for an hour what was evicted for pods whose objects are gone.

        Users who may delete the pods or objects of a namespace must not reset limits.
        """
        now = self.carrier.clock()
        for one in self.journals:
            if one.uid not in present and one.evictions:
                done = one.phase in ENDED
                self._deleted[one.uid] = (
                    one if done else replace(one, phase=Phase.ABORTED, ended=now)
                )
        self._deleted = {uid: one for uid, one in self._deleted.items() if now - one.ended < HOUR}

    async def advance(self) -> None:
        """Take each preemption a step further; release what no preemption reserves.

        A step that takes long, as where the plan is computed again, keeps no other one back: it
        ends beside later calls.
        """
        active = [one for one in self.journals if one.active]
        for one in active:
            if one.uid not in self._steps:
                step = advance_all(self.carrier, [one], self._rules)
                self._steps[one.uid] = asyncio.create_task(step)
        if self._steps:
            await asyncio.wait(self._steps.values(), timeout=STEP)
        done = [one for one in self._steps.values() if one.done()]
        self._steps = {uid: one for uid, one in self._steps.items() if not one.done()}
        errors = [error for one in done if (error := one.exception()) is not None]
        if errors:
            raise errors[0]
        self.progressed = any(one.result() for one in done)
        if self._complete:
            reserving = {one.pod_uid for one in (*active, *self.journals) if one.active}
            await self._release_strays(reserving)
            await self._forget()

    def stop(self) -> None:
        """End what goes on beside calls."""
        for one in self._steps.values():
            one.cancel()
        self._steps = {}

    async def _release_strays(self, reserving: Collection[str]) -> None:
        reserved = self._rules.reserved.items()
        strays = [one for uid, rules in reserved if uid not in reserving for one in rules.values()]
        for start in range(0, len(strays), AT_ONCE):
            some = strays[start : start + AT_ONCE]
            await asyncio.gather(*(self.carrier.delete_rule(*one) for one in some))

    async def advance_one(self, journal: Journal) -> None:
        """Take one preemption a step further, and nothing else."""
        await advance_all(self.carrier, [journal], self._rules)

    def limited(self, plan: PreemptionPlan, known: Collection[str]) -> str:
        """Return which limit, that passes, keeps a preemption from beginning; empty where none.

        Args:
            plan: With victims.
            known: UIDs of preemptions whose reservations the plan knows.
        """
        chosen = plan.chosen
        assert chosen is not None  # only plans with victims begin
        pod = plan.subject.pod.pod.metadata
        refusals = self.budget.refusals(pod.namespace, pod.uid, chosen, known)
        refusal = next(refusals, "")
        return f"Nothing is evicted now: {refusal}" if refusal else ""

    async def obstacle(self, plan: PreemptionPlan, reserved: Sequence[DeviceID]) -> str:
        """Return what stands in the way until the pod changes; empty where nothing does.

        Args:
            plan: With victims.
            reserved: What it would reserve.
        """
        pod = plan.subject.pod.pod.metadata
        if len(reserved) > MOST_RULES:
            return f"Nothing is evicted: {len(reserved)} devices share counters"
        if obstacle := await self.carrier.obstacle(pod.namespace, pod.name, pod.uid):
            return f"Nothing is evicted: {obstacle}"
        return ""

    async def begin(self, plan: PreemptionPlan, reserved: Sequence[DeviceID]) -> str:
        """Begin a preemption; return why not, empty where it has begun."""
        async with self._lock:  # one that begins is in no list that was read before
            return await self._begun(plan, reserved)

    async def _begun(self, plan: PreemptionPlan, reserved: Sequence[DeviceID]) -> str:
        pod = plan.subject.pod.pod.metadata
        made = manifests.preempting(plan, reserved, self.budget.attempt(pod.uid))
        try:
            stored = await self.carrier.writing.post(DEVICEPREEMPTIONS.path(pod.namespace), made)
        except ApiError as error:
            if error.code in REFUSED:
                return f"Nothing is evicted: {error}"
            if error.code != _CONFLICT:
                raise
            return "Another process has begun a preemption for the pod"
        self.journals = (*self.journals, Journal.parse(stored))
        self.progressed = True
        log.info("Preemption begins", pod=plan.subject.pod.key, node=made["spec"]["node"])
        return ""

    def allowed(self, journal: Journal | None = None) -> Policy:
        """Return the policy, with the controllers that are spared because they lost pods lately."""
        now = self.carrier.clock()
        lost = self.budget.resting(journal)
        return replace(
            self.policy,
            resting=frozenset(one for one, at in lost.items() if now - at < OWNER_RESTS),
            recent=frozenset(one for one, at in lost.items() if now - at < HOUR),
            promised=self._promised(journal),
            min_runtime=self.carrier.limits.min_runtime,
        )

    def _promised(self, journal: Journal | None) -> dict[str, str]:
        """Return where other preemptions make room; for a journal, only those before it."""
        return {
            one.pod_uid: one.node
            for one in self.budget.running
            if journal is None or (one.created, one.uid) < (journal.created, journal.uid)
        }

    async def _forget(self) -> None:
        """Delete the records that no limit counts any more."""
        now = self.carrier.clock()
        for one in self.journals:
            if one.phase not in ENDED or one.active or now - one.ended < HOUR:
                continue
            path = DEVICEPREEMPTIONS.path(one.namespace, one.name)
            try:
                await self.carrier.writing.delete(path, {"preconditions": {"uid": one.uid}})
            except ApiError as error:
                if error.code not in {404, _CONFLICT}:
                    raise


async def take_over(carrier: Carrier, namespace: str, name: str) -> bool:
    """Delete the report that a preemption takes the place of.

    Returns:
        Whether the name is free; False where a preemption has it.
    """
    path = DEVICEPREEMPTIONS.path(namespace, name)
    found = await find(carrier.client, path)
    if found is None:
        return True
    if mode_of(found) == PREEMPT:
        return False
    try:
        await carrier.writing.delete(path, {"preconditions": {"uid": found["metadata"]["uid"]}})
    except ApiError as error:
        if error.code not in {404, _CONFLICT}:
            raise
    return True


def _parsed(document: Mapping[str, Any]) -> Journal | None:
    try:
        return Journal.parse(document)
    except MalformedObjectError as error:
        log.warning("Cannot read a DevicePreemption", error=str(error))
        return None
