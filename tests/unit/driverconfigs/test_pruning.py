"""Unknown fields and depth: what pruning removes and reports."""

from __future__ import annotations

import pytest

from dragoman.driverconfigs.pruning import MAX_DEPTH
from tests.unit.driverconfigs.worlds import messages, validated

STRING = {"type": "string"}
FREE = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("policy", "errors", "warnings"), [("Deny", 1, 0), ("Warn", 0, 1), ("Allow", 0, 0)]
)
def test_unknown_fields_are_what_the_driver_makes_of_them(
    policy: str, errors: int, warnings: int
) -> None:
    schema = {"type": "object", "properties": {"w": STRING}}
    result = validated(schema, '{"x": 1}', unknownFields=policy)
    assert (len(result.errors), len(result.warnings)) == (errors, warnings)


@pytest.mark.parametrize("value", ["[]", "1", '"x"', "true"])
def test_fields_of_what_should_be_an_object_are_not_looked_at(value: str) -> None:
    assert len(messages({"type": "object", "properties": {"w": STRING}}, value)) == 1


def test_the_depth_of_parameters_is_limited_at_its_edge() -> None:
    def deep(levels: int) -> str:
        return "[" * levels + "]" * levels

    assert messages(FREE, deep(MAX_DEPTH - 1)) == []
    assert messages(FREE, deep(MAX_DEPTH)) == [
        f": Invalid value: must not be nested deeper than {MAX_DEPTH} levels"
    ]
