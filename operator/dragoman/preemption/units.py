"""Pods that end together, because a claim that they share is released by all of them or by none.

Source: KEP-5690: a shared claim is only released if every pod that reserves it is a victim.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dragoman.model.claim import Claim
from dragoman.preemption.policy import PreemptionCode, PreemptionReason
from dragoman.preemption.preemptionfacts import BoundPod, is_consumer

Spared = Callable[[BoundPod], PreemptionReason | None]


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Pods of one node that end together."""

    pods: tuple[BoundPod, ...]  # The most important first
    claims: tuple[Claim, ...] = ()  # What is released when they have ended
    # Why they never end for another pod; empty where they may
    spared: tuple[PreemptionReason, ...] = ()

    @property
    def importance(self) -> tuple[int, str]:
        """As the scheduler compares pods: the highest priority, then the earliest start."""
        return (-max(pod.priority for pod in self.pods), min(pod.started for pod in self.pods))


def units(
    pods: Iterable[BoundPod],
    claims_of: Mapping[str, tuple[Claim, ...]],
    spared: Spared,
    kept: frozenset[str],
) -> tuple[Unit, ...]:
    """Group the pods of a node, the most important unit first.

    Args:
        pods: Of the node.
        claims_of: Allocated claims by the UID of a pod that reserves them.
        spared: Says why a pod is never a victim.
        kept: Claims, as `namespace/name`, that the pod that waits uses itself: they stay.
    """
    here = {pod.uid: pod for pod in pods}
    left = dict(here)
    found = []
    while left:
        _, first = left.popitem()
        members, claims = [first], dict[str, Claim]()
        for pod in members:
            for claim in claims_of.get(pod.uid, ()):
                if claim.key in kept or claims.setdefault(claim.key, claim) is not claim:
                    continue
                for consumer in claim.consumers:
                    other = left.get(consumer.uid)
                    if other is not None and is_consumer(other, claim, consumer):
                        members.append(left.pop(other.uid))
        reasons = [reason for pod in members if (reason := spared(pod)) is not None]
        reasons += (one for claim in claims.values() for one in _beyond(claim, here))
        ordered = tuple(sorted(members, key=lambda pod: (pod.importance, pod.key)))
        found.append(Unit(ordered, tuple(claims.values()), tuple(reasons)))
    return tuple(sorted(found, key=lambda unit: (unit.importance, unit.pods[0].key)))


def _beyond(claim: Claim, here: Mapping[str, BoundPod]) -> Iterator[PreemptionReason]:
    """Yield who uses a claim, and is not one of the pods of the node."""
    for consumer in claim.consumers:
        pod = here.get(consumer.uid)
        if pod is None or not is_consumer(pod, claim, consumer):
            kind = "" if consumer.is_pod else f"{consumer.resource} "
            other = f"{kind}{claim.metadata.namespace}/{consumer.name}"
            yield PreemptionReason(
                PreemptionCode.SHARED, f"claim {claim.key} is also used by {other} elsewhere"
            )
