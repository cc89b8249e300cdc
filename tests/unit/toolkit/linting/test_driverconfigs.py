"""What holds for every input: no crash, no dependence on key order, bounded answers."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from operator import getitem
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dragoman_configs import catalog, fielderrors, strictjson
from dragoman_configs.compile.registry import Registry, register
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.parameters_validation import ValidationResult
from dragoman_configs.review.validation import Key, validate_configs, validate_schema
from dragoman_configs.review.verdict import MAX_LISTED, MAX_MESSAGE, MAX_WARNING, Verdict
from dragoman_configs.schemas.structural import validate_structural
from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.manifests.documents import read
from tests.support.worlds import driverconfigs as builders
from tests.unit.examples import examples

# No deadline: how long an example takes says more about the machine than about the code.
cases = settings(max_examples=examples(15), deadline=None)

CATALOG = Registry.of(catalog.schemas())
DRIVERS = sorted(CATALOG.drivers)
KINDS = ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass"]
NAMES = sorted(
    {
        name
        for document in catalog.schemas()
        for config in document["spec"]["configs"]
        for name in json.dumps(config["schema"]).replace('"', " ").split()
        if name.isidentifier()
    }
)
DISCRIMINATORS = [
    {name: value for name, value in zip(("apiVersion", "kind"), kind, strict=True) if value}
    for registered in CATALOG.objects.values()
    if registered.active
    for kind in registered.active.configs
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**63) - 1, 2**64, 2**64 - 1, -(2**64), 10**60, 1.0, 1e300, -0.0])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(NAMES)
)
keys = st.sampled_from(NAMES) | st.text(max_size=8)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)
configs = st.builds(
    lambda discriminator, members: {**members, **discriminator},
    st.sampled_from(DISCRIMINATORS),
    st.dictionaries(keys, json_values, max_size=6),
)
entries = st.builds(
    builders.entry,
    configs | json_values,
    st.sampled_from(DRIVERS) | st.text(max_size=10),
    st.lists(st.sampled_from(["gpu", "main", "main/a"]), max_size=2),
)


def bounded(verdict: Verdict) -> bool:
    """Check an answer's promises about sizes; reading every part of it must not fail either."""
    sizes = len(verdict.message.encode("utf-8", "replace")) <= MAX_MESSAGE
    lengths = all(len(text) <= MAX_WARNING for text in verdict.warnings)
    named = verdict.allowed or 1 <= len(verdict.causes) <= MAX_LISTED
    annotated = bool(verdict.annotations) or not verdict.denials or not verdict.schemas
    return sizes and lengths and named and annotated


@cases
@given(st.sampled_from(KINDS), json_values)
def test_random_json_in_place_of_an_object_never_crashes(kind: str, document: Any) -> None:
    assert bounded(validate_configs(CATALOG, kind, document, old=document))


@cases
@given(st.lists(entries, max_size=6))
def test_random_json_in_place_of_parameters_never_crashes(made: list[Any]) -> None:
    claim = builders.claim(*made, requests=("gpu", ("main", ("a",))))
    verdict = validate_configs(CATALOG, "ResourceClaim", claim)
    assert bounded(verdict)
    assert all(v.error.path.startswith("spec.devices.config[") for v in verdict.violations)


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        members = [(name, shuffled(child, chance)) for name, child in value.items()]
        chance.shuffle(members)
        return dict(members)
    return [shuffled(child, chance) for child in value] if isinstance(value, list) else value


def essence(verdict: Verdict) -> tuple[bool, list[str]]:
    return verdict.allowed, sorted(str(v.error) for v in verdict.violations)


@cases
@given(st.lists(entries, max_size=4), st.randoms(use_true_random=False))
def test_a_verdict_does_not_depend_on_the_order_of_keys(
    made: list[Any], chance: random.Random
) -> None:
    claim = builders.claim(*made)
    other = shuffled(claim, chance)
    assert essence(validate_configs(CATALOG, "ResourceClaim", claim)) == essence(
        validate_configs(CATALOG, "ResourceClaim", other)
    )


@cases
@given(st.lists(entries, max_size=4))
def test_a_verdict_does_not_depend_on_the_cache(made: list[Any]) -> None:
    claim = builders.claim(*made)
    cache: dict[Key, ValidationResult] = {}
    fresh = validate_configs(CATALOG, "ResourceClaim", claim)
    assert validate_configs(CATALOG, "ResourceClaim", claim, cache=cache) == fresh
    assert validate_configs(CATALOG, "ResourceClaim", claim, cache=cache) == fresh


