"""Objects that would take too long or too much memory to compile are refused."""

import json
from typing import Any

import pytest

from dragoman_cel.values import regex
from dragoman_cel.values.regex import SMALL_MEMORY
from dragoman_configs.compile.compiler import MAX_RULES
from dragoman_configs.compile.registry import register
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.schemas.patterns import MAX_PATTERN_STEPS, PatternCompiler
from tests.support.worlds import driverconfigs as builders

STRING = {"type": "string"}


def described(length: int) -> dict[str, Any]:
    return builders.config({"v": {**STRING, "description": "x" * length}})


def ruled(length: int) -> dict[str, Any]:
    return builders.config(rules=[{"rule": "true || " + "a" * (length - 8)}])


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
    state = register(parse(builders.schema(*different)))
    [error] = state.compilation.errors
    assert (error.path, error.reason) == (path, "FieldValueTooLong")


def test_more_rules_than_can_be_compiled_in_a_second_are_refused() -> None:
    many = builders.config(rules=[{"rule": "true"}] * (MAX_RULES + 1))
    [error] = register(parse(builders.schema(many))).compilation.errors
    assert (error.path, error.reason) == ("spec.configs", "FieldValueTooMany")
    assert f"at most {MAX_RULES} rules" in error.detail


def matching(*patterns: str) -> dict[str, Any]:
    """Make a config whose rules have literal patterns."""
    rules = [{"rule": f"self.v.matches({json.dumps(pattern)})"} for pattern in patterns]
    return builders.config({"v": STRING}, rules=rules)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(
            matching(*(rf"\pL{{5}}x{n}" for n in range(1000))), id="a thousand patterns in rules"
        ),
        pytest.param(
            matching(*(rf"\pL{{5}}({n}" for n in range(1000))), id="a thousand invalid ones"
        ),
        pytest.param(
            matching(*(rf"\pL{{100}}{n}" for n in range(1000))), id="a thousand that are too large"
        ),
    ],
)
def test_patterns_in_rules_share_one_limit_of_steps(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    original = regex._compiled

    def counting(pattern: str, memory: int) -> Any:
        compiled.append(pattern)
        return original(pattern, memory)

    monkeypatch.setattr(regex, "_compiled", counting)
    [error] = register(parse(builders.schema(config))).compilation.errors
    assert (error.path, error.reason) == ("spec.configs", "FieldValueTooLong")
    assert f"more than {MAX_PATTERN_STEPS} steps" in error.detail
    assert 0 < len(compiled) < 150


def test_patterns_of_all_configs_and_rules_share_one_limit_of_steps() -> None:
    def one(number: int) -> dict[str, Any]:
        fields = {f"v{n}": {**STRING, "pattern": rf"\pL{{5}}{number}x{n}"} for n in range(8)}
        rule = {"rule": f"self.v0.matches(r'\\pL{{5}}r{number}')"}
        return {**builders.config(fields, rules=[rule]), "kind": f"Kind{number}"}

    few = register(parse(builders.schema(*map(one, range(2))))).compilation
    assert few.errors == ()
    [error] = register(parse(builders.schema(*map(one, range(10))))).compilation.errors
    assert f"more than {MAX_PATTERN_STEPS} steps" in error.detail


def test_a_pattern_that_needs_too_much_memory_is_named_with_the_limit() -> None:
    large = r"\pL{100}"
    inside = builders.schema(builders.config({"v": {**STRING, "pattern": large}}))
    [error] = register(parse(inside)).compilation.errors
    assert error.path == "spec.configs[0].schema.openAPIV3Schema.properties[v].pattern"
    assert "needs more than 128 KiB" in error.detail
    beside = register(parse(builders.schema(matching(large)))).compilation.errors
    assert any("needs more than 128 KiB" in e.detail and e.value == f'"{large}"' for e in beside)


def test_defaults_at_every_level_are_checked_without_compiling_all_below_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaves = {f"p{n}": {**STRING, "pattern": f"a{n}"} for n in range(20)}
    nested: dict[str, Any] = {"type": "object", "properties": leaves, "default": {}}
    for _ in range(20):
        nested = {"type": "object", "properties": {"x": nested}, "default": {}}
    compiled: list[str] = []
    original = PatternCompiler._compile

    def counting(self: PatternCompiler, text: str) -> Any:
        compiled.append(text)
        return original(self, text)

    monkeypatch.setattr(PatternCompiler, "_compile", counting)
    state = register(parse(builders.schema(builders.config({"v": nested}))))
    assert state.compilation.errors == ()
    assert len(compiled) == len(leaves)


def test_the_memory_of_a_compiled_object_counts_schemas_rules_and_patterns() -> None:
    def memory(*configs: dict[str, Any]) -> int:
        active = register(parse(builders.schema(*configs))).active
        assert active
        return active.memory

    plain = memory(builders.config({"v": STRING}))
    assert plain > 0
    one, two = memory(matching("a")), memory(matching("a", "b"))
    assert one - plain >= SMALL_MEMORY
    assert two - one >= SMALL_MEMORY
    patterned = memory(builders.config({"v": {**STRING, "pattern": "a"}}))
    assert patterned - plain >= SMALL_MEMORY
