"""Patterns are compiled once for each object, within limits of steps and memory."""

import pytest

from dragoman_cel.budget import PatternBudget
from dragoman_cel.errors import StepBudgetExceeded
from dragoman_configs.schemas.patterns import PatternCompiler, PatternError

pytestmark = pytest.mark.hostile("schemas")


def test_equal_patterns_are_compiled_and_paid_for_once() -> None:
    budget = PatternBudget(10_000)
    patterns = PatternCompiler(budget)
    compiled = patterns.compile("^a+$")
    left = budget.remaining
    assert left < 10_000
    assert patterns.compile("^a+$") is compiled
    assert budget.remaining == left
    assert patterns.compile("^b+$") is not compiled
    assert budget.remaining < left
    assert budget.patterns == {"^a+$", "^b+$"}


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("(", "missing )", id="an open group"),
        pytest.param("a(?=b)", "invalid perl operator", id="look-ahead"),
        pytest.param(r"\pL{100}", "needs more than 128 KiB; use shorter repetitions", id="size"),
    ],
)
def test_a_pattern_that_does_not_compile_is_paid_for_and_explained(
    pattern: str, words: str
) -> None:
    budget = PatternBudget(10_000)
    with pytest.raises(PatternError, match=words.replace(")", r"\)")):
        PatternCompiler(budget).compile(pattern)
    assert budget.remaining < 10_000
    assert budget.patterns == set()


def test_nothing_is_compiled_without_steps() -> None:
    budget = PatternBudget(100)
    patterns = PatternCompiler(budget)
    kept = patterns.compile("a")
    with pytest.raises(StepBudgetExceeded):
        patterns.compile("[a-z]{900}")
    with pytest.raises(StepBudgetExceeded):
        patterns.compile("b")
    assert patterns.compile("a") is kept


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [("é", "caf\u00e9", True), ("^.$", "é", True), (r"\d", "٣", False), ("b", "abc", True)],
)
def test_a_pattern_matches_characters_of_utf_8(pattern: str, text: str, matches: bool) -> None:
    compiled = PatternCompiler().compile(pattern)
    assert bool(compiled.search(text.encode())) is matches
