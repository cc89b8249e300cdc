"""What evictions are planned from, and the reasons that they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dragoman.model.claim import Claim
from dragoman.model.metadata import Metadata
from dragoman.model.pod import Pod

if TYPE_CHECKING:
    from dragoman.evictions.pools import Pools
    from dragoman.evictions.rules import ActiveRules, DeviceKey

Place = tuple[str, str]
"""Namespace and name."""


class EvictionReason(NamedTuple):
    """One taint that a claim does not tolerate; rules sort before taints of slices."""

    from_slice: bool  # Whether the driver set the taint, in a ResourceSlice
    rule: str = ""  # Name of the DeviceTaintRule, else empty
    rule_uid: str = ""  # UID of the rule, else empty
    driver: str = ""  # Of the device, for taints of slices
    pool: str = ""  # Of the device, for taints of slices
    device: str = ""  # Its name, for taints of slices
    position: int = 0  # Of the taint in the device, for taints of slices

    @classmethod
    def of_rule(cls, rule: Metadata) -> EvictionReason:
        """Return the taint of a rule as a reason."""
        return cls(from_slice=False, rule=rule.name, rule_uid=rule.uid)

    @classmethod
    def of_slice(cls, device: DeviceKey, position: int) -> EvictionReason:
        """Return a taint of a device in its slice as a reason."""
        driver, pool, name = device
        return cls(from_slice=True, driver=driver, pool=pool, device=name, position=position)

    def __str__(self) -> str:
        if not self.from_slice:
            return f"DeviceTaintRule {self.rule}"
        return f"taint {self.position} of device {self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class Due:
    """When pods must leave, and why."""

    when: float  # Unix time in seconds; the past means now
    reasons: tuple[EvictionReason, ...]  # In their order, each once
    tolerated: float = 0.0  # Seconds from the taint until then, the shortest of all reasons

    def after(self, now: float, seen: float = 0.0) -> float:
        """Return the seconds until then; 0 or less for now.

        Never more than is tolerated from when the taint was first `seen`, so many seconds ago: it
        was not added in the future, so this clock, or the one that gave its time, is wrong.
        """
        return min(self.when - now, self.tolerated - seen)

    def joined(self, other: Due | None) -> Due:
        """Return the earlier time with the reasons of both."""
        if other is None or other == self:
            return self
        reasons = tuple(sorted({*self.reasons, *other.reasons}))
        tolerated = min(self.tolerated, other.tolerated)
        return Due(min(self.when, other.when), reasons, tolerated)

    def rules(self) -> tuple[tuple[str, str], ...]:
        """Return name and UID of the rules among the reasons."""
        return tuple((one.rule, one.rule_uid) for one in self.reasons if not one.from_slice)


@dataclass(frozen=True, slots=True)
class EvictionFacts:
    """All that evictions depend on."""

    pods: Iterable[Pod]  # Pods that use claims
    claims: Mapping[Place, Claim]  # ResourceClaims by namespace and name
    pools: Pools  # Published devices and their taints
    rules: ActiveRules  # DeviceTaintRules that evict
    groups: bool = True  # Whether PodGroups have claims (KEP-5729)
