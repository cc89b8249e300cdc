"""Validate one entry's parameters against one config.

The order is the API server's: pruning and defaulting, values, then rules. Rules run only on
parameters of valid types, because a rule about a value of another type reports nothing useful.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from dragoman_cel import budget as steps
from dragoman_cel.budget import StepBudget
from dragoman_cel.errors import StepBudgetExceeded
from dragoman_configs import fielderrors
from dragoman_configs.compile.compiler import CompiledConfig
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import ALLOW, DENY
from dragoman_configs.schemas.jsonschema import field_errors
from dragoman_configs.schemas.pruning import MAX_DEPTH, MAX_FIELD_ERRORS, Pruner, TooDeepError

MAX_PARAMETERS_BYTES = 10 * 1024
"""The API server's own limit (resource.k8s.io, OpaqueParametersMaxLength)."""

_BLOCKS_RULES = frozenset(
    {fielderrors.TYPE_INVALID, fielderrors.REQUIRED, fielderrors.TOO_LONG, fielderrors.TOO_MANY}
)


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The errors of one entry's parameters; paths are relative to the parameters."""

    errors: tuple[ConfigFieldError, ...]  # Fields that the driver refuses
    warnings: tuple[ConfigFieldError, ...] = ()  # Fields that it ignores
    steps: int = 0  # The cost, to be spent again wherever the result comes from a cache
    # False when the step budget ended the validation; such a result must not be cached
    complete: bool = True


def _refusal(
    reason: str, detail: str, value: Any = fielderrors.OMIT_VALUE, *, complete: bool = True
) -> ValidationResult:
    error = fielderrors.field_error((), reason, detail, value)
    return ValidationResult((error,), complete=complete)


TOO_EXPENSIVE = _refusal(
    fielderrors.INTERNAL,
    "the schema is too expensive for these parameters, the review ran out of steps",
    complete=False,
)
"""The result for parameters that the step budget did not suffice for."""

TOO_LONG = _refusal(fielderrors.TOO_LONG, f"must have at most {MAX_PARAMETERS_BYTES} bytes as JSON")
"""The result for parameters larger than the API server stores."""

TOO_DEEP = _refusal(
    fielderrors.INVALID, f"must not be nested deeper than {MAX_DEPTH} levels", complete=False
)
"""The result for parameters with too many levels."""


def validate_parameters(
    config: CompiledConfig, value: Any, budget: StepBudget, *, depth: int = MAX_DEPTH
) -> ValidationResult:
    """Validate parameters of any JSON type; never raises.

    Args:
        config: The config that describes them.
        value: The parameters.
        budget: Steps that the validation may spend.
        depth: Allowed levels of objects and arrays.
    """
    if value is None:
        return _refusal(fielderrors.REQUIRED, "")
    if not isinstance(value, dict):
        return _refusal(fielderrors.TYPE_INVALID, "must be an object", value)
    before = budget.remaining
    token = steps.current.set(budget)
    try:
        errors, warnings = _validate(config, value, Pruner(budget, depth))
    except TooDeepError:
        return TOO_DEEP
    except StepBudgetExceeded:
        # Errors found so far are dropped: they would depend on what came from a cache.
        return TOO_EXPENSIVE
    finally:
        steps.current.reset(token)
    return ValidationResult(tuple(errors), tuple(warnings), before - budget.remaining)


def _validate(
    config: CompiledConfig, value: Any, pruner: Pruner
) -> tuple[list[ConfigFieldError], list[ConfigFieldError]]:
    """Return errors and warnings."""
    pruned = pruner.prune(config.pruning, value)
    errors = [*pruner.duplicates, *pruner.unreadable]
    warnings: list[ConfigFieldError] = []
    if config.spec.unknown_fields != ALLOW:
        unknown = pruner.unknown_field_errors()
        (errors if config.spec.unknown_fields == DENY else warnings).extend(unknown)
    # An unreadable value has an error already.
    reported = {error.path for error in pruner.unreadable}
    values = (e for e in field_errors(config.validator, pruned) if e.path not in reported)
    errors += islice(values, MAX_FIELD_ERRORS)
    if config.rules and not any(error.reason in _BLOCKS_RULES for error in errors):
        errors += config.rules.evaluate(config.rules.enforced, pruned, pruner.budget)
        warnings += config.rules.evaluate(config.rules.advisory, pruned, pruner.budget)
    return errors, warnings
