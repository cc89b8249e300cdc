"""Conditions of a status (API: meta/v1 Condition)."""

from dataclasses import dataclass, field

from dragoman.model.fields import Document, integer, items, optional_text, text


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition."""

    type: str  # CamelCase name
    status: str  # `True`, `False` or `Unknown`
    reason: str = ""  # CamelCase constant
    message: str = ""  # Sentences for users
    observed_generation: int = 0  # Of the object when the condition was computed, 0 where unset
    # `lastTransitionTime` as an API timestamp; eviction controllers move theirs with every change
    # of the message
    changed: str = field(default="", compare=False)


def parse_conditions(document: Document, within: str) -> tuple[Condition, ...]:
    """Read `conditions` of a status; raise MalformedObjectError naming the field."""
    return tuple(
        _condition(item, f"{within}conditions[{index}].")
        for index, item in enumerate(items(document, "conditions", within))
    )


def _condition(item: Document, within: str) -> Condition:
    return Condition(
        type=text(item, "type", within),
        status=optional_text(item, "status", within) or "",
        reason=optional_text(item, "reason", within) or "",
        message=optional_text(item, "message", within) or "",
        observed_generation=integer(item, "observedGeneration", within),
        changed=optional_text(item, "lastTransitionTime", within) or "",
    )


def changed_at(stored: Document, kind: str, status: str, now: str) -> str:
    """Return the `lastTransitionTime` of a condition: it moves only when its status changes.

    Args:
        stored: The status as it is stored, of any shape.
        kind: Type of the condition.
        status: Its status now.
        now: As an API timestamp.
    """
    known = stored.get("conditions")
    for before in known if isinstance(known, list) else ():
        if isinstance(before, dict) and (before.get("type"), before.get("status")) == (
            kind,
            status,
        ):
            return str(before.get("lastTransitionTime") or now)
    return now
