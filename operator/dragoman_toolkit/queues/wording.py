"""Differences of what is charged and held, as sentences."""

from dragoman_toolkit.queues.amounts import quantity_text
from dragoman_toolkit.queues.held import Code
from dragoman_toolkit.queues.usage import Difference

WHY = {
    Code.NOT_STARTED: "whose pods are not started",
    Code.ENDED: "whose pods have ended",
    Code.IDLE_CLAIM: "which nothing reserves",
    Code.EVICTED: "evicted, still end",
    Code.NO_QUEUE: "",
    Code.GATE_OFF: "claims are not charged",
    Code.NOT_MAPPED: "its DeviceClass is not mapped in deviceClassMappings",
    Code.CLAIM_BY_NAME: "claims by name are not charged",
    Code.ALL_DEVICES: "allocationMode All is not charged",
    Code.ALTERNATIVES: "alternatives are not charged",
    Code.ADMIN_ACCESS: "with admin access",
    Code.CLASS_MOVED: "whose class is not the one that was charged",
    Code.SHARED_CLAIM: "shared with another queue, and charged in both",
    Code.EXCLUDED: "excludeResourcePrefixes leaves it out",
    Code.NO_QUOTA: "its ClusterQueue has no quota for it",
    Code.UNKNOWN_VERSION: "not charged; why depends on the version of the queue manager",
}


def text_of(one: Difference) -> str:
    """Say one reason."""
    amount = quantity_text(one.amount)
    match one.code:
        case Code.NOT_STARTED | Code.ENDED | Code.CLASS_MOVED:
            return f"{amount} for {one.subject}, {WHY[one.code]}"
        case Code.EVICTED:
            return f"{amount} of {one.subject}, {WHY[one.code]}"
        case Code.NO_QUEUE:
            return f"{amount} by {one.subject}"
        case Code.IDLE_CLAIM:
            return f"{amount} by {one.subject}, {WHY[one.code]}"
    return f"{amount} by {one.subject}: {WHY[one.code]}"
