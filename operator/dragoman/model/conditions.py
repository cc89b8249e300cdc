"""Conditions of a status (API: meta/v1 Condition)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.model.fields import Document, integer, items, optional_text, text


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition.

    Attributes:
        type: CamelCase name.
        status: `True`, `False` or `Unknown`.
        reason: CamelCase constant.
        message: Sentences for users.
        observed_generation: Of the object when the condition was computed, 0 where unset.
        changed: `lastTransitionTime` as an API timestamp.
    """

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
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
