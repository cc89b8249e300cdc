"""Objects that would take too long or too much memory to compile are refused."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.driverconfigs.driverconfigschema import parse
from dragoman.driverconfigs.registry import register
from tests.unit.driverconfigs import worlds

STRING = {"type": "string"}


def described(length: int) -> dict[str, Any]:
    return worlds.config({"v": {**STRING, "description": "x" * length}})


def ruled(length: int) -> dict[str, Any]:
    return worlds.config(rules=[{"rule": "true || " + "a" * (length - 8)}])


@pytest.mark.parametrize(
    ("configs", "path"),
    [
        pytest.param(
            [described(131_072)], "spec.configs[0].schema.openAPIV3Schema", id="one large schema"
        ),
        pytest.param([described(131_000)] * 5, "spec.configs", id="five schemas together"),
        pytest.param([ruled(4096)] * 17, "spec.configs", id="many long rules"),
    ],
)
def test_what_would_take_long_to_compile_is_refused_for_its_size(
    configs: list[dict[str, Any]], path: str
) -> None:
    different = [{**config, "kind": f"Kind{index}"} for index, config in enumerate(configs)]
    state = register(parse(worlds.schema(*different)))
    [error] = state.compilation.errors
    assert (error.path, error.reason) == (path, "FieldValueTooLong")