@cases
@given(st.lists(entries, max_size=4))
def test_parsing_what_was_written_loses_nothing(made: list[Any]) -> None:
    claim = builders.claim(*made)
    written = json.dumps(claim)
    assert json.dumps(strictjson.parse(written.encode())) == written


UNREADABLE = [b"1e999", b'"\\ud800"', b'"\xff"', b"[" * 300 + b"]" * 300, b'{"\\udc00":"\xfe"}']


@cases
@given(
    st.lists(entries, max_size=4),
    st.sampled_from([b"true", b"false", b"null"]),
    st.sampled_from(UNREADABLE),
)
def test_no_unreadable_value_crashes_a_verdict(
    made: list[Any], word: bytes, unreadable: bytes
) -> None:
    for kind, make in (("ResourceClaim", builders.claim), ("DeviceClass", builders.device_class)):
        written = json.dumps(make(*made)).encode()
        assume(written.count(b": " + word) == written.count(word))  # not within a text
        document = strictjson.parse(written.replace(word, unreadable))
        assert bounded(validate_configs(CATALOG, kind, document))
        assert validate_configs(CATALOG, kind, document, old=document).allowed


words = st.sampled_from(
    [
        "type", "properties", "items", "required", "enum", "pattern", "anyOf", "oneOf", "allOf",
        "not", "nullable", "format", "default", "minimum", "maxItems", "additionalProperties",
        "x-kubernetes-validations", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys", "rule", "message", "a",
    ]
)  # fmt: skip
meanings = st.sampled_from(["object", "string", "integer", "array", "set", "map", "^a", "self > 1"])
schema_values = st.recursive(
    scalars
    | st.sampled_from(["object", "string", "integer", "array", "set", "map", "^a", "self.a > 1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(words | st.just("a"), inner, max_size=5)
    ),
    max_leaves=20,
)


@cases
@given(schema_values)
def test_no_schema_crashes_the_compiler(schema: Any) -> None:
    document = builders.schema({**builders.KIND, "schema": {"openAPIV3Schema": schema}})
    for word in ("true", "null"):
        written = json.dumps(document).replace(word, "1e999")
        assert bounded(validate_schema(Registry(), strictjson.parse(written.encode())))
    registered = register(parse(document))
    assert bounded(validate_schema(Registry(), document))
    assert (registered.active is None) == bool(registered.compilation.errors)
    if validate_structural(schema).errors:
        assert registered.active is None


RICH: dict[str, Any] = {
    "type": "object",
    "required": ["list"],
    "x-kubernetes-validations": [{"rule": "size(self.list) > 0", "message": "empty"}],
    "properties": {
        "list": {
            "type": "array",
            "maxItems": 3,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {
                    "k": {"type": "string", "pattern": "^a", "enum": ["a", "b"]},
                    "n": {"type": "integer", "format": "int32", "minimum": 1, "default": 2},
                },
            },
        },
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "map": {"type": "object", "additionalProperties": {"type": "number", "nullable": True}},
        "either": {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "not": {"enum": [3]},
        },
        "choice": {"type": "string", "oneOf": [{"minLength": 3}, {"allOf": [{"maxLength": 1}]}]},
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the paths of all values inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for step, child in inside:
        found.append((*path, step))
        found += places(child, (*path, step)) if isinstance(child, (dict, list)) else []
    return found


@cases
@given(st.sampled_from(places(RICH)), schema_values | json_values, st.sampled_from(places(RICH)))
def test_no_change_of_a_valid_schema_crashes_the_compiler(
    path: tuple[Any, ...], value: Any, other: tuple[Any, ...]
) -> None:
    schema = json.loads(json.dumps(RICH))
    for place in {path, other}:
        with suppress(KeyError, IndexError, TypeError):  # the first change removed the place
            reduce(getitem, place[:-1], schema)[place[-1]] = value
    document = builders.schema({**builders.KIND, "schema": {"openAPIV3Schema": schema}})
    assert bounded(validate_schema(Registry(), document))


def test_the_schema_that_is_changed_is_valid() -> None:
    document = builders.schema({**builders.KIND, "schema": {"openAPIV3Schema": RICH}})
    assert validate_schema(Registry(), document).violations == ()


ATOMIC = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "l": {"type": "array", "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}
UNIQUE = {
    "type": "array",
    "items": ATOMIC,
    "maxItems": 8,
    "x-kubernetes-list-type": "set",
}
TAGS = {**UNIQUE, "items": {"type": "string"}}
CHOICES: list[dict[str, Any]] = [{}, {"n": 1}, {"l": ["a"], "m": {"p": True}}, {"x": 0.5, "n": 0}]
COMPARISONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "self.items[0] == self.items[size(self.items) - 1]": lambda v: v["items"][0] == v["items"][-1],
    "self.items.all(x, self.items.exists_one(y, y == x))": lambda v: all(
        v["items"].count(one) == 1 for one in v["items"]
    ),
    "self.items.exists(x, x != self.items[0])": lambda v: any(
        one != v["items"][0] for one in v["items"]
    ),
    "self.items[0] in self.items.filter(x, has(x.n))": lambda v: "n" in v["items"][0],
    "self.items.map(x, x.?l.orValue([])) == [['a'], ['a', 'b']]": lambda v: (
        [one.get("l", []) for one in v["items"]] == [["a"], ["a", "b"]]
    ),
    "self.tags[0] == self.tags[1]": lambda v: sorted(v["tags"][0]) == sorted(v["tags"][1]),
}
COMPARING = builders.registry(
    builders.schema(
        builders.config(
            {
                "items": {"type": "array", "items": ATOMIC, "maxItems": 8},
                "sets": {"type": "array", "items": UNIQUE, "maxItems": 2},
                "tags": {"type": "array", "items": TAGS, "maxItems": 2},
                "choice": {**ATOMIC, "enum": CHOICES},
            },
            rules=[{"rule": rule} for rule in COMPARISONS],
        )
    )
)
atoms = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 1),
        "x": st.sampled_from([0, 0.5, 1.0]),
        "l": st.lists(st.sampled_from("ab"), max_size=2),
        "m": st.dictionaries(st.sampled_from("pq"), st.booleans(), max_size=2),
    },
) | st.sampled_from(CHOICES)
few = st.lists(atoms, max_size=3)
compared = st.fixed_dictionaries(
    {
        "items": st.lists(atoms, min_size=1, max_size=3),
        "sets": st.lists(few, min_size=2, max_size=2),
        "tags": st.lists(
            st.lists(st.sampled_from("abc"), max_size=3, unique=True), min_size=2, max_size=2
        ),
        "choice": atoms,
    }
)


