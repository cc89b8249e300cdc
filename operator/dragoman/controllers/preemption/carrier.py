"""Carries out preemptions: gathers what one step needs, and is the one place that writes.

It keeps nothing that matters: after the end of the process another one goes on from the objects.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from dragoman import surroundings
from dragoman.allocation import DeviceID
from dragoman.cluster.reader import Reader
from dragoman.controllers.maintenance.writer import WriteOutcome, WriteResult, evict
from dragoman.controllers.preemption.claimstates import claim_states
from dragoman.controllers.preemption.planning import CRUCIAL, NEEDED, looked
from dragoman.controllers.preemption.rules import ReservationRules, read_rules
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.client import MERGE_PATCH, Client, find
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import DEVICEPREEMPTIONS, PODS, Resource
from dragoman.kube.singleflight import SingleFlight
from dragoman.logs import logger
from dragoman.maintenance.actions import EvictPod
from dragoman.model.pod import TERMINAL_PHASES
from dragoman.preemption.policy import Policy
from dragoman.preemption.preemptionfacts import POD_FIELDS
from dragoman.preemption.protocol import (
    Action,
    ClaimState,
    CreateReservation,
    DeleteRule,
    EvictVictim,
    Look,
    ProtocolFacts,
    ProtocolStep,
    RemoveJournalFinalizer,
    ReplaceClaim,
    SetStatus,
    Sight,
    Tell,
    TellVictim,
    step,
)
from dragoman.preemption.reservation import out_of_service, rule_manifest
from dragoman.preemption.stored import FINALIZER, Journal, Phase, PreemptionLimits, timestamp

LOOK_AGAIN = 3.0
"""Seconds between two plans that are computed again for one preemption."""
_GONE = frozenset({404, 409})
_TIMES = frozenset({"reservedAt", "deadline", "endedAt"})
GLANCE = 1.0
"""Seconds between looks at the pod while its plan is computed again."""
AT_ONCE = 16
"""Rules that are created or deleted at the same time."""
NOTE = 1024
"""Characters of a message."""
Post = Callable[[str, str, str, str, str], None]
"""Posts an Event: namespace, name and UID of the pod, reason, note."""

log = logger("dragoman.preemption")


@dataclass(slots=True)
class Carrier:
    """Takes preemptions further, one step at a time."""

    client: Client  # Who writes: the account of preemption
    claims: Resource  # ResourceClaims in the served version
    templates: Resource  # ResourceClaimTemplates in that version
    rules: Resource  # DeviceTaintRules in the served version
    # Returns what is allowed; for a journal, without its own evictions
    policy: Callable[[Journal], Policy]
    limits: PreemptionLimits  # How long it may take
    # Whether this process leads; asked before each write
    leading: Callable[[], bool] = lambda: True
    post: Post = lambda *_: None  # Posts an Event
    # Called with `plans` or `victims`, and an outcome
    observe: Callable[[str, str], None] = lambda *_: None
    clock: Callable[[], float] = surroundings.unix  # Unix time
    _looked: dict[str, float] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)
    _reads: SingleFlight[None, Snapshot] = field(init=False)  # Plans at one time share one

    def __post_init__(self) -> None:
        """Share reads."""
        self._reads = SingleFlight(self._read)

    async def advance(self, journal: Journal, rules: ReservationRules) -> ProtocolStep:
        """Take one step of a preemption; return it with the actions that wrote something.

        Args:
            journal: The preemption.
            rules: Of the cluster.

        Raises:
            ApiError: A request failed; the step is repeated later.
            NotLeadingError: Another process leads by now.
        """
        seen = await self._seen(journal, rules.reserved.get(journal.pod_uid, {}))
        drained = out_of_service(rules.others, journal)
        seen = replace(seen, drained=next(iter(drained), None))
        found = step(seen)
        if found.look:
            now = surroundings.monotonic()
            if now - self._looked.get(journal.uid, float("-inf")) < LOOK_AGAIN:
                return replace(found, reason="the plan is computed again shortly")
            self._looked[journal.uid] = now
            found = step(await self._computed(journal, seen))
        elif not found.actions and journal.phase is Phase.PLACING:
            self._looked.pop(journal.uid, None)
        if any(isinstance(one, EvictVictim) for one in found.actions):
            # Plans take seconds in large clusters: a drain that began since wins as well.
            now_known = await read_rules(self.client, self.rules)
            if set(out_of_service(now_known.others, journal)) - set(drained):
                return ProtocolStep("a device has just been taken out of service")
        return replace(found, actions=await self._carried_out(found.actions, journal))

    async def _carried_out(self, actions: Iterable[Action], journal: Journal) -> tuple[Action, ...]:
        """Carry out actions until one is refused; return those that wrote something."""
        wrote: list[Action] = []
        left = deque(actions)
        while left:
            # Rules do not depend on each other, and a plan may have hundreds.
            together = list(
                takewhile(lambda one: isinstance(one, DeleteRule | CreateReservation), left)
            )
            together = (together or [left[0]])[:AT_ONCE]
            done = await asyncio.gather(*(self._do(one, journal) for one in together))
            wrote += [one for one, (_, changed) in zip(together, done, strict=True) if changed]
            journals = [written for written, _ in done if written is not None]
            if len(journals) < len(together):
                break
            journal = journals[-1]
            for _ in together:
                left.popleft()
        return tuple(wrote)

    def keep(self, active: Collection[str]) -> None:
        """Forget what is known of preemptions other than those with these UIDs."""
        for known in (self._looked, self._said):
            for uid in known.keys() - active:
                del known[uid]

    async def obstacle(self, namespace: str, name: str, uid: str) -> str:
        """Return why the claims of a pod cannot come to tolerate a reservation, empty if they can.

        Raises:
            ApiError: They cannot be read.
        """
        pod = await find(self.client, PODS.path(namespace, name))
        if pod is None or _gone(pod, uid):
            return "the pod has ended"
        if unknown := sorted(pod["spec"].keys() - POD_FIELDS):
            return f"plans do not know spec.{unknown[0]} of the pod"
        for one in await claim_states(self.client, self.claims, self.templates, pod):
            if not (one.allocated or one.tolerates or one.replacement):
                return f"claim {one.name} {one.why_not}"
        return ""

    # Reading --------------------------------------------------------------------------------------

    async def _seen(
        self, journal: Journal, rules: Mapping[DeviceID, tuple[str, str]]
    ) -> ProtocolFacts:
        pod = await find(self.client, PODS.path(journal.namespace, journal.pod))
        gone = pod is None or _gone(pod, journal.pod_uid)
        states: tuple[ClaimState, ...] = ()
        if pod is not None and not gone and journal.phase is Phase.RESERVING:
            states = await claim_states(self.client, self.claims, self.templates, pod)
        return ProtocolFacts(
            journal,
            self.clock(),
            node="" if pod is None or gone else str(pod["spec"].get("nodeName") or ""),
            gone=gone,
            claims=states,
            rules=rules,
            limits=self.limits,
            said=_said(pod or {}),
        )

    async def _computed(self, journal: Journal, seen: ProtocolFacts) -> ProtocolFacts:
        """Compute the plan again; a pod that is placed or ends until then needs none."""
        look = asyncio.create_task(self._look(journal))
        try:
            while not (await asyncio.wait({look}, timeout=GLANCE))[0]:
                now = await self._seen(journal, seen.rules)
                if now.node or now.gone:
                    return replace(seen, node=now.node, gone=now.gone)
            return replace(seen, look=look.result())
        finally:
            look.cancel()
            await asyncio.gather(look, return_exceptions=True)

    async def _read(self, _: None) -> Snapshot:
        return await Reader(self.client, "").read(NEEDED)

    async def _look(self, journal: Journal) -> Look:
        snapshot = await self._reads.do(None)
        # A refused list of namespaces or budgets is no entry of `unseen`.
        if CRUCIAL - snapshot.objects.keys() or snapshot.unseen:
            return Look(Sight.UNKNOWN)
        policy = self.policy(journal)
        return await surroundings.in_daemon_thread(
            looked, snapshot, journal, policy, lambda: surroundings.unneeded() or not self.leading()
        )

    # Writing --------------------------------------------------------------------------------------

    @property
    def writing(self) -> Client:
        """The client, for one write; raise NotLeadingError where another process leads by now."""
        if not self.leading():
            raise NotLeadingError
        return self.client

    async def _do(self, action: Action, journal: Journal) -> tuple[Journal | None, bool]:
        """Carry out an action.

        Returns:
            The journal as it is then, None where no other action may follow; and whether anything
            was written.
        """
        _ = self.writing
        done = wrote = True
        match action:
            case SetStatus():
                written = await self._set_status(action, journal)
                return written, written is not None
            case RemoveJournalFinalizer():
                kept = [one for one in journal.finalizers if one != FINALIZER]
                written = await self._patched(journal, {"metadata": {"finalizers": kept or None}})
                return written, written is not None
            case CreateReservation(device):
                # Where another process has reserved it for the same pod, the name says so.
                # 404 is an error: the version of the rules is not served any more.
                wrote = await unless_gone(self.writing.post(*self._rule(device, journal)), {409})
            case DeleteRule(name, uid):
                # One that is gone already keeps nothing back.
                wrote = await self.delete_rule(name, uid)
            case ReplaceClaim():
                done = wrote = await self._replace(action)
            case EvictVictim():
                done = wrote = await self._evict(action, journal)
            case Tell(reason, note):
                self.post(journal.namespace, journal.pod, journal.pod_uid, reason, note)
            case TellVictim(victim, note):
                pod = victim.pod
                self.post(pod.namespace, pod.name, pod.uid, "DevicePreempted", note)
        return (journal if done else None), wrote

    def _rule(self, device: DeviceID, journal: Journal) -> tuple[str, dict[str, Any]]:
        return self.rules.path(), rule_manifest(self.rules.api_version, device, journal.pod_uid)

    async def delete_rule(self, name: str, uid: str) -> bool:
        """Delete the rule with this UID; one that is gone needs nothing."""
        path = self.rules.path(name=name)
        return await unless_gone(self.writing.delete(path, {"preconditions": {"uid": uid}}))

    async def _replace(self, action: ReplaceClaim) -> bool:
        claim, manifest = action.claim, action.claim.replacement
        assert manifest is not None  # a step replaces no other claim
        namespace = manifest["metadata"]["namespace"]
        if claim.uid:
            conditions = {"uid": claim.uid, "resourceVersion": claim.version}
            path = self.claims.path(namespace, claim.name)
            try:
                await self.writing.delete(path, {"preconditions": conditions})
            except ApiError as error:
                if error.code not in _GONE:
                    raise
                return False
        return await unless_gone(self.writing.post(self.claims.path(namespace), manifest))

    async def _evict(self, action: EvictVictim, journal: Journal) -> bool:
        pod = action.victim.pod
        asked = EvictPod(pod.namespace, pod.name, pod.uid)
        outcome = await evict(self.writing, asked, {"preconditions": {"uid": pod.uid}})
        if outcome.result in {WriteResult.DONE, WriteResult.EXISTS}:
            log.info("Evicted for a pod of higher priority", pod=pod.key, node=pod.node)
            self.observe("victims", "evicted")
            return True
        self.observe("victims", "refused")
        await self._say_refusal(journal, pod.namespace, outcome)
        return False

    async def _say_refusal(self, journal: Journal, namespace: str, outcome: WriteOutcome) -> None:
        """Say why an eviction waits; budgets of other namespaces have no name here."""
        note = outcome.message or "A pod has changed; the plan is computed again."
        if namespace != journal.namespace:
            note = "A pod of another namespace cannot be evicted now."
        if self._said.get(journal.uid) == note:
            return
        self._said[journal.uid] = note
        note = note[:NOTE]
        self.post(journal.namespace, journal.pod, journal.pod_uid, "DevicePreemptionWaiting", note)
        await self._patched(journal, {"status": {"message": note}}, "status")

    async def _set_status(self, action: SetStatus, journal: Journal) -> Journal | None:
        fields = {
            key: timestamp(value) if key in _TIMES else value
            for key, value in action.fields.items()
        }
        written = await self._patched(journal, {"status": fields}, "status")
        if written is not None and "endedAt" in fields:
            phase = str(fields["phase"])
            self.observe("plans", "lost" if phase == Phase.FAILED else phase.lower())
            log.info("Preemption ended", pod=journal.key, phase=phase, why=fields["message"])
        return written

    async def _patched(
        self, journal: Journal, body: Mapping[str, Any], subresource: str = ""
    ) -> Journal | None:
        """Patch the journal as it was read; None where it is gone, or another process wrote it."""
        path = DEVICEPREEMPTIONS.path(journal.namespace, journal.name, subresource)
        known = {"uid": journal.uid, "resourceVersion": journal.version}
        metadata = {**known, **body.get("metadata", {})}
        try:
            written = await self.writing.patch(path, {**body, "metadata": metadata}, MERGE_PATCH)
        except ApiError as error:
            if error.code not in _GONE:
                raise
            return None
        return Journal.parse(written)


async def unless_gone(request: Awaitable[Any], forgiven: Collection[int] = _GONE) -> bool:
    """Await a write; return whether the object was there, and the same as when it was read.

    Args:
        request: The write.
        forgiven: Codes of answers that say it was not.

    Raises:
        ApiError: Any other one.
    """
    try:
        await request
    except ApiError as error:
        if error.code not in forgiven:
            raise
        return False
    return True


def _said(pod: Mapping[str, Any]) -> str:
    """Return why the scheduler refuses a pod, in its words."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    found = (one for one in conditions if one.get("type") == "PodScheduled")
    return next((str(one.get("message") or "") for one in found if one["status"] == "False"), "")


