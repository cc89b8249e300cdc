"""Defaults inside schemas: each must be valid where it stands, as in a CRD."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.cel.budget import StepBudget
from dragoman.cel.errors import StepBudgetExceeded
from dragoman.driverconfigs import fielderrors, openapi, steps
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.jsonschema import translate
from dragoman.driverconfigs.pruning import Members, TooDeep, shape_of
from dragoman.driverconfigs.validators import build, faults


def wrong_defaults(schema: Mapping[str, Any], path: str) -> Iterator[Finding]:
    """Yield what is wrong with the defaults of a schema that passed the structural check."""
    budget = StepBudget(steps.REVIEW_STEPS)
    token = steps.current.set(budget)
    try:
        yield from list(_wrong(schema, path, budget))
    except (StepBudgetExceeded, TooDeep):
        yield Finding(path, fielderrors.TOO_LONG, "the defaults are too large to be checked")
    finally:
        steps.current.reset(token)


def _wrong(schema: Mapping[str, Any], path: str, budget: StepBudget) -> Iterator[Finding]:
    if schema.get("default") is not None:
        members = Members(budget)
        settled = members.settle(shape_of(schema), schema["default"])
        found = [*members.unknown(), *faults(build(translate(schema)), settled)]
        yield from (finding.under(f"{path}.default") for finding in found)
    for step, child in openapi.children(schema):
        yield from _wrong(child, path + step, budget)
