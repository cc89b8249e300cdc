"""What a DevicePreemption says of a plan, and the Event beside it.

The object lives in the namespace of the pod that waits, where tenants may read it. So pods of other
namespaces are counted in it, and never named: their names are for those who may list them.
"""

from collections.abc import Iterable
from typing import Any

from dragoman.allocation import DeviceID
from dragoman.preemption.candidates import Candidate, Victim
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan
from dragoman.preemption.stored import FINALIZER, PREEMPT, REPORT, digest, name_of
from dragoman_base.words import counted

API_VERSION = "dragoman.dev/v1alpha1"
KIND = "DevicePreemption"
LONGEST = 1024
"""Bytes of the note of an Event."""
NAMED = 5
"""Victims that an Event names."""


def document(plan: PreemptionPlan) -> dict[str, Any]:
    """Return the object that reports a plan with victims, without status.

    Its name is the pod's UID, so that two leaders write one object, and the pod owns it.
    """
    chosen = plan.chosen
    assert chosen is not None  # only plans with victims have an object
    metadata = plan.subject.pod.pod.metadata
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata.name, "uid": metadata.uid}
    own = [one for one in chosen.victims if one.pod.namespace == metadata.namespace]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": metadata.uid,
            "namespace": metadata.namespace,
            "ownerReferences": [owner],
        },
        "spec": {
            "mode": REPORT,
            "pod": {"name": metadata.name, "uid": metadata.uid, "priority": plan.priority},
            "node": chosen.node,
            "victims": [_victim(one) for one in own],
            "victimsElsewhere": len(chosen.victims) - len(own),
            "devices": [_device(one) for one in chosen.devices],
        },
    }


def preempting(plan: PreemptionPlan, reserved: Iterable[DeviceID], attempt: int) -> dict[str, Any]:
    """Return the object that records what one preemption may do: the report, and more.

    Victims of all namespaces are in it as digests of their UIDs.

    Args:
        plan: With victims.
        reserved: Devices that only the pod's claims may get until it ends.
        attempt: The number of the plan for the pod.
    """
    made = document(plan)
    chosen = plan.chosen
    assert chosen is not None  # as above
    made["metadata"] |= {
        "name": name_of(made["metadata"]["name"], attempt),
        "finalizers": [FINALIZER],
    }
    made["spec"] |= {
        "mode": PREEMPT,
        "attempt": attempt,
        "victimDigests": sorted(digest(one.pod.uid) for one in chosen.victims),
        "reserved": [_device(one) for one in reserved],
    }
    return made


def _device(device: DeviceID) -> dict[str, str]:
    return {"driver": device.driver, "pool": device.pool, "device": device.device}


def _victim(victim: Victim) -> dict[str, Any]:
    pod = victim.pod
    return {"name": pod.name, "uid": pod.uid, "priority": pod.priority}


def status(plan: PreemptionPlan, held: str = "") -> dict[str, Any]:
    """Return the status of the object of a plan.

    Args:
        plan: With victims.
        held: Why nothing is evicted; empty where the mode says it.
    """
    return {
        "phase": "Reported",
        "victims": len(plan.candidates[0].victims),
        "candidates": len(plan.candidates),
        "message": note(plan, held),
    }


def note(plan: PreemptionPlan, held: str = "") -> str:
    """Say in an Event which pods would have to end, and why nothing is evicted now."""
    chosen = plan.chosen
    assert chosen is not None  # as above
    count = len(chosen.victims)
    text = f"Would fit on {chosen.node} if {counted(count, 'pod')} ended: {_pods(plan, chosen)}."
    if plan.only_reported:
        text += f" Only reported: {plan.only_reported[0].text}."
    return shortened(f"{text} {held or 'Mode report: nothing is evicted'}.")


def _pods(plan: PreemptionPlan, chosen: Candidate) -> str:
    namespace = plan.subject.pod.pod.metadata.namespace
    own = [one.pod for one in chosen.victims if one.pod.namespace == namespace]
    parts = [f"{pod.key} (priority {pod.priority})" for pod in own[:NAMED]]
    if len(own) > NAMED:
        parts.append(f"{len(own) - NAMED} more")
    elsewhere = len(chosen.victims) - len(own)
    if elsewhere:
        parts.append(f"{elsewhere} of other namespaces")
    return ", ".join(parts)


def shortened(text: str) -> str:
    """Cut a text at the limit of a note, between two characters."""
    encoded = text.encode()
    if len(encoded) <= LONGEST:
        return text
    return encoded[: LONGEST - 3].decode(errors="ignore") + "…"


def reported(plans: Iterable[PreemptionPlan], most: int) -> tuple[PreemptionPlan, ...]:
    """Return the plans that get an object: the most important of each namespace, then the oldest.

    Args:
        plans: Of all pods that wait.
        most: Objects of one namespace.
    """
    found = [one for one in plans if one.outcome is PreemptionOutcome.PLANNED]
    found.sort(key=lambda one: (-one.priority, one.subject.pod.pod.metadata.created))
    counts: dict[str, int] = {}
    chosen = []
    for one in found:
        namespace = one.subject.pod.pod.metadata.namespace
        counts[namespace] = counts.get(namespace, 0) + 1
        if counts[namespace] <= most:
            chosen.append(one)
    return tuple(chosen)
