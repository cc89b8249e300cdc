"""Judgement: one entry's parameters against one config.

Order as in the API server: members, values, then rules, which only run on parameters whose types
are right, since a rule about a value of the wrong type can say nothing useful.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from dragoman.cel.budget import StepBudget
from dragoman.cel.errors import StepBudgetExceeded
from dragoman.driverconfigs import fielderrors, steps
from dragoman.driverconfigs.compiler import CompiledConfig
from dragoman.driverconfigs.driverconfigschema import ALLOW, DENY
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.pruning import MAX_DEPTH, MAX_FINDINGS, Members, TooDeep
from dragoman.driverconfigs.validators import faults

MAX_PARAMETERS_BYTES: Final = 10 * 1024
"""The API server's own limit (resource.k8s.io, OpaqueParametersMaxLength)."""

_BLOCKS_RULES: Final = frozenset(
    {fielderrors.TYPE_INVALID, fielderrors.REQUIRED, fielderrors.TOO_LONG, fielderrors.TOO_MANY}
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong with one entry's parameters; paths are relative to the parameters.

    Attributes:
        errors: what the driver would refuse.
        warnings: what it would ignore.
        steps: what the judgement cost, to be charged again wherever it is remembered.
        complete: False when the budget ended it; such a judgement must not be remembered.
    """

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    steps: int = 0
    complete: bool = True


TOO_EXPENSIVE: Final = Judgement(
    (
        fielderrors.finding(
            (),
            fielderrors.INTERNAL,
            "the schema is too expensive for these parameters, the review ran out of steps",
        ),
    ),
    complete=False,
)
"""The judgement of parameters that the budget did not suffice for."""


TOO_LONG: Final = Judgement(
    (
        fielderrors.finding(
            (), fielderrors.TOO_LONG, f"must have at most {MAX_PARAMETERS_BYTES} bytes as JSON"
        ),
    ),
)
"""The judgement of parameters that the API server would refuse for their size."""

TOO_DEEP: Final = Judgement(
    (
        fielderrors.finding(
            (), fielderrors.INVALID, f"must not be nested deeper than {MAX_DEPTH} levels"
        ),
    ),
    complete=False,
)
"""The judgement of parameters with too many levels."""


def judge(
    config: CompiledConfig, value: Any, budget: StepBudget, *, depth: int = MAX_DEPTH
) -> Judgement:
    """Judge parameters; never raises, whatever JSON they are.

    Args:
        config: the config that describes them.
        value: the parameters.
        budget: what the judgement may cost.
        depth: levels of objects and arrays that are allowed.
    """
    misfit = _misfit(value)
    if misfit:
        return Judgement((misfit,))
    before = budget.remaining
    token = steps.current.set(budget)
    errors: list[Finding] = []
    warnings: list[Finding] = []
    try:
        _examine(config, value, Members(budget, depth), errors, warnings)
    except TooDeep:
        return TOO_DEEP
    except StepBudgetExceeded:
        # What was found until then is dropped: it would depend on what was remembered before.
        return TOO_EXPENSIVE
    finally:
        steps.current.reset(token)
    return Judgement(tuple(errors), tuple(warnings), before - budget.remaining)


def _examine(
    config: CompiledConfig,
    value: Any,
    members: Members,
    errors: list[Finding],
    warnings: list[Finding],
) -> None:
    settled = members.settle(config.shape, value)
    errors += members.repeated
    errors += members.beyond
    if config.spec.unknown_fields != ALLOW:
        (errors if config.spec.unknown_fields == DENY else warnings).extend(members.unknown())
    told = {found.path for found in members.beyond}
    found = (fault for fault in faults(config.validator, settled) if fault.path not in told)
    errors += islice(found, MAX_FINDINGS)
    if config.rules and not _blocked(errors):
        errors += config.rules.broken_by(settled, members.budget)
        warnings += config.rules.doubted_by(settled, members.budget)


def _blocked(errors: Iterable[Finding]) -> bool:
    return any(error.reason in _BLOCKS_RULES for error in errors)


def _misfit(value: Any) -> Finding | None:
    if value is None:
        return fielderrors.finding((), fielderrors.REQUIRED, "")
    if not isinstance(value, dict):
        return fielderrors.finding((), fielderrors.TYPE_INVALID, "must be an object", value)
    return None
