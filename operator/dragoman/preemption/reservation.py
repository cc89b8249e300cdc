"""Reserved devices: DeviceTaintRules whose taint only the claims of one pod tolerate.

The value of the taint is the pod's UID, so that no other pod's claims tolerate it; kube-scheduler
stays the only writer of allocations. Source: KEP-5055 for rules, KEP-4815 for shared counters.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from dragoman.allocation import Cluster, DeviceID
from dragoman.allocation import DeviceTaintRule as TaintRule
from dragoman.inventory.snapshots.documents import PREEMPTION, REASON
from dragoman.preemption.candidates import Candidate
from dragoman.preemption.stored import Journal

TAINT_KEY = PREEMPTION
"""Key of the taint of a reservation, and of the label of its rules."""
EFFECT = "NoSchedule"
PREFIX = "dragoman-preemption-"
MOST_TOLERATIONS = 16
"""Tolerations of a request (API: DeviceRequest, DeviceTolerationsMaxSize)."""
MOST_RULES = 256
"""Devices that one plan may reserve."""
_KEEP_AWAY = frozenset({"NoSchedule", "NoExecute"})


def devices_to_reserve(cluster: Cluster, candidate: Candidate) -> tuple[DeviceID, ...]:
    """Return the devices of a plan: its own, those of victims, and what shares counters with them.

    Another partition of the same device would use up the counters that the victims release.
    """
    found = dict.fromkeys(
        (*candidate.devices, *(one for victim in candidate.victims for one in victim.devices))
    )
    for pool in cluster.node_pools(candidate.node).pools:
        wanted = {one.device for one in found if one[:2] == pool.id}
        if not wanted:
            continue
        sets = {
            one.counter_set
            for device in pool.devices
            if device.name in wanted
            for one in device.content.consumes
        }
        for device in pool.devices:
            if sets & {one.counter_set for one in device.content.consumes}:
                found[DeviceID(*pool.id, device.name)] = None
    return tuple(found)


def rule_manifest(api_version: str, device: DeviceID, uid: str) -> dict[str, Any]:
    """Return the rule that reserves a device; two writers make the same one.

    Args:
        api_version: Of the served DeviceTaintRules.
        device: What is reserved.
        uid: Of the pod that it is reserved for.
    """
    digest = hashlib.sha256("\0".join((uid, *device)).encode()).hexdigest()[:16]
    return {
        "apiVersion": api_version,
        "kind": "DeviceTaintRule",
        "metadata": {
            "name": PREFIX + digest,
            "labels": {"app.kubernetes.io/managed-by": "dragoman", PREEMPTION: uid},
            # Rules belong to no namespace: the pod's name is for those who may list the pod.
            "annotations": {REASON: "reserved for a pod of higher priority"},
        },
        "spec": {
            "deviceSelector": {
                "driver": device.driver,
                "pool": device.pool,
                "device": device.device,
            },
            "taint": {"key": TAINT_KEY, "value": uid, "effect": EFFECT},
        },
    }


def toleration(uid: str) -> dict[str, str]:
    """Return the toleration of a pod's own reservation."""
    return {"key": TAINT_KEY, "operator": "Equal", "value": uid, "effect": EFFECT}


def requests_of(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what has tolerations in the spec of a claim (v1, v1beta2): requests, subrequests."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        if request.get("exactly"):
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def tolerates(spec: Mapping[str, Any], uid: str) -> bool:
    """Whether every request of a claim tolerates the reservation of a pod."""
    wanted = toleration(uid)
    return all(wanted in (one.get("tolerations") or ()) for one in requests_of(spec))


def with_toleration(spec: Mapping[str, Any], uid: str) -> dict[str, Any] | None:
    """Return the spec of a claim that tolerates a reservation; None where a request is full.

    A request that tolerates it already stays as it is.
    """
    wanted = toleration(uid)
    made = deepcopy(dict(spec))
    for one in requests_of(made):
        present = list(one.get("tolerations") or ())
        if wanted in present:
            continue
        if len(present) >= MOST_TOLERATIONS:
            return None
        one["tolerations"] = [*present, wanted]
    return made


@dataclass(frozen=True, slots=True)
class OtherRule:
    """A DeviceTaintRule of others that keeps claims away from devices."""

    rule: TaintRule  # The rule
    since: float  # Unix time at which it was created, or its effect changed


def keeps_away(rule: TaintRule) -> bool:
    """Whether claims without a toleration get no device of a rule."""
    return rule.taint.key != TAINT_KEY and rule.taint.effect in _KEEP_AWAY


def out_of_service(rules: Iterable[OtherRule], journal: Journal) -> tuple[DeviceID, ...]:
    """Return the reserved devices that others took out of service since a plan was made.

    A drain or a DeviceMaintenance of a reserved device wins over the reservation. What stood
    before is part of the plan: the allocator has decided that the pod gets devices all the same.
    """
    later = [one.rule for one in rules if one.since >= journal.created]
    return tuple(one for one in journal.devices if any(rule.selects(one) for rule in later))
