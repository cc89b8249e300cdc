"""Hints: the remedy for a field error, in a cluster and offline.

A rule can depend on a variable, such as a feature gate of the driver. Whether the driver runs with
it is known in a cluster, whose admin sets the variable, and not to `dragoman check`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from dragoman_configs.fielderrors import ConfigFieldError, clip
from dragoman_configs.objects.driverconfigschema import KIND, DriverConfigSchema, Variable
from dragoman_configs.review.verdict import Violation
from dragoman_configs.schemas.pruning import UNKNOWN_FIELD

MAX_HINTED = 4
"""Variables that one hint names."""


def with_hint(error: ConfigFieldError, parsed: DriverConfigSchema) -> ConfigFieldError:
    """Add what an admin can do: which variable to set, or which driver the schema describes."""
    if error.variables:
        known = _known(error.variables, parsed)
        named = " or ".join(f"{one.name} (now {_written(one)})" for one in known)
        hint = f"if the driver runs otherwise, set variable {named} of {KIND} {parsed.name}"
        return replace(error, hint=hint) if known else error
    if parsed.checked_against and error.detail.startswith(UNKNOWN_FIELD):
        return replace(error, hint=f"checked against {parsed.checked_against}")
    return error


def undecided(
    violation: Violation, parsed: DriverConfigSchema, given: Collection[str]
) -> Violation:
    """Turn a refusal that depends on variables without a given value into a warning.

    Args:
        violation: A violation of a schema.
        parsed: The schema.
        given: Names of its variables whose values the user has given.
    """
    open_names = [name for name in violation.error.variables if name not in given]
    known = _known(open_names, parsed)
    if not known:
        return violation
    settings = " ".join(f"--variable {parsed.name}:{one.name}={_other(one)}" for one in known)
    error = replace(violation.error, hint=f"if the driver runs otherwise, use {settings}")
    return replace(violation, error=error, harmless=True)


def _known(names: Iterable[str], parsed: DriverConfigSchema) -> list[Variable]:
    variables: Mapping[str, Variable] = {one.name: one for one in parsed.variables}
    return [variables[name] for name in names if name in variables][:MAX_HINTED]


def _written(variable: Variable) -> str:
    if isinstance(variable.value, bool):
        return str(variable.value).lower()
    return clip(str(variable.value), 32)


def _other(variable: Variable) -> str:
    """Write the other value of a switch; of others there is no saying which one is meant."""
    if isinstance(variable.value, bool):
        return str(not variable.value).lower()
    return "VALUE"
