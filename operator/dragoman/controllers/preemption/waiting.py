"""Which pods wait for devices, and may preempt: nothing is read for any other pod."""

from collections.abc import Mapping
from typing import Any

from dragoman.model.fields import MalformedObjectError, mapping
from dragoman.model.needs import Needs
from dragoman.model.timestamps import seconds
from dragoman.preemption.policy import Policy
from dragoman.preemption.preemptionfacts import NEVER, priority_of

_REFUSED = ("PodScheduled", "False", "Unschedulable")


def may_preempt(pod: Mapping[str, Any], policy: Policy, after: float, now: str) -> bool:
    """Whether a reduced pod waits for devices and may preempt, as far as the pod alone says.

    Args:
        pod: A pod without a node.
        policy: Whose pods may preempt.
        after: Seconds for which the scheduler must have refused it.
        now: RFC 3339.
    """
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if spec.get("preemptionPolicy") == NEVER or priority_of(pod) <= 0:
        return False
    if (pod.get("metadata") or {}).get("deletionTimestamp") or status.get("nominatedNodeName"):
        return False
    if not policy.serves(spec.get("schedulerName") or "default-scheduler"):
        return False
    refused = next(
        (
            one
            for one in status.get("conditions") or ()
            if (one.get("type"), one.get("status"), one.get("reason")) == _REFUSED
        ),
        None,
    )
    if refused is None or not _wants_devices(pod):
        return False
    return (seconds(now, str(refused.get("lastTransitionTime") or "")) or 0.0) >= after


def _wants_devices(pod: Mapping[str, Any]) -> bool:
    """Whether a pod has claims, or requests a resource that a DeviceClass may serve."""
    if (pod.get("spec") or {}).get("resourceClaims"):
        return True
    try:
        return any("/" in name for name in Needs.parse(mapping(pod, "spec")).requests)
    except MalformedObjectError:
        return False