def _gone(pod: Mapping[str, Any], uid: str) -> bool:
    metadata = pod["metadata"]
    return bool(
        metadata["uid"] != uid
        or metadata.get("deletionTimestamp")
        or (pod.get("status") or {}).get("phase") in TERMINAL_PHASES
    )


async def advance_all(
    carrier: Carrier, journals: Iterable[Journal], rules: ReservationRules
) -> bool:
    """Take a step of each preemption; one that fails keeps no other one back.

    Returns:
        Whether something was written, so that a further step may follow at once.
    """
    progressed = False
    found = list(journals)
    results = await asyncio.gather(
        *(carrier.advance(one, rules) for one in found), return_exceptions=True
    )
    for journal, result in zip(found, results, strict=True):
        if isinstance(result, ApiError):
            log.warning("Cannot take a preemption further", pod=journal.key, error=str(result))
        elif isinstance(result, NotLeadingError) or not isinstance(
            result, Exception | ProtocolStep
        ):
            raise result
        elif isinstance(result, Exception):
            # A fault that one object causes keeps no other preemption, nor the plans, back.
            log.error("Cannot take a preemption further", pod=journal.key, exc_info=result)
        elif result.actions:
            progressed = True
            log.debug("Took a preemption further", pod=journal.key, why=result.reason)
    return progressed
