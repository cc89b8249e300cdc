"""Why a pod is held before the scheduler looks for devices: gates, queues and suspended jobs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from dragoman.diagnosis.obstacles import Obstacle, ObstacleCode, gates
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.queuekinds import KAI_LABEL
from dragoman.model.fields import part, parts
from dragoman_toolkit.queues.amounts import quantity_text
from dragoman_toolkit.queues.facts import (
    KUEUE_GATES,
    QUEUE_LABEL,
    VOLCANO_GATE,
    Document,
    Queues,
    Workload,
    condition,
    gates_of,
    key_of,
    labels_of,
)
from dragoman_toolkit.queues.held import Code, Holders
from dragoman_toolkit.queues.managers import KUEUE, VOLCANO, Manager
from dragoman_toolkit.queues.rows import rows
from dragoman_toolkit.queues.usage import Row, Side, is_device
from dragoman_toolkit.queues.volcano import queue_of_group
from dragoman_toolkit.queues.wording import text_of

TOPOLOGY = "kueue.x-k8s.io/topology"
_REFUSED = ("Inadmissible", "Misconfigured")


class QueueCode(StrEnum):
    """Who holds a pod."""

    QUEUE_HOLDS = "QueueHolds"
    QUEUE_REFUSES = "QueueRefuses"
    QUEUE_STOPPED = "QueueStopped"
    CHECKS_WAIT = "ChecksWait"
    TOPOLOGY_WAIT = "TopologyWait"
    JOB_SUSPENDED = "JobSuspended"
    VOLCANO_HOLDS = "VolcanoHolds"
    KAI_HOLDS = "KaiHolds"
    GATE_HOLDS = "GateHolds"


HELD = frozenset({*QueueCode, ObstacleCode.SCHEDULING_GATED})
"""Codes of obstacles that go away without a change of devices."""


def is_held(pod: PodFact) -> bool:
    """Whether a queue manager, or who set a gate, may hold a pod back."""
    if pod.pod.node_name or pod.pod.done:
        return False
    annotations = part(pod.document, "metadata", "annotations")
    return bool([*gates_of(pod)]) or bool(
        "scheduling.k8s.io/group-name" in annotations or KAI_LABEL in labels_of(pod)
    )


@dataclass(frozen=True)
class HeldBack:
    """Finds out who holds pods back."""

    queues: Queues  # What queue managers say
    inventory: Inventory  # Devices, for the numbers of a queue

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return rows(self.queues, self.inventory)

    def of_pod(self, pod: PodFact) -> Iterator[Obstacle]:
        """Yield who holds a pod, gates first."""
        names = [*gates_of(pod)]
        workload = self.queues.workload_of(pod)
        of_kueue = [name for name in names if name in KUEUE_GATES]
        if workload is not None and (of_kueue or workload.waits):
            yield from self.of_workload(workload)
            if TOPOLOGY in names and workload.admission:
                text = f"the topology of Workload {workload.key} is not assigned yet"
                yield Obstacle(QueueCode.TOPOLOGY_WAIT, f"Kueue holds the pod back: {text}")
        elif of_kueue and KUEUE not in self.queues.managers:
            for name, one in zip(names, gates(pod), strict=False):
                if name in of_kueue:
                    yield replace(one, code=QueueCode.QUEUE_HOLDS)
        elif of_kueue:
            local = labels_of(pod).get(QUEUE_LABEL)
            whose = f": LocalQueue {pod.pod.metadata.namespace}/{local}" if local else ""
            text = f"Kueue holds the pod back and has made no Workload for it yet{whose}"
            yield Obstacle(QueueCode.QUEUE_HOLDS, text, "see whether kueue-controller-manager runs")
        group = self.queues.group_of(pod)
        if group is not None:
            yield from self._of_group(group, gated=VOLCANO_GATE in names)
        yield from self._of_kai(pod)
        known = {*KUEUE_GATES, *((VOLCANO_GATE,) if group is not None else ())}
        for name, one in zip(names, gates(pod), strict=False):
            if name not in known:
                text = f"held by {one.message}; who that is is not known"
                yield Obstacle(QueueCode.GATE_HOLDS, text)

    def suspended(self, key: str, uid: str = "") -> Iterator[Obstacle]:
        """Yield why a suspended job has no pods.

        Args:
            key: `namespace/name`.
            uid: Of the job; empty where only its name is known.
        """
        yield Obstacle(QueueCode.JOB_SUSPENDED, "no pods: the Job is suspended")
        for one in self.queues.workloads.values():
            if one.subject == key and uid in ("", one.owner.get("uid")):
                yield from self.of_workload(one)
                return

    def of_job(self, key: str) -> Iterator[Obstacle]:
        """Yield why a Job has no pods; nothing where it is not suspended, or not known."""
        for uid, job in self.queues.jobs.items():
            if key_of(job) == key and part(job, "spec").get("suspend") is True:
                yield from self.suspended(key, uid)

    def of_workload(self, workload: Workload) -> Iterator[Obstacle]:
        """Yield why a Workload of Kueue does not run."""
        title = f"Workload {workload.key}"
        local, name = workload.queue, self.queues.cluster_queue(workload.queue)
        queue = self.queues.cluster_queues.get(name)
        if stopped := self._stopped(workload, local, name, queue):
            yield Obstacle(QueueCode.QUEUE_STOPPED, f"Kueue holds {title} back: {stopped}")
        elif workload.admission:
            waiting = [
                f"{one.get('name')} is {one.get('state') or 'Pending'}"
                + (f" ({one.get('message')})" if one.get("message") else "")
                for one in parts(workload.document, "status", "admissionChecks")
                if one.get("state") != "Ready"
            ]
            if waiting and condition(workload.document, "Admitted").get("status") != "True":
                text = f"{title} has its quota and waits for admission checks: {', '.join(waiting)}"
                yield Obstacle(QueueCode.CHECKS_WAIT, text)
        elif workload.waits:
            yield self._unreserved(workload, name)

    def _stopped(self, workload: Workload, local: str, name: str, queue: Document | None) -> str:
        found = self.queues.local_queues.get(local)
        if part(workload.document, "spec").get("active") is False:
            return "it is deactivated (spec.active is false)"
        read = "localqueues.kueue.x-k8s.io" in self.queues.snapshot.objects
        if found is None and read:
            return f"LocalQueue {local} does not exist"
        if queue is None and read and found is not None:
            return f"ClusterQueue {name} of LocalQueue {local} does not exist"
        for title, one in (("ClusterQueue " + name, queue), (f"LocalQueue {local}", found)):
            policy = part(one, "spec").get("stopPolicy")
            active = condition(one or {}, "Active")
            if policy not in (None, "", "None") or active.get("status") == "False":
                why = active.get("message") or f"stopPolicy is {policy}"
                return f"{title} is stopped: {why}"
        return ""

    def _unreserved(self, workload: Workload, queue: str) -> Obstacle:
        """Say why a Workload has no reservation of quota."""
        found = condition(workload.document, "QuotaReserved")
        message = str(found.get("message") or "")
        manager = self.queues.managers.get(KUEUE) or Manager(KUEUE)
        keys = frozenset(row.resource for row in self._rows if row.manager == KUEUE)
        holders = Holders(self.inventory, manager, keys)
        why = [*self._refusals(workload, holders)]
        if why or found.get("reason") in _REFUSED:
            text = "; ".join(one for one, _ in why) or message
            remedy = next((remedy for _, remedy in why if remedy), "")
            return Obstacle(QueueCode.QUEUE_REFUSES, f"Kueue cannot admit it: {text}", remedy)
        text = (
            f"not by devices: Kueue holds the pod back. Workload {workload.key} waits for "
            f"ClusterQueue {queue}"
        )
        numbers = [*self._numbers(workload, queue, holders)]
        said = ". ".join(numbers) if numbers else message
        return Obstacle(QueueCode.QUEUE_HOLDS, f"{text}: {said}" if said else text)

    def _refusals(self, workload: Workload, holders: Holders) -> Iterator[tuple[str, str]]:
        if not holders.manager.refuses:
            return
        seen: set[str] = set()
        for podset in workload.podsets:
            for key, _, code in holders.wanted_of_claims(workload.namespace, podset.spec):
                text, remedy = _REFUSALS.get(code, ("", "")) if code else ("", "")
                text = text.format(key)
                if text and text not in seen:
                    seen.add(text)
                    yield text, remedy

    def _numbers(self, workload: Workload, queue: str, holders: Holders) -> Iterator[str]:
        """Yield what is short in the queue, with what it is charged for and not used."""
        wanted: dict[str, int] = {}
        for podset in workload.podsets:
            for key, amount in holders.wanted(workload.namespace, podset.spec).items():
                wanted[key] = wanted.get(key, 0) + amount * podset.count
        by_key = {
            row.resource: row for row in self._rows if (row.manager, row.queue) == (KUEUE, queue)
        }
        for key, amount in sorted(wanted.items()):
            row = by_key.get(key)
            if not amount or not is_device(key, holders.manager):
                continue
            if row is None or row.quota.nominal is None or not row.flavors:
                yield f"{queue} has no quota for {key}"
                continue
            free = row.quota.nominal + row.quota.borrowable - row.charged
            if amount <= free:
                continue
            flavor = f" in flavor {next(iter(row.flavors))}" if len(row.flavors) == 1 else ""
            short = f"{quantity_text(amount - free)} more of {key} needed{flavor}"
            yield f"{short}. {_state(row)}"

    def _of_group(self, group: Document, *, gated: bool) -> Iterator[Obstacle]:
        status = part(group, "status")
        phase = str(status.get("phase") or "Pending")
        refused = condition(group, "Unschedulable")
        unschedulable = refused.get("status") == "True"
        if phase not in ("Pending", "Inqueue") and not (gated or unschedulable):
            return
        queue = queue_of_group(group)
        why = ": ".join(
            str(refused[name])
            for name in ("reason", "message")
            if unschedulable and refused.get(name)
        )
        rows = [row for row in self._rows if (row.manager, row.queue) == (VOLCANO, queue)]
        parts = [f"PodGroup {key_of(group)} of queue {queue} is {phase}", *([why] if why else [])]
        parts += [f"{row.resource}: {_state(row)}" for row in rows]
        text = f"not by devices: Volcano holds the pod back. {'; '.join(parts)}"
        yield Obstacle(QueueCode.VOLCANO_HOLDS, text)

    def _of_kai(self, pod: PodFact) -> Iterator[Obstacle]:
        name = str(labels_of(pod).get(KAI_LABEL) or "")
        if not name or not self.queues.kai_queues:
            return
        queue = self.queues.kai_queues.get(name)
        parents = {
            str(part(one, "spec").get("parentQueue") or "")
            for one in self.queues.kai_queues.values()
        }
        if queue is None or name in parents:
            why = "does not exist" if queue is None else "has queues below it"
            text = f"KAI places pods of leaf queues only, and queue {name} {why}"
            yield Obstacle(QueueCode.KAI_HOLDS, text, f"set the label {KAI_LABEL} to a leaf queue")


_REFUSALS = {
    Code.NOT_MAPPED: (
        "DeviceClass {0} is not mapped in deviceClassMappings",
        "map it and restart kueue-controller-manager",
    ),
    Code.CLAIM_BY_NAME: ("it charges no claims that are named", "use a ResourceClaimTemplate"),
    Code.ALTERNATIVES: ("it charges no alternatives (firstAvailable)", "ask for one class"),
    Code.ALL_DEVICES: ("it charges no allocationMode All", "ask for a count of devices"),
    Code.GATE_OFF: ("its feature gate for claims is off", "turn KueueDRAIntegration on"),
}


def _state(row: Row) -> str:
    """Say how full a queue is, and what is charged and not held."""
    quota = "no limit" if row.quota.nominal is None else quantity_text(row.quota.nominal)
    text = f"Quota {quota}, charged {quantity_text(row.charged)}, held {quantity_text(row.held)}"
    idle = [one for one in row.differences if one.side is Side.CHARGED]
    return f"{text}: {'; '.join(map(text_of, idle))}" if idle else text


def without_holds(obstacles: Sequence[Obstacle]) -> tuple[Obstacle, ...]:
    """Return what stands in the way of a pod once it is let through."""
    return tuple(one for one in obstacles if one.code not in HELD)


def told(obstacles: Sequence[Obstacle], held: Sequence[Obstacle]) -> tuple[Obstacle, ...]:
    """Return obstacles with what is known of who holds the pod, in place of the bare gates."""
    if not held:
        return tuple(obstacles)
    return (*(replace(one, stops=True) for one in held), *without_holds(obstacles))
