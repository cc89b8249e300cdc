"""Files are validated as the webhook validates, and every violation knows its line."""

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


CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: gpu
  namespace: ml
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpus}
    config:
    - requests: [gpu]
      opaque:
        driver: gpu.example.com
        parameters:
          apiVersion: example.com/v1
          kind: Config
"""


def lines(text: str) -> list[tuple[int, str]]:
    return [(r.line, r.violation.error.path) for r in validate_manifests(REGISTRY, text).violations]


PARAMETERS = "spec.devices.config[0].opaque.parameters"


def test_a_violation_names_its_line_and_object() -> None:
    [violation] = validate_manifests(REGISTRY, CLAIM + "          v: 1\n").violations
    assert (violation.line, violation.object, violation.denies) == (
        18,
        "ResourceClaim ml/gpu",
        True,
    )
    assert violation.violation.error.path == f"{PARAMETERS}.v"


@pytest.mark.parametrize(
    ("tail", "place"),
    [
        pytest.param("          v: a\n          v: b\n", (18, ".v"), id="a repeated key"),
        pytest.param("          count: 1.0\n", (18, ".count"), id="an integer with a fraction"),
        pytest.param("          count: 1e1\n", (18, ".count"), id="an integer with an exponent"),
        pytest.param(
            "          m:\n            a: b\n            c.d/e: 1\n", (20, ".m[c.d/e]"), id="a map"
        ),
        pytest.param("          x: 1\n", (18, ".x"), id="an unknown field"),
    ],
)  # fmt: skip
def test_what_strict_decoders_look_at_is_seen_in_yaml(tail: str, place: tuple[int, str]) -> None:
    assert lines(CLAIM + tail) == [(place[0], PARAMETERS + place[1])]


def test_a_missing_field_is_reported_at_its_object() -> None:
    text = CLAIM.replace("          kind: Config\n", "")
    assert lines(text) == [(15, f"{PARAMETERS}.kind")]


def test_all_documents_of_a_stream_are_reviewed_and_other_kinds_ignored() -> None:
    pod = "apiVersion: v1\nkind: Pod\nspec: {v: 1}\n"
    one, two = (f"{CLAIM}          v: {value}\n" for value in (1, 2))
    text = f"{one}---\n{pod}---\n---\n# nothing\n---\n{two}"
    reviewed = validate_manifests(REGISTRY, text)
    assert reviewed.objects == 2
    marked = [text.splitlines()[violation.line - 1].strip() for violation in reviewed.violations]
    assert marked == ["v: 1", "v: 2"]


@pytest.mark.parametrize("kind", ["List", "ResourceClaimList"])
def test_items_of_lists_are_reviewed(kind: str) -> None:
    claim = builders.claim(builders.entry({**builders.KIND, "v": 1}))
    if kind != "List":
        del claim["apiVersion"], claim["kind"]
    version = "v1" if kind == "List" else "resource.k8s.io/v1"
    text = json.dumps({"apiVersion": version, "kind": kind, "items": [{}, claim]}, indent=1)
    [violation] = validate_manifests(REGISTRY, text).violations
    assert text.splitlines()[violation.line - 1].strip() == '"v": 1'


def test_schemas_are_compiled() -> None:
    text = json.dumps(builders.schema(builders.config({"v": {"type": "strin"}})), indent=1)
    [violation] = validate_manifests(REGISTRY, text).violations
    assert violation.denies
    assert "strin" in text.splitlines()[violation.line - 1]