@cases
@given(compared, st.randoms(use_true_random=False))
def test_objects_are_compared_by_what_is_in_them(
    value: dict[str, Any], chance: random.Random
) -> None:
    claim = builders.claim(builders.entry({**builders.KIND, **shuffled(value, chance)}))
    found = [one.error for one in validate_configs(COMPARING, "ResourceClaim", claim).violations]
    # As written: list types compare 1 and 1.0 literally, CEL by value.
    written = [[json.dumps(one, sort_keys=True) for one in group] for group in value["sets"]]
    repeated = {
        f".sets[{place}][{index}]"
        for place, group in enumerate(written)
        for index, one in enumerate(group)
        if one in group[:index]
    }
    broken = {f"failed rule: {rule}" for rule, holds in COMPARISONS.items() if not holds(value)}
    prefix = "spec.devices.config[0].opaque.parameters"
    assert {one.detail for one in found if one.detail.startswith("failed rule")} == broken
    assert {
        one.path.removeprefix(prefix) for one in found if one.reason == fielderrors.DUPLICATE
    } == repeated
    refused = any(one.path == f"{prefix}.choice" for one in found)
    assert refused == (value["choice"] not in CHOICES)


@cases
@given(json_values)
def test_no_object_crashes_the_parser(spec: Any) -> None:
    document = {"metadata": {"name": "x"}, "spec": spec}
    registered = register(parse(document))
    assert registered.active is None or not registered.compilation.errors
    assert bounded(validate_schema(Registry(), document))


@cases
@given(st.text(max_size=200))
def test_no_text_crashes_the_offline_check(text: str) -> None:
    for prefix in ("", "{", "a: ", "- &a [*a, "):
        source = engine.read("m.yaml", prefix + text)
        assert source.failure is None or not source.documents


@cases
@given(st.lists(entries, max_size=4))
def test_a_file_gets_the_verdict_of_the_webhook(made: list[Any]) -> None:
    claim = builders.claim(*made)
    online = validate_configs(
        CATALOG, "ResourceClaim", strictjson.parse(json.dumps(claim, default=str).encode())
    )
    [document] = read(json.dumps(claim))
    offline = validate_configs(CATALOG, "ResourceClaim", document.tree)
    assert essence(offline) == essence(online)
