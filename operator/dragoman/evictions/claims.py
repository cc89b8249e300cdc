"""When the pods of a claim must leave its devices."""

from collections.abc import Iterator

from dragoman.evictions.evictionfacts import Due, EvictionReason
from dragoman.evictions.pools import Pools
from dragoman.evictions.rules import NO_EXECUTE, ActiveRules, DeviceKey
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.claim import Claim
from dragoman.model.taints import Taint
from dragoman.model.timestamps import unix

LONGEST = 1e11
"""Upper bound of `tolerationSeconds`, 3,000 years: such sums stay valid times."""


def claim_due(claim: Claim, pools: Pools, rules: ActiveRules) -> Due | None:
    """Return when the pods of a claim must leave, None if they may stay.

    Only tolerations that the scheduler copied into the allocation count, and devices with admin
    access are no exception (KEP-5055).

    Args:
        claim: A claim; one without allocation has no devices.
        pools: Published devices.
        rules: DeviceTaintRules that evict.
    """
    found = [
        (reason, unix(taint.added) + tolerated, tolerated)
        for device in claim.devices
        for reason, taint in device_taints(device.id, pools, rules)
        if (tolerated := _tolerated(device, taint)) is not None
    ]
    if not found:
        return None
    reasons, whens, shortest = zip(*found, strict=True)
    return Due(min(whens), tuple(sorted({*reasons})), min(shortest))


def device_taints(
    device: DeviceKey, pools: Pools, rules: ActiveRules
) -> Iterator[tuple[EvictionReason, Taint]]:
    """Yield the NoExecute taints of a device with their reasons, of its slice and of rules."""
    for index, taint in enumerate(pools.taints(device)):
        if taint.effect == NO_EXECUTE:
            yield EvictionReason.of_slice(device, index), taint
    # A rule needs no slice: it also selects allocated devices that are not published any more.
    for rule in rules.of(device):
        yield EvictionReason.of_rule(rule.metadata), rule.rule.taint


def _tolerated(device: AllocatedDevice, taint: Taint) -> float | None:
    """Return for how many seconds a taint is tolerated, None if indefinitely."""
    shortest: float | None = None
    for toleration in device.tolerations:
        if toleration.tolerates(taint):
            if toleration.seconds is None:
                return None
            allowed = float(min(max(0, toleration.seconds), LONGEST))
            shortest = allowed if shortest is None else min(shortest, allowed)
    return shortest or 0.0
