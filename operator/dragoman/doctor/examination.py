"""Runs the rules over one reading of a cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.doctor import (
    claims,
    devices,
    faults,
    holds,
    names,
    over_time,
    pools,
    slices,
    upgrade,
    verdicts,
    waits,
    webhooks,
)
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import ORDER, Finding, Id, Severity
from dragoman_base.words import natural

Rule = Callable[[DoctorFacts], Iterator[Finding]]


def _by_commands(key: Id) -> Rule:
    """Return the rule of an id that only commands look for."""
    return lambda facts: (one for one in facts.found if one.id is key)


RULES: Mapping[Id, tuple[Rule, tuple[str, ...]]] = {
    Id.POOL_INCOMPLETE: (pools.pool_incomplete, ("resourceslices",)),
    Id.POOL_INVALID: (pools.pool_invalid, ("resourceslices",)),
    Id.DEVICE_LOST: (devices.device_lost, ("resourceslices", "resourceclaims")),
    Id.DOUBLE_BOOKED: (devices.double_booked, ("resourceslices", "deviceclasses", "nodes")),
    Id.SHARE_OVER_CAPACITY: (devices.share_over_capacity, ("resourceslices", "resourceclaims")),
    Id.CONSUMED_NEGATIVE: (devices.consumed_negative, ("resourceclaims",)),
    Id.FINALIZER_STUCK: (claims.finalizer_stuck, ("resourceclaims", "pods")),
    Id.CONTAINERS_NOT_ENDED: (claims.containers_not_ended, ("resourceclaims",)),
    Id.WEBHOOK_MISSING: (webhooks.webhook_missing, ("validatingwebhookconfigurations",)),
    Id.CLAIM_IDLE: (claims.claim_idle, ("resourceclaims",)),
    Id.CLAIM_UNOWNED: (claims.claim_unowned, ("resourceclaims", "pods")),
    Id.TEMPLATE_DRIFT: (
        claims.template_drift,
        ("resourceclaims", "resourceclaimtemplates", "pods"),
    ),
    Id.CONSUMERS_NEAR_LIMIT: (claims.consumers_near_limit, ("resourceclaims",)),
    Id.DRIVER_SILENT: (pools.driver_silent, ("resourceslices", "nodes", "pods")),
    Id.TAINTED_IN_USE: (devices.tainted_in_use, ("resourceslices", "resourceclaims")),
    Id.HOLD_STALE: (holds.hold_stale, ("resourceslices", "resourceclaims")),
    Id.ADMIN_OVERLAP: (devices.admin_overlap, ("resourceslices", "resourceclaims")),
    Id.NAME_OWN_DOMAIN: (names.name_own_domain, ("resourceslices",)),
    Id.NAME_NON_STANDARD: (names.name_non_standard, ("resourceslices",)),
    Id.NAME_MIXED_TYPE: (names.name_mixed_type, ("resourceslices",)),
    Id.SLICE_UNOWNED: (slices.slice_unowned, ("resourceslices",)),
    Id.COUNTER_OVERDRAWN: (slices.counter_overdrawn, ("resourceslices",)),
    Id.POLICY_DEFAULT_TOO_BIG: (slices.policy_default_too_big, ("resourceslices",)),
    Id.SLICE_WRITE_STORM: (over_time.slice_write_storm, ("resourceslices",)),
    Id.DRIVER_RIGHTS: (_by_commands(Id.DRIVER_RIGHTS), ("resourceslices", "pods")),
    Id.DRIVER_NOT_CONFORMANT: (verdicts.driver_not_conformant, ("resourceslices", "pods")),
    Id.SLICES_MISSING: (over_time.slices_missing, ("resourceslices", "pods")),
    Id.CLASS_FAILS: (waits.class_fails, ("resourceslices", "deviceclasses")),
    Id.CLASS_EMPTY: (waits.class_empty, ("resourceslices", "deviceclasses")),
    Id.REFERENCE_MISSING: (
        waits.reference_missing,
        ("pods", "resourceclaims", "resourceclaimtemplates", "deviceclasses"),
    ),
    Id.POD_NEVER_FITS: (_by_commands(Id.POD_NEVER_FITS), ("pods", "resourceslices", "nodes")),
    Id.POD_UNSEEN: (waits.pod_unseen, ("pods",)),
    Id.POD_REJECTED: (_by_commands(Id.POD_REJECTED), ()),
    Id.QUEUE_REFUSES: (_by_commands(Id.QUEUE_REFUSES), ()),
    Id.QUEUE_DIFFERS: (_by_commands(Id.QUEUE_DIFFERS), ()),
    Id.SHAPE_DIFFERS: (_by_commands(Id.SHAPE_DIFFERS), ("resourceslices", "nodes")),
    Id.API_REMOVED: (upgrade.api_removed, ()),
    Id.DRIVER_OUTDATED: (upgrade.driver_outdated, ("resourceslices",)),
    Id.GATE_REMOVED: (upgrade.gate_removed, ()),
    Id.KNOWN_FAULT: (faults.known_fault, ("resourceslices", "resourceclaims", "pods")),
}
"""Every rule, and the resources without which it finds nothing or only a part."""


OVER_TIME = (Id.SLICE_WRITE_STORM, Id.SLICES_MISSING)
"""Rules that compare two readings."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings of all rules."""

    findings: tuple[Finding, ...]  # The worst first, then by id and subject
    # Rules whose facts are incomplete, with the resources that were not read
    partial: Mapping[Id, tuple[str, ...]]
    # Rules that ended before they had seen everything, with what they left out, as a sentence
    cut: Mapping[Id, str] = field(default_factory=dict)
    unjudged: tuple[Id, ...] = ()  # Rules that need an earlier reading, where there was none
    # Drivers whose version is unknown, so that no verdict on them counts
    unknown: tuple[str, ...] = ()
    whole: int = 0  # How many rules have seen all that they judge

    def count(self, severity: Severity) -> int:
        """Return how many findings have a severity."""
        return sum(one.severity is severity for one in self.findings)

    def counts(self) -> Counter[Id]:
        """Return how many findings there are of each id."""
        return Counter(one.id for one in self.findings)


def examine(facts: DoctorFacts, only: Iterable[Id] = ()) -> Diagnosis:
    """Run the rules.

    Args:
        facts: One reading of a cluster.
        only: Ids of the rules to run; all by default.
    """
    chosen = tuple(only) or tuple(RULES)
    findings = [finding for key in chosen for finding in RULES[key][0](facts)]
    findings.sort(key=lambda one: (ORDER.index(one.severity), one.id, natural(one.subject.text)))
    partial = {
        key: missing
        for key in chosen
        if (missing := tuple(plural for plural in RULES[key][1] if not facts.read(plural)))
    }
    if facts.upgrade is not None:
        partial |= {key: why for key, why in facts.upgrade.unread.items() if key in chosen}
        if Id.DRIVER_OUTDATED in chosen and upgrade.unknown(facts):
            partial |= {Id.DRIVER_OUTDATED: ("versions that slices were written in",)}
    unjudged = tuple(key for key in chosen if key in OVER_TIME and facts.before is None)
    unknown = verdicts.unknown(facts) if Id.DRIVER_NOT_CONFORMANT in chosen else ()
    cut = {key: why for key, why in facts.cut.items() if key in chosen}
    whole = len({key for key in chosen if RULES[key][1]} - partial.keys() - {*unjudged})
    return Diagnosis(tuple(findings), partial, cut, unjudged, unknown, whole)
