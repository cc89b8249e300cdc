"""The same schemas and values, judged by the API server as a CRD and by us: the verdicts agree.

Where a driver's decoder is stricter than the API server, we side with the driver; those cases are
listed with their reason.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman_cel.budget import StepBudget
from dragoman_configs.compile.registry import register
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.parameters_validation import validate_parameters
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds import formats

Json = dict[str, Any]
STRING: Json = {"type": "string"}
INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
FREE: Json = {"x-kubernetes-preserve-unknown-fields": True}
NAMED: Json = {"type": "object", "properties": {"w": STRING}, "required": ["w"]}
KEYED: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["w"],
    "items": NAMED,
}
SET: Json = {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}

# Schema, then values; what the API server makes of them is asked, not written here.
CASES: list[tuple[Json, list[Any]]] = [
    (STRING, ["", "x", 1, True, [], {}, 1.5]),
    (INTEGER, [0, -1, 2**63 - 1, "1", True, 1.5, [], {}]),
    (NUMBER, [0, 1.5, -1e300, "1", False]),
    ({"type": "boolean"}, [True, False, 0, "true"]),
    ({"type": "object"}, [{}, [], "x"]),
    (NAMED, [{"w": "x"}, {}, {"w": 1}, {"w": None}]),
    ({**STRING, "nullable": True}, [None, "x", 1]),
    ({**STRING, "nullable": True, "enum": ["x"]}, [None, "x", "y"]),
    ({**INTEGER, "format": "int32"}, [2**31 - 1, -(2**31), 2**31]),
    ({**INTEGER, "minimum": 1, "maximum": 3}, [0, 1, 3, 4]),
    (
        {**INTEGER, "minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": True},
        [1, 2, 3],
    ),
    ({**NUMBER, "minimum": 0.5}, [0.4, 0.5, 1]),
    ({**INTEGER, "multipleOf": 3}, [0, 3, 4, -3]),
    ({**NUMBER, "multipleOf": 0.5}, [0.5, 1.5, 1.6]),
    ({**STRING, "minLength": 2, "maxLength": 3}, ["a", "ab", "abc", "abcd", "éé", "ééé", "éééé"]),
    ({**STRING, "pattern": "b"}, ["abc", "ac"]),
    ({**STRING, "pattern": "^b$"}, ["b", "b\n", "ab"]),
    ({**STRING, "pattern": r"^\d+$"}, ["1", "٣"]),
    ({**STRING, "pattern": r"^[\pL]+$"}, ["é", "1"]),
    ({**STRING, "enum": ["a", "b"]}, ["a", "c", ""]),
    ({**INTEGER, "enum": [1, 2]}, [1, 3]),
    ({**NUMBER, "enum": [1, 2.5]}, [1, 2.5, 3]),
    (
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2},
        [[], [1], [1, 2], [1, 2, 3], ["x"], [1, "x"]],
    ),
    ({"type": "array", "items": NAMED}, [[{"w": "x"}], [{}], [{"w": "x"}, {"w": 1}]]),
    ({"type": "object", "additionalProperties": INTEGER}, [{}, {"a": 1}, {"a": "x"}, {"a.b/c": 1}]),
    (
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 2},
        [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}],
    ),
    ({"type": "object", "additionalProperties": True}, [{"a": 1, "b": "x"}]),
    (FREE, [1, "x", {"a": {"b": 1}}, [1, "x"]]),
    ({"type": "object", **FREE, "properties": {"w": STRING}}, [{"w": "x", "v": 1}, {"w": 1}]),
    ({"x-kubernetes-int-or-string": True}, [1, "x", True, 1.5, {}]),
    ({"x-kubernetes-int-or-string": True, "pattern": "^a"}, [1, "a", "b"]),
    (SET, [[], ["a"], ["a", "b"], ["a", "a"]]),
    (KEYED, [[], [{"w": "a"}], [{"w": "a"}, {"w": "b"}], [{"w": "a"}, {"w": "a"}]]),
    ({**STRING, "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}, ["1.2.3.4", "::1", "x"]),
    ({**STRING, "oneOf": [{"pattern": "^a"}, {"pattern": "z$"}]}, ["a", "z", "az", "b"]),
    ({**STRING, "allOf": [{"pattern": "^a"}, {"maxLength": 2}]}, ["a", "ab", "abc", "b"]),
    ({**STRING, "not": {"enum": ["a"]}}, ["a", "b"]),
    (
        {
            "type": "object",
            "properties": {"a": STRING, "b": STRING},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        [{}, {"a": "x"}, {"b": "x"}, {"a": "x", "b": "x"}],
    ),
    (
        {
            "type": "object",
            "properties": {"a": STRING, "b": INTEGER},
            "anyOf": [
                {"properties": {"a": {"enum": ["x"]}}},
                {"properties": {"b": {"minimum": 5}}, "required": ["b"]},
            ],
        },
        [{}, {"a": "x"}, {"a": "y"}, {"a": "y", "b": 5}, {"a": "y", "b": 4}],
    ),
    (
        {"type": "object", "properties": {"w": {**STRING, "default": "x"}}, "required": ["w"]},
        [{}, {"w": "y"}, {"w": None}],
    ),
    (
        {
            "type": "object",
            "properties": {"a": INTEGER, "b": {**INTEGER, "default": 5}},
            "x-kubernetes-validations": [{"rule": "!has(self.a) || self.a < self.b"}],
        },
        [{}, {"a": 4}, {"a": 5}, {"a": 5, "b": 6}, {"a": 4, "b": None}],
    ),
    *(
        (
            {
                "type": "array",
                "maxItems": 2,
                "items": {**SET, "maxItems": 3, "items": items},
                "x-kubernetes-validations": [{"rule": "self[0] == self[1]"}],
            },
            [[[], []], [[one], [one]], [[one], []], [[one, other], [other, one]], [[one], [other]]],
        )
        for items, one, other in (
            (STRING, "a", "b"),
            ({**NAMED, "x-kubernetes-map-type": "atomic"}, {"w": "a"}, {"w": "b"}),
            ({"type": "array", "items": STRING}, ["a"], ["b"]),
        )
    ),
    (
        {"type": "object", "properties": {"w": STRING}},
        [{"w": "x"}, {"x": 1}, {"w": "x", "y": {}}],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": STRING}},
        [{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": "x"}],
    ),
    *(
        ({**STRING, "format": name}, [*formats.GOOD[name], *formats.BAD.get(name, [])])
        for name in formats.GOOD
        if name != "quantity"  # unknown to the API server
    ),
]  # fmt: skip

# Schema and value on which we differ on purpose, with who is the stricter one.
DIFFERENCES: list[Any] = [
    pytest.param(INTEGER, 1.0, "ours", id="a literal integer has no fraction, for Go's decoders"),
    pytest.param({**STRING, "format": "ipv4"}, "01.2.3.4", "ours", id="Go refuses leading zeros"),
    pytest.param({**STRING, "format": "quantity"}, "1 GB", "ours", id="quantity is a format"),
    pytest.param(
        {"type": "object", "additionalProperties": True},
        {"a": {"b": 1}},
        "theirs",
        id="additionalProperties: true is whatever one likes, also further down",
    ),
    pytest.param(
        {**NUMBER, "multipleOf": 0.5}, 3, "theirs", id="an integer is a multiple of a fraction"
    ),
    pytest.param(STRING, None, "neither", id="null is absent"),
]


@pytest.fixture(scope="module")
def verdicts(plane: ControlPlane) -> Iterator[Api]:
    """Serve one kind with a field for every case."""
    fields = {f"f{index}": schema for index, (schema, _) in enumerate(CASES)}
    fields |= {f"d{index}": case.values[0] for index, case in enumerate(DIFFERENCES)}
    definition = crd(fields)
    api = plane.api()
    api.create(definition)

    def served() -> bool:
        try:
            api.create(thing("ready", {}), dryRun="All")
        except (ApiError, KeyError):
            return False
        return True

    wait_for(served, message="the CRD is not served")
    yield api
    api.delete("customresourcedefinitions", definition["metadata"]["name"])


def crd(fields: Json) -> Json:
    spec = {"type": "object", "properties": fields}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.peer.example.com"},
        "spec": {
            "group": "peer.example.com",
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }


def thing(name: str, spec: Json) -> Json:
    metadata = {"name": name}
    return {
        "apiVersion": "peer.example.com/v1",
        "kind": "Thing",
        "metadata": metadata,
        "spec": spec,
    }


def theirs(api: Api, field: str, value: Any) -> str:
    """Ask the API server: nothing if it takes the value, else its complaint."""
    try:
        api.create(thing("x", {field: value}), dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return error.message
    return ""


def ours(schema: Json, value: Any) -> str:
    registry = builders.registry(builders.schema(builders.config({"v": schema})))
    active = registry.objects[builders.DRIVER].active
    assert active
    [config] = active.configs.values()
    return "; ".join(
        str(e) for e in validate_parameters(config, {"v": value}, StepBudget(10**6)).errors
    )


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_verdicts_agree(verdicts: Api, index: int) -> None:
    schema, values = CASES[index]
    differing = []
    for value in set_aside(values):
        answers = ours(schema, value), theirs(verdicts, f"f{index}", value)
        if bool(answers[0]) != bool(answers[1]):
            differing.append((value, *answers))
    assert differing == []


def set_aside(values: list[Any]) -> list[Any]:
    """Leave out what `DIFFERENCES` is about."""
    return [value for value in values if value != "01.2.3.4"]


@pytest.mark.parametrize(
    ("index", "stricter"),
    [pytest.param(n, case.values[2], id=case.id) for n, case in enumerate(DIFFERENCES)],
)
def test_we_differ_where_drivers_differ(verdicts: Api, index: int, stricter: str) -> None:
    schema, value, _ = DIFFERENCES[index].values
    answers = ours(schema, value), theirs(verdicts, f"d{index}", value)
    refused = {"ours": (True, False), "theirs": (False, True), "neither": (False, False)}
    assert tuple(map(bool, answers)) == refused[stricter]


STRUCTURAL: list[Any] = [
    pytest.param({"type": "object"}, id="an object"),
    pytest.param({"type": "object", "properties": {"a": {}}}, id="a field without a type"),
    pytest.param({"type": "object", "properties": {"a": {"type": "array"}}}, id="no items"),
    pytest.param({"type": "object", "properties": {"a": {"type": "text"}}}, id="an unknown type"),
    pytest.param(
        {"type": "object", "properties": {"a": {**NAMED, "additionalProperties": False}}},
        id="additionalProperties: false beside properties",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {"anyOf": [INTEGER, STRING]}}}, id="types in anyOf"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "anyOf": [STRING]}}}, id="a type in anyOf"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "not": {"default": "x"}}}},
        id="a default in not",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "default": 1}}}, id="a wrong default"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**NAMED, "default": {"x": 1, "w": "a"}}}},
        id="a default with an unknown field",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "default": "x"}}}, id="a right default"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {"type": "object", "oneOf": [{"required": ["z"]}]}}},
        id="an undeclared field is required",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": {"type": "object", "allOf": [{"properties": {"z": {}}}]}},
        },
        id="an undeclared field in allOf",
    ),
    pytest.param({"type": "object", "properties": {"a": {"$ref": "#/x"}}}, id="a reference"),
    pytest.param(
        {"type": "object", "properties": {"a": {"type": "array", "items": [STRING]}}}, id="a tuple"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**SET, "uniqueItems": True}}}, id="uniqueItems"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "pattern": "(?=a)"}}}, id="look-ahead"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "pattern": "a{1001}"}}}, id="repetition"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "x-kubernetes-list-type": "set"}}},
        id="a list type on a string",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**SET, "x-kubernetes-list-type": "map"}}},
        id="a map list without keys",
    ),
    pytest.param({"type": "object", "properties": {"a": KEYED}}, id="a map list"),
    pytest.param(
        {"type": "object", "properties": {"a": {**KEYED, "x-kubernetes-list-map-keys": ["z"]}}},
        id="an unknown map key",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {
                "a": {**KEYED, "items": {"type": "object", "properties": {"w": STRING}}}
            },
        },
        id="an optional map key",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": {**SET, "items": {"type": "object", "properties": {"w": STRING}}}},
        },
        id="a set of objects that are not atomic",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": {"type": "string", "x-kubernetes-embedded-resource": True}},
        },
        id="an embedded string",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": True}},
        },
        id="an embedded resource without fields",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True, **FREE}}},
        id="int or string or anything",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [INTEGER, STRING],
                    "allOf": [{"pattern": "^a"}],
                }
            },
        },
        id="int or string, spelled out",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": {**STRING, "x-kubernetes-validations": [{"rule": "self > 1"}]}},
        },
        id="a rule about another type",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": {**STRING, "x-kubernetes-validations": [{"rule": " "}]}},
        },
        id="an empty rule",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {
                "a": {
                    **NAMED,
                    "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".missing"}],
                }
            },
        },
        id="a field path to nowhere",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {
                "a": {
                    **STRING,
                    "x-kubernetes-validations": [{"rule": "true", "messageExpression": "1"}],
                }
            },
        },
        id="a message that is no string",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "enum": ["a", "a"]}}}, id="twice in enum"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**INTEGER, "nullable": "yes"}}}, id="text as flag"
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {**STRING, "maxLenght": 1}}}, id="a mistyped word"
    ),
]


@pytest.mark.parametrize("schema", STRUCTURAL)
def test_the_api_server_takes_the_same_schemas(plane: ControlPlane, schema: Json) -> None:
    document = builders.schema(builders.config({"v": schema}))
    mine = register(parse(document)).compilation.errors
    definition = crd({"v": schema})
    definition["metadata"]["name"] = "others.peer.example.com"
    definition["spec"]["names"] = {"kind": "Other", "plural": "others"}
    complaint = ""
    try:
        plane.api().create(definition, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        complaint = error.message
    assert bool(mine) == bool(complaint), (complaint, [str(error) for error in mine])
