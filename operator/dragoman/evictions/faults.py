"""Where the stock controller evicts otherwise than tolerations say, and why pods are evicted again.

Observed with kube-controller-manager 1.36.3 (docs/evictions.md), read of 1.38.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum

from dragoman.evictions.claims import device_taints
from dragoman.evictions.evictionfacts import Due
from dragoman.evictions.pools import Pools
from dragoman.evictions.rules import NO_EXECUTE, ActiveRules
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman.model.timestamps import unix
from dragoman_base.versions import Release

MOST_SECONDS = 2**63 // 10**9
"""Longest `tolerationSeconds` whose nanoseconds fit into 64 bits."""


class EvictionFault(StrEnum):
    """Faults of the stock eviction controller (explained in docs/evictions.md)."""

    EFFECT = "TolerationEffectIgnored"
    OVERFLOW = "TolerationSecondsOverflow"
    TAINTED = "ClaimTainted"


NOTES = {
    EvictionFault.EFFECT: "kube-controller-manager ignores a toleration without effect and evicts "
    "the pods of this claim: add `effect: NoExecute` to the toleration",
    EvictionFault.OVERFLOW: "kube-controller-manager takes these tolerationSeconds for 0 and "
    f"evicts the pods of this claim: use at most {MOST_SECONDS}, or none for no limit",
}


def stock_faults(
    claim: Claim, pools: Pools, rules: ActiveRules, release: Release
) -> set[EvictionFault]:
    """Return why the stock controller of a release evicts the pods of a claim too early."""
    found = set()
    effects = (NO_EXECUTE, "") if release.empty_effects_tolerated else (NO_EXECUTE,)
    for device in claim.devices:
        for _, taint in device_taints(device.id, pools, rules):
            covering = [one for one in device.tolerations if one.tolerates(taint)]
            named = [one for one in covering if one.effect in effects]
            if covering and not named:
                found.add(EvictionFault.EFFECT)
            limits = [one.seconds for one in named if one.seconds is not None]
            if limits and len(limits) == len(named) and min(limits) > MOST_SECONDS:
                found.add(EvictionFault.OVERFLOW)
    return found


def late_claims(pod: Pod, due: Due, claims: Iterator[Claim]) -> Iterator[tuple[Claim, str]]:
    """Yield the claims for which a pod was evicted that was created after it was due, and why.

    The replacement of such a pod is evicted as well: the scheduler neither reads the seconds of
    tolerations nor the taints of devices that are allocated already.

    Args:
        pod: An evicted pod.
        due: When it had to leave, and why.
        claims: The claims that it uses.
    """
    if unix(pod.metadata.created) <= due.when:
        return
    reasons = ", ".join(str(one) for one in due.reasons[:3])
    since = f"{datetime.fromtimestamp(due.when, UTC):%Y-%m-%dT%H:%M:%SZ}"
    for claim in claims:
        limited = any(
            one.seconds is not None for device in claim.devices for one in device.tolerations
        )
        why = "tolerationSeconds count from the time of the taint; " if limited else ""
        yield (
            claim,
            (
                f"Pods that use this claim are evicted since {since} because of {reasons}; {why}"
                "remove the taint, or delete all pods of the claim so that its devices are released"
            ),
        )
