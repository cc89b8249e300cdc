"""Patterns: RE2's matches in Go's words, and their bounds."""

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.regex import compile_regex


@pytest.mark.parametrize("pattern", [r"\pL{1000}", r"(\pL|\pN){500}", r"(?i)" + r"\pL" * 1000])
def test_patterns_that_grow_too_large_are_refused(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="expression too large"):
        compile_regex(pattern)


def test_larger_patterns_take_more_steps_to_compile() -> None:
    assert compile_regex("a").steps < compile_regex(".{100}").steps < compile_regex(".{1000}").steps


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a.*b$", "axb", True),
        ("^a.*b$", "a\nb", False),
        ("(?s)^a.*b$", "a\nb", True),
        ("(?i)GPU", "a gpu", True),
        (r"\p{L}+", "é", True),
        ("(?<n>a)", "a", True),
        ("", "", True),
    ],
)
def test_matches_anywhere(pattern: str, text: str, matches: bool) -> None:
    regex = compile_regex(pattern)
    assert [regex.matches(text), regex.matches(text)] == [matches, matches]


@pytest.mark.parametrize(
    ("pattern", "text", "limit", "found"),
    [
        ("a*", "baaac", -1, ["", "aaa", ""]),
        ("[a-z]+", "ab 1 cd", -1, ["ab", "cd"]),
        ("é", "aéé", 1, ["é"]),
        ("x", "aéé", -1, []),
        ("", "é", -1, ["", ""]),
        ("^a", "aa", -1, ["a"]),
        ("a", "aa", 0, []),
    ],
)
def test_find_all(pattern: str, text: str, limit: int, found: list[str]) -> None:
    regex = compile_regex(pattern)
    assert regex.find_all(text, limit) == found
    if limit:
        assert regex.find(text) == (found[0] if found else "")


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", "invalid escape sequence: `\\1`"),
        (r"\C", "invalid escape sequence: `\\C`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
    ],
)
def test_patterns_are_refused_in_gos_words(
    pattern: str, complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EvaluationError) as caught:
        compile_regex(pattern)
    assert caught.value.message == f"error parsing regexp: {complaint}"
    assert capfd.readouterr() == ("", "")


def test_no_list_of_matches_grows_without_bound() -> None:
    with pytest.raises(EvaluationError, match=r"^operation cancelled"):
        compile_regex("a").find_all("a" * (2 * 1024 * 1024))
