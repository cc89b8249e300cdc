"""One entry's parameters are validated within a step budget."""

from typing import Any

import pytest

from dragoman_cel.budget import StepBudget
from dragoman_configs.review.parameters_validation import validate_parameters
from tests.support.worlds.driverconfigs import compiled_config

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_parameters_are_an_object(value: Any) -> None:
    [error] = validate_parameters(compiled_config(STRING), value, StepBudget(1000)).errors
    assert error.path == ""


def test_an_expensive_schema_ends_at_the_same_step_every_time() -> None:
    alternatives = [{"minimum": bound} for bound in range(2, 300)]
    config = compiled_config({"type": "array", "items": {**INTEGER, "anyOf": alternatives}})
    value = {"v": [1] * 3000}
    needed = validate_parameters(config, value, StepBudget(10**9)).steps
    assert needed > 100_000
    assert validate_parameters(config, value, StepBudget(needed)).complete
    short = validate_parameters(config, value, StepBudget(needed - 1))
    assert not short.complete
    assert [str(error) for error in short.errors] == [
        (
            ": Internal error: the schema is too expensive for these parameters, "
            "the review ran out of steps"
        )
    ]
