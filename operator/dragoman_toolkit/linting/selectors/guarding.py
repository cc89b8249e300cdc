"""Guards for reads that fail on devices without an attribute, and changes tried on devices.

A guard is false where the attribute is missing: a default that the comparison accepts would select
devices that the condition is meant to exclude.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman_cel.budget import StepBudget
from dragoman_cel.errors import CostLimitExceeded, EvaluationError, StepBudgetExceeded
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.devices import ATTRIBUTES, Sort
from dragoman_toolkit.linting.selectors.compilation import compiled
from dragoman_toolkit.linting.selectors.expressiontext import Change, ExpressionText, changed

if TYPE_CHECKING:
    from dragoman_toolkit.linting.selectors.reads import Read
    from dragoman_toolkit.linting.selectors.syntax import Key

_DEFAULTS: dict[str, tuple[str, Any]] = {
    "string": ('""', ""),
    "int": ("0", 0),
    "bool": ("false", False),
}
_VALUES: dict[str, Any] = {
    "string": "a",
    "int": 1,
    "bool": True,
    "version": "1.0.0",
    "strings": ["a"],
    "ints": [1],
    "bools": [True],
    "versions": ["1.0.0"],
}
_STEPS = 200_000


def guard(read: Read, kinds: set[str], text: ExpressionText) -> tuple[Change, ...]:
    """Return the change that keeps devices without an attribute out; empty without a sure one."""
    written = default_form(read, kinds)
    start, end = text.read_span(read.pos)
    if written and text.expression[start:end]:
        return (Change(start, end, written),)
    begin, end = text.condition(read.pos)
    if text.decides(end):
        return ()
    return (Change(begin, begin, f"has({read.text}) && "),)


def default_form(read: Read, kinds: set[str]) -> str:
    """Return a read with a default that its comparison rejects; empty where no default is sure."""
    if read.part != ATTRIBUTES or len(kinds) != 1:
        return ""
    words, default = _DEFAULTS.get(next(iter(kinds)), ("", None))
    sure = (read.operator == "" and default is False) or (
        read.operator == "_==_"
        and type(read.other) is type(default)
        and read.other != default
        and default is not None
    )
    return f'device.attributes["{read.domain}"].?{read.name}.orValue({words})' if sure else ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A change of a selector, and the devices on which it is tried."""

    expression: str  # As it is
    changes: tuple[Change, ...]  # What to write instead
    read: Read  # The read that is to be guarded
    sorts: list[Sort]  # Sorts of devices that have what is read
    equal: dict[Key, Any]  # What the selector compares with, by attribute


def stands(trial: Trial, context: Context) -> bool:
    """Tell whether a changed selector says the same of devices that have what is read.

    Of a device without it, it must neither fail nor say more than before.
    """
    texts = (trial.expression, changed(trial.expression, trial.changes))
    old, new = (compiled(one, context).selector for one in texts)
    if old is None or new is None:
        return False
    return all(
        _same(old, new, trial, sort, values) for sort in trial.sorts for values in (_VALUES, None)
    )


def _same(old: Any, new: Any, trial: Trial, sort: Sort, values: dict[str, Any] | None) -> bool:
    name = f"{trial.read.domain}/{trial.read.name}"
    whole = _device(sort, values, trial.equal)
    lacking = {
        part: {key: one for key, one in members.items() if key != name}
        for part, members in whole.items()
    }
    before, after = _result(old, whole, sort), _result(new, whole, sort)
    without = _result(new, lacking, sort)
    if before != after or (without == "error" and before != "error"):
        return False
    return without is not True or _result(old, lacking, sort) is True


def _device(sort: Sort, values: dict[str, Any] | None, equal: dict[Key, Any]) -> dict[str, Any]:
    """Make a device of a sort; without values those that its selector compares with."""

    def value(key: tuple[str, str], kind: str) -> Any:
        wanted = equal.get((ATTRIBUTES, *key))
        if key[1] in sort.when:
            return sort.when[key[1]]
        default = _DEFAULTS.get(kind, ("", _VALUES[kind]))[1]
        if values is not None:
            return values[kind]
        return wanted if type(wanted) is type(default) else default

    return {
        "attributes": {
            "/".join(key): {kind: value(key, kind)} for key, kind in sort.attributes.items()
        },
        "capacity": {"/".join(key): {"value": "1Gi"} for key in sort.capacity},
    }


def _result(selector: Any, device: dict[str, Any], sort: Sort) -> bool | str:
    try:
        return bool(selector.matches(device, driver=sort.driver, budget=StepBudget(_STEPS)))
    except (EvaluationError, CostLimitExceeded, StepBudgetExceeded):
        return "error"
