"""Validation rules: which errors a value gets, where, and in which words."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dragoman_cel as cel
from dragoman_cel.rules import ruleset as rulesets
from dragoman_cel.rules import validation

Schema = dict[str, Any]


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"rule": text, **more}


def objects(properties: dict[str, Schema], *rules: dict[str, Any], **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, **more}
    if rules:
        schema["x-kubernetes-validations"] = list(rules)
    return schema


INT: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}


def errors(schema: Schema, value: Any, old: Any = None, **options: Any) -> list[tuple[str, str]]:
    found = cel.rules.compile(schema, **options).validate(value, old)
    return [(error.field, error.detail) for error in found]


def test_a_value_that_meets_its_rules_has_no_errors() -> None:
    assert errors(objects({"n": INT}, rule("self.n > 2")), {"n": 3}) == []


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        pytest.param(rule("self.n > 2"), "failed rule: self.n > 2", id="the rule itself"),
        pytest.param(rule("self.n > 2", message=" too small "), "too small", id="a message"),
        pytest.param(
            rule("self.n > 2", messageExpression="'is ' + string(self.n)"), "is 1", id="computed"
        ),
        pytest.param(
            rule("self.n > 2", message="m", messageExpression="string(self.n / 0)"),
            "m",
            id="the message, where computing one fails",
        ),
        pytest.param(
            rule("self.n > 2", message="m", messageExpression="'a\\nb'"), "m", id="no line breaks"
        ),
        pytest.param(
            rule("self.n / 0 > 2"), "division by zero evaluating rule: self.n / 0 > 2", id="failure"
        ),
        pytest.param(
            rule("dyn(self.n) < 'a'"),
            "'no such overload': call arguments did not match a supported operator, function or "
            "macro signature for rule: dyn(self.n) < 'a'",
            id="a call that fits nothing",
        ),
        pytest.param(
            rule("self.n"),
            "rule compile error: cel expression must evaluate to a bool",
            id="no bool",
        ),
    ],
)
def test_the_detail_of_an_error_is(given: dict[str, Any], detail: str) -> None:
    assert errors(objects({"n": INT}, given), {"n": 1}) == [("spec", detail)]


@pytest.mark.parametrize(
    ("reason", "kind", "detail"),
    [
        (None, "FieldValueInvalid", "m"),
        ("FieldValueForbidden", "FieldValueForbidden", "m"),
        ("FieldValueRequired", "FieldValueRequired", "m"),
        ("FieldValueDuplicate", "FieldValueDuplicate", ""),
    ],
)
def test_the_reason_becomes_the_type_of_the_error(reason: str, kind: str, detail: str) -> None:
    ruleset = cel.rules.compile(objects({}, rule("false", message="m", reason=reason)))
    assert ruleset.validate({}) == [cel.FieldError(kind, "spec", detail)]


@pytest.mark.parametrize(
    ("field_path", "field"),
    [
        (".n", "spec.n"),
        (".in.deep", "spec.in.deep"),
        ("['x-y']", "spec.x-y"),
        (".labels['k']", "spec.labels[k]"),
        (".nosuch", "spec"),
        ("n", "spec"),
    ],
)
def test_a_field_path_points_at_the_field_if_there_is_one(field_path: str, field: str) -> None:
    labels = {"type": "object", "additionalProperties": TEXT}
    properties = {"n": INT, "in": objects({"deep": INT}), "x-y": INT, "labels": labels}
    schema = objects(properties, rule("false", message="m", fieldPath=field_path))
    assert errors(schema, {}) == [(field, "m")]


def test_rules_of_every_level_are_run() -> None:
    no_three = {**INT, "x-kubernetes-validations": [rule("self != 3", message="three")]}
    schema = objects(
        {
            "n": no_three,
            "items": {"type": "array", "items": no_three},
            "map": {"type": "object", "additionalProperties": no_three},
            "object": objects({"inner": no_three}),
        }
    )
    value = {"n": 3, "items": [1, 3], "map": {"a": 3, "b": 1}, "object": {"inner": 3}}
    fields = {field for field, _ in errors(schema, value)}
    assert fields == {"spec.n", "spec.items[1]", "spec.map[a]", "spec.object.inner"}


def test_rules_inside_of_all_of_count() -> None:
    schema = objects({"n": INT}, rule("true"))
    schema["allOf"] = [{"x-kubernetes-validations": [rule("self.n > 2", message="small")]}]
    assert errors(schema, {"n": 1}) == [("spec", "small")]


def test_null_is_absent_and_its_own_rules_do_not_run() -> None:
    strict = {**TEXT, "nullable": True, "x-kubernetes-validations": [rule("false")]}
    schema = objects({"t": strict}, rule("!has(self.t)"))
    assert errors(schema, {"t": None}) == []


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a-b", "a__dash__b"),
        ("a.b", "a__dot__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("if", "__if__"),
        ("namespace", "namespace"),
    ],
)
def test_names_are_escaped(name: str, written: str) -> None:
    assert errors(objects({name: INT}, rule(f"self.{written} == 7")), {name: 7}) == []


def test_a_name_without_escape_cannot_be_read() -> None:
    schema = objects({"$ref": INT}, rule("has(self.ref)"))
    assert "undefined field 'ref'" in errors(schema, {"$ref": 1})[0][1]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "number"}, 1, "type(self.v) == double"),
        ({"type": "string", "format": "byte"}, "aGk=", "self.v == b'hi'"),
        ({"type": "string", "format": "duration"}, "1h", "self.v == duration('3600s')"),
        ({"type": "string", "format": "duration"}, "2 days", "self.v == duration('48h')"),
        ({"type": "string", "format": "date"}, "2024-02-01", "self.v.getMonth() == 1"),
        (
            {"type": "string", "format": "date-time"},
            "2024-02-01T10:00:00Z",
            "self.v.getHours() == 10",
        ),
        ({"x-kubernetes-int-or-string": True}, 5, "type(self.v) == int"),
        ({"x-kubernetes-int-or-string": True}, "5%", "self.v == '5%'"),
    ],
)
def test_data_becomes_values_of_its_declared_type(schema: Schema, value: Any, text: str) -> None:
    assert errors(objects({"v": schema}, rule(text)), {"v": value}) == []


def test_data_that_does_not_fit_fails_only_rules_that_read_it() -> None:
    schema = objects({"n": INT, "m": INT}, rule("self.n == 3"), rule("self.m == 1"))
    complaint = "invalid data, expected int, got float64 evaluating rule: self.n == 3"
    assert errors(schema, {"n": 3.0, "m": 1}) == [("spec", complaint)]


def test_sets_and_list_maps_ignore_order() -> None:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": objects({"name": TEXT, "port": INT}),
    }
    tags = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
    schema = objects(
        {"tags": tags, "ports": ports},
        rule("self.tags == ['b', 'a'] && (self.tags + ['c', 'a']).size() == 3"),
        rule("self.ports == oldSelf.ports && (self.ports + oldSelf.ports).size() == 2"),
    )
    one, two = {"name": "x", "port": 1}, {"name": "y", "port": 2}
    new = {"tags": ["a", "b"], "ports": [one, two]}
    old = {"tags": ["b"], "ports": [two, one]}
    assert errors(schema, new, old) == []


def test_elements_of_a_list_map_meet_their_old_selves() -> None:
    grow = rule("self.port >= oldSelf.port", message="shrank")
    schema = objects(
        {
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": objects({"name": TEXT, "port": INT}, grow),
            }
        }
    )
    old = {"ports": [{"name": "x", "port": 5}, {"name": "y", "port": 5}]}
    new = {"ports": [{"name": "y", "port": 6}, {"name": "x", "port": 4}, {"name": "z", "port": 1}]}
    assert errors(schema, new, old) == [("spec.ports[1]", "shrank")]


def test_a_transition_rule_waits_for_an_old_value() -> None:
    schema = objects({"n": INT}, rule("self.n >= oldSelf.n", message="shrank"))
    assert errors(schema, {"n": 1}) == []
    assert errors(schema, {"n": 1}, {"n": 2}) == [("spec", "shrank")]


def test_an_optional_old_self_is_empty_on_creation() -> None:
    schema = objects({"n": INT}, rule("oldSelf.hasValue()", optionalOldSelf=True, message="new"))
    assert errors(schema, {"n": 1}) == [("spec", "new")]
    assert errors(schema, {"n": 1}, {"n": 1}) == []


def test_a_whole_resource_has_its_name_and_kind() -> None:
    schema = objects({}, rule("self.metadata.name == 'x' && self.kind == 'K'"))
    value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}}
    assert errors(schema, value, resource_root=True, path="") == []
    assert "undefined field 'metadata'" in errors(schema, value)[0][1]


def test_added_variables_have_types_and_values() -> None:
    schema = objects({"n": INT}, rule("self.n <= variables.limit && variables.on"))
    variables = {"variables.limit": 3, "variables.on": True}
    assert errors(schema, {"n": 3}, variables=variables) == []
    assert errors(schema, {"n": 4}, variables=variables) != []
    wrong = cel.rules.compile(objects({}, rule("variables.limit == 'a'")), variables=variables)
    assert "found no matching overload" in wrong.problems[0].message


def test_what_does_not_compile_is_told_to_the_author_with_its_place() -> None:
    inner = objects({"n": INT}, rule("self.x"), rule("true", messageExpression="1"))
    ruleset = cel.rules.compile(objects({"list": {"type": "array", "items": inner}}))
    assert [problem.path for problem in ruleset.problems] == [
        "properties[list].items.x-kubernetes-validations[0].rule",
        "properties[list].items.x-kubernetes-validations[1].messageExpression",
    ]


def test_an_expensive_rule_stops_the_validation() -> None:
    loop = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))"
    schema = objects({"l": {"type": "array", "items": INT}}, rule(loop), rule("false"))
    found = errors(schema, {"l": list(range(100))})
    assert len(found) == 1
    assert "cost limit exceeded" in found[0][1]


def test_all_rules_of_an_object_share_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cel.rules.OBJECT_LIMIT == 10_000_000
    for module in (rulesets, validation):
        monkeypatch.setattr(module, "OBJECT_LIMIT", 1_000_000)
    loop = rule("self.all(a, self.all(b, a + b >= 0))")
    inner = {"type": "array", "items": INT, "x-kubernetes-validations": [loop]}
    schema = objects({"lists": {"type": "array", "items": inner}})
    outcome = cel.rules.compile(schema).outcome({"lists": [list(range(300))] * 4})
    assert outcome.errors[-1].detail.startswith("validation failed due to running out of cost")
    assert 500_000 < outcome.cost <= 1_000_000


def test_validations_share_a_budget_of_steps() -> None:
    schema = objects({"l": {"type": "array", "items": INT}}, rule("self.l.all(x, x >= 0)"))
    ruleset, budget = cel.rules.compile(schema), cel.StepBudget(2000)
    assert ruleset.validate({"l": [1] * 100}, budget=budget) == []
    with pytest.raises(cel.StepBudgetExceeded):
        ruleset.validate({"l": [1] * 1000}, budget=budget)


def test_the_value_is_never_changed() -> None:
    value = {"l": [3, 1, 2], "m": {"a": 1}}
    schema = objects(
        {
            "l": {"type": "array", "items": INT},
            "m": {"type": "object", "additionalProperties": INT},
        },
        rule("self.l.sort() != self.l && self.l + [1] != self.l && self.m.size() == 1"),
    )
    assert errors(schema, value) == []
    assert value == {"l": [3, 1, 2], "m": {"a": 1}}


def test_threads_share_rules() -> None:
    items = {"type": "array", "items": INT}
    ruleset = cel.rules.compile(
        objects(
            {"n": INT, "l": items, "since": {"type": "string", "format": "duration"}},
            rule("self.l.exists(x, x == self.n)", message="absent"),
            rule("self.n / (self.n - 3) < 100"),
            rule("self.since < duration('1h')", messageExpression="string(self.since)"),
            rule("oldSelf.n <= self.n", message="smaller"),
        )
    )
    values = [
        {"n": number, "l": [1, 2], "since": f"{number}h", "unknown": None} for number in range(5)
    ]
    kept = copy.deepcopy(values)
    alone = [ruleset.validate(value, values[2]) for value in values]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda n: ruleset.validate(values[n % 5], values[2]), range(2000))
        assert all(errors == alone[number % 5] for number, errors in enumerate(found))
    assert values == kept
    assert len({tuple(errors) for errors in alone}) == 5


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("self.secret", id="no bool"),
        pytest.param("dyn(self.secret) < 1", id="an operand that does not fit"),
        pytest.param("int(self.secret) > 0", id="a text that is no number"),
        pytest.param("self.secret == 'x'", id="a comparison"),
        pytest.param("[1][dyn(self.secret)] == 1", id="an index"),
        pytest.param("self.secret.matches(self.secret) && false", id="a pattern"),
    ],
)
def test_errors_hold_no_values(text: str) -> None:
    schema = objects({"secret": TEXT}, rule(text, messageExpression="string(1 / 0)"))
    found = errors(schema, {"secret": "hunter2"})
    assert len(found) == 1
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1" * 200_000, id="digits without a unit"),
        pytest.param("1" + " " * 200_000, id="spaces"),
        pytest.param("0" * 5000 + " parsecs", id="zeros with another unit"),
    ],
)
def test_what_is_almost_a_duration_is_refused_after_one_look(text: str) -> None:
    schema = objects(
        {"since": {"type": "string", "format": "duration"}}, rule("self.since > duration('1s')")
    )
    (found,) = errors(schema, {"since": text})
    assert "as duration evaluating rule" in found[1]


def test_a_field_path_whose_quote_never_closes_is_refused_after_one_look() -> None:
    path = ".m['" + "\\'" * 200_000
    schema = objects({"m": {"type": "object"}}, rule("false", message="m", fieldPath=path))
    ruleset = cel.rules.compile(schema)
    assert ruleset.problems[0].path == "x-kubernetes-validations[0].fieldPath"
    assert [error.field for error in ruleset.validate({})] == ["spec"]


def test_a_duration_may_have_leading_zeros() -> None:
    schema = objects(
        {"since": {"type": "string", "format": "duration"}}, rule("self.since == duration('48h')")
    )
    assert errors(schema, {"since": "0" * 5000 + "2 days"}) == []


def test_only_the_rule_sets_compiled_last_are_remembered() -> None:
    schema = objects({"n": INT}, rule("self.n > 12345"))
    first = cel.rules.compile(schema)
    for number in range(200):
        cel.rules.compile(objects({"n": INT}, rule(f"self.n > {number}")))
    assert cel.rules.compile(schema) is not first


@pytest.mark.parametrize(("rules", "kept"), [(1, True), (800, False)])
def test_the_cache_keeps_no_large_rule_set(rules: int, *, kept: bool) -> None:
    schema = objects({"n": INT}, *(rule(f"self.n > {number} && true") for number in range(rules)))
    assert (cel.rules.compile(schema) is cel.rules.compile(schema)) is kept


def nested(levels: int) -> Schema:
    schema: Schema = {"type": "string", "x-kubernetes-validations": [rule("self == 'a'")]}
    for _ in range(levels - 1):
        schema = objects({"a": schema})
    return schema


def test_a_schema_has_at_most_a_hundred_levels() -> None:
    value: Any = "b"
    for _ in range(99):
        value = {"a": value}
    assert errors(nested(100), value) == [("spec" + ".a" * 99, "failed rule: self == 'a'")]
    with pytest.raises(ValueError, match="more than 100 levels"):
        cel.rules.compile(nested(101))
    with pytest.raises(ValueError, match="more than 100 levels"):
        cel.rules.compile(nested(10_000))


def test_the_same_schema_is_compiled_once() -> None:
    first, second = objects({"n": INT}, rule("self.n > 2")), objects({"n": INT}, rule("self.n > 2"))
    rules = cel.rules.compile(first)
    assert cel.rules.compile(second) is rules
    assert cel.rules.compile(second, path="status") is not rules
    assert cel.rules.compile(second, variables={"variables.n": 1}) is not rules
    second["x-kubernetes-validations"][0]["rule"] = "self.n > 3"
    assert cel.rules.compile(second) is not rules
