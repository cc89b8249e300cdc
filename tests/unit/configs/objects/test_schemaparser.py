"""A malformed DriverConfigSchema does not compile, and its errors name the place."""

from typing import Any

import pytest

from dragoman_configs.compile.registry import register
from dragoman_configs.objects.schemaparser import parse
from tests.support.worlds import driverconfigs as builders


@pytest.mark.parametrize(
    ("document", "path"),
    [
        pytest.param({}, "spec.driver", id="nothing"),
        pytest.param({"spec": []}, "spec", id="a spec that is a list"),
        pytest.param({"spec": {"driver": "A.b"}}, "spec.driver", id="a driver in upper case"),
        pytest.param({"spec": {"driver": "a", "mode": "On"}}, "spec.mode", id="an unknown mode"),
        pytest.param(
            {"spec": {"driver": "a", "entries": {"precedence": "Best"}}},
            "spec.entries.precedence",
            id="an unknown precedence",
        ),
        pytest.param(
            {"spec": {"driver": "a", "variables": [{"name": "X", "type": "bool", "value": "no"}]}},
            "spec.variables[0].value",
            id="a value of another type",
        ),
        pytest.param(
            {"spec": {"driver": "a", "variables": [{"name": "X", "type": "int", "value": True}]}},
            "spec.variables[0].value",
            id="true for an int",
        ),
        pytest.param(
            {"spec": {"driver": "a", "variables": [{"name": "1", "type": "int", "value": 1}]}},
            "spec.variables[0].name",
            id="a name that CEL cannot say",
        ),
        pytest.param(
            {"spec": {"driver": "a", "configs": [{}]}},
            "spec.configs[0].schema.openAPIV3Schema",
            id="no schema",
        ),
        pytest.param(
            {"spec": {"driver": "a", "configs": [builders.config(), builders.config()]}},
            "spec.configs[1]",
            id="one kind twice",
        ),
        pytest.param(
            {"spec": {"driver": "a", "configs": [builders.config(allowedSources=["Pod"])]}},
            "spec.configs[0].allowedSources",
            id="an unknown source",
        ),
        pytest.param(
            {"spec": {"driver": "a", "configs": [{**builders.config(), "apiVersion": ""}]}},
            "spec.configs[0].apiVersion",
            id="a kind without an apiVersion",
        ),
        pytest.param(
            {"spec": {"driver": "a", "configs": ["x"]}},
            "spec.configs[0]",
            id="a config that is text",
        ),
    ],
)
def test_a_malformed_object_does_not_compile_and_says_where(
    document: dict[str, Any], path: str
) -> None:
    state = register(parse(document))
    assert state.active is None
    assert path in [error.path for error in state.compilation.errors]
