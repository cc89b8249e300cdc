"""The condition `EvictionInProgress` of DeviceTaintRules, in the words of the stock controller."""

from dataclasses import dataclass

from dragoman.evictions.preview import EvictionPreview
from dragoman.evictions.rules import NO_EXECUTE
from dragoman.inventory.facts.stored import PROGRESS, StoredRule
from dragoman.model.conditions import Condition
from dragoman.model.timestamps import unix

PERIOD = 10.0
"""Shortest time in seconds between two writes of a condition, unless the spec changed."""
_NOT_UPDATED = (
    "if the effect was NoExecute. This information will not be updated again. "
    "Recreate the DeviceTaintRule to trigger an update."
)


@dataclass(frozen=True, slots=True)
class EvictionCounts:
    """What is known of the evictions of a rule."""

    pending: int = 0  # Pods that it evicts now or later, and that are not being deleted
    namespaces: int = 0  # How many namespaces have such pods
    evicted: int = 0  # Pods that this process evicted because of it


@dataclass(frozen=True, slots=True)
class ConditionPlan:
    """A condition to write, or when it may be written."""

    progress: Condition  # What to write
    after: float = 0.0  # Seconds until it may be written; the counts may change until then


def plan_rule_status(
    rule: StoredRule, found: EvictionCounts | EvictionPreview, now: float
) -> ConditionPlan | None:
    """Return the condition of a rule, None where the stored one is right.

    Args:
        rule: The rule as stored.
        found: Counts for the effect NoExecute, a preview for the effect None; otherwise ignored.
        now: Unix time in seconds.
    """
    stored = rule.progress
    current = stored is not None and stored.observed_generation == rule.generation
    effect = rule.rule.taint.effect
    if current and effect == "None" and stored is not None and stored.reason == "NoEffect":
        return None  # The message promises that it is not updated.
    planned = _progress(rule, found)
    if stored == planned:
        return None
    if stored is None or not current:
        return ConditionPlan(planned)
    passed = now - unix(stored.changed)
    # A clock that went back must not stop updates.
    return ConditionPlan(planned, PERIOD - passed if 0.0 <= passed < PERIOD else 0.0)


def _progress(rule: StoredRule, found: EvictionCounts | EvictionPreview) -> Condition:
    if rule.rule.taint.effect == NO_EXECUTE and isinstance(found, EvictionCounts):
        return _no_execute(rule, found)
    if rule.rule.taint.effect == "None" and isinstance(found, EvictionPreview):
        return _made(rule, "NoEffect", _preview_message(found))
    return _made(rule, "OtherEffect", "Eviction only happens for the NoExecute effect.")


def _no_execute(rule: StoredRule, counts: EvictionCounts) -> Condition:
    evicted = _evicted(counts.evicted)
    if counts.pending:
        need = "1 pod needs" if counts.pending == 1 else f"{counts.pending} pods need"
        message = f"{need} to be evicted in {_namespaces(counts.namespaces)}."
        return _made(rule, "PodsPendingEviction", f"{message} {evicted}".rstrip(), status="True")
    if counts.evicted:
        return _made(rule, "Completed", evicted)
    stored = rule.progress
    if stored is not None and stored.observed_generation == rule.generation:
        # This process evicted none, but the one before it did, for the same spec.
        if stored.reason == "Completed":
            return stored
        if stored.reason == "PodsPendingEviction":
            return _made(rule, "Completed", "")
    return _made(rule, "NotStarted", "")


def _preview_message(found: EvictionPreview) -> str:
    pods = len(found.pods)
    would = "1 pod" if pods == 1 else f"{pods} pods"
    return (
        f"{found.published} published {_noun(found.published)} selected. "
        f"{found.allocated} allocated {_noun(found.allocated)} selected. "
        f"{would} would be evicted in {_namespaces(found.namespaces)} {_NOT_UPDATED}"
    )


def _noun(count: int) -> str:
    return "device" if count == 1 else "devices"


def _namespaces(count: int) -> str:
    return "1 namespace" if count == 1 else f"{count} different namespaces"


def _evicted(count: int) -> str:
    if not count:
        return ""
    return f"{'1 pod' if count == 1 else f'{count} pods'} evicted since starting the controller."


def _made(rule: StoredRule, reason: str, message: str, status: str = "False") -> Condition:
    return Condition(PROGRESS, status, reason, message, rule.generation)
