"""JSON files are read strictly, with the line of every value."""

from __future__ import annotations

import json

import pytest

from dragoman.driverconfigs.manifests.review import validate_manifests
from tests.unit.driverconfigs import builders

REGISTRY = builders.registry(
    builders.schema(
        builders.config(
            {
                "v": {"type": "string"},
                "count": {"type": "integer"},
                "m": {"type": "object", "additionalProperties": {"type": "string"}},
            }
        )
    )
)


def lines(text: str) -> list[tuple[int, str]]:
    return [(r.line, r.violation.error.path) for r in validate_manifests(REGISTRY, text).violations]


PARAMETERS = "spec.devices.config[0].opaque.parameters"


def as_json(parameters: str) -> str:
    claim = builders.claim(builders.entry("PARAMETERS"))
    return json.dumps(claim, indent="\t").replace('"PARAMETERS"', parameters)


@pytest.mark.parametrize(
    ("members", "paths"),
    [
        pytest.param('"v": "a",\n"v": "b"', [".v"], id="a repeated key"),
        pytest.param('"count": 1.0', [".count"], id="an integer with a fraction"),
        pytest.param('"count": 1e1', [".count"], id="an integer with an exponent"),
        pytest.param('"count": 1', [], id="an integer"),
        pytest.param('"v": null', [], id="null"),
    ],
)
def test_what_strict_decoders_look_at_is_seen_in_json(members: str, paths: list[str]) -> None:
    text = as_json('{"apiVersion": "example.com/v1", "kind": "Config",\n' + members + "}")
    line = 1 + text[: text.index(members)].count("\n")
    assert lines(text) == [(line, PARAMETERS + path) for path in paths]


def test_json_documents_after_each_other_are_reviewed() -> None:
    one = as_json('{"apiVersion": "example.com/v1", "kind": "Config", "v": 1}')
    assert len(lines(one + "\n" + one)) == 2
