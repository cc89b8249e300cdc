"""Texts are read as kubectl reads them, and every complaint knows its line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.driverconfigs.manifests import documents as limits
from dragoman.driverconfigs.manifests.documents import ManifestError
from dragoman.driverconfigs.manifests.review import documents, validate_manifests
from dragoman.driverconfigs.strictjson import DuplicateKeys
from tests.unit.driverconfigs import worlds

REGISTRY = worlds.registry(
    worlds.schema(
        worlds.config(
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


def test_a_complaint_knows_its_line_and_object() -> None:
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


def test_what_is_missing_is_told_where_it_should_be() -> None:
    text = CLAIM.replace("          kind: Config\n", "")
    assert lines(text) == [(15, f"{PARAMETERS}.kind")]


def as_json(parameters: str) -> str:
    claim = worlds.claim(worlds.entry("PARAMETERS"))
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


def test_all_documents_of_a_stream_are_reviewed_and_other_kinds_ignored() -> None:
    pod = "apiVersion: v1\nkind: Pod\nspec: {v: 1}\n"
    one, two = (f"{CLAIM}          v: {value}\n" for value in (1, 2))
    text = f"{one}---\n{pod}---\n---\n# nothing\n---\n{two}"
    reviewed = validate_manifests(REGISTRY, text)
    assert reviewed.objects == 2
    marked = [text.splitlines()[violation.line - 1].strip() for violation in reviewed.violations]
    assert marked == ["v: 1", "v: 2"]


def test_json_documents_after_each_other_are_reviewed() -> None:
    one = as_json('{"apiVersion": "example.com/v1", "kind": "Config", "v": 1}')
    assert len(lines(one + "\n" + one)) == 2


@pytest.mark.parametrize("kind", ["List", "ResourceClaimList"])
def test_items_of_lists_are_reviewed(kind: str) -> None:
    claim = worlds.claim(worlds.entry({**worlds.KIND, "v": 1}))
    if kind != "List":
        del claim["apiVersion"], claim["kind"]
    version = "v1" if kind == "List" else "resource.k8s.io/v1"
    text = json.dumps({"apiVersion": version, "kind": kind, "items": [{}, claim]}, indent=1)
    [violation] = validate_manifests(REGISTRY, text).violations
    assert text.splitlines()[violation.line - 1].strip() == '"v": 1'


def test_schemas_are_compiled() -> None:
    text = json.dumps(worlds.schema(worlds.config({"v": {"type": "strin"}})), indent=1)
    [violation] = validate_manifests(REGISTRY, text).violations
    assert violation.denies
    assert "strin" in text.splitlines()[violation.line - 1]


# As kubectl 1.36 sends them; measured with `kubectl create --dry-run=server`.
@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("y", True), ("n", False), ("yes", True), ("Off", False), ("TRUE", True), ("tRUE", "tRUE"),
        ("~", None), ("Null", None), ("", None), ("010", 8), ("0o10", 8), ("0x1F", 31), ("0b11", 3),
        ("1_000", 1000), ("_1", "_1"), ("08", 8), ("-010", -8), ("+1", 1), ("0O7", 7),
        ("0o8", "0o8"), ("1:30", "1:30"), (".5", 0.5), ("1e1", 10.0), ("1.", 1.0), ("1E5", 1e5),
        ("1e400", "1e400"),
        ("685_230.15", 685230.15), ("2024-01-01", "2024-01-01"), ("=", "="), ("'1'", "1"),
        ("!!str 1", "1"), ('!!int "3"', 3), ("!!float 3", 3.0), ("!!binary aGk=", "hi"),
        ("!foo b", "b"), ("18446744073709551616", 18446744073709551616),
    ],
)  # fmt: skip
def test_scalars_are_read_as_kubectl_reads_them(scalar: str, value: Any) -> None:
    [document] = documents(f"v: {scalar}\n")
    assert document.tree == {"v": value}
    assert type(document.tree["v"]) is type(value)


def test_keys_become_strings_and_merges_are_merged() -> None:
    text = "base: &b {x: 1, w: 0}\n1: a\ntrue: b\n1.5: c\nd: {<<: *b, x: 2}\ny: e\n"
    [document] = documents(text)
    merged = document.tree.pop("d")
    assert merged == {"x": 2, "w": 0}
    assert not isinstance(merged, DuplicateKeys)
    assert document.tree == {"base": {"x": 1, "w": 0}, "1": "a", "true": "e", "1.5": "c"}
    assert document.tree.duplicate_keys == ("true",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("a: 1\nb: [\n", 3, id="an open bracket"),
        pytest.param("a: 1\n\tb: 2\n", 2, id="a tab"),
        pytest.param("a: {{ .Values.x }}\n", 1, id="a template of Helm"),
        pytest.param("a: 1\n? [b]\n: 2\n", 2, id="a key that is a list"),
        pytest.param("a: 1\nnull: 2\n", 2, id="a key that is null"),
        pytest.param("a: 1\nb: .inf\n", 2, id="infinity"),
        pytest.param("a: 1\nb: {<<: 1}\n", 2, id="a merge of a scalar"),
        pytest.param("a: &a [*a]\n", 1, id="a list within itself"),
        pytest.param("a: &a {<<: *a}\n", 1, id="a mapping merged into itself"),
        pytest.param("a: " + "[" * 1500 + "]" * 1500, 1, id="1500 levels"),
        pytest.param("a: \0", 1, id="NUL"),
        pytest.param('{"a": 1,\n"b" "c"}', 2, id="JSON without a colon"),
        pytest.param('{"a": ' * 300 + "1" + "}" * 300, 1, id="JSON of 300 levels"),
    ],
)
def test_what_is_neither_yaml_nor_json_says_where(text: str, line: int) -> None:
    with pytest.raises(ManifestError) as caught:
        documents(text)
    assert caught.value.line == line


def test_aliases_cannot_stand_for_billions_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_VALUES", 10_000)
    text = "a0: &a0 [x, x]\n"
    for i in range(1, 40):
        text += f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n"
    with pytest.raises(ManifestError, match="more than 10000 values"):
        documents(text)


def test_yaml_in_flow_style_is_no_bad_json() -> None:
    [document] = documents("{a: 1, b: [x]}")
    assert document.tree == {"a": 1, "b": ["x"]}
