"""Functions of strings: cel-go's results, errors and bounds."""

from collections.abc import Callable

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values import text as strings


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (strings.char_at("né", 1), "é"),
        (strings.char_at("né", 2), ""),
        (strings.index_of("aéa", "a", 1), 2),
        (strings.index_of("abc", "", 99), 99),
        (strings.index_of("abc", "b", 99), -1),
        (strings.last_index_of("abab", "ab"), 2),
        (strings.last_index_of("abab", "ab", 1), 0),
        (strings.last_index_of("abab", "ab", 99), -1),
        (strings.last_index_of("abc", "", 99), 99),
        (strings.last_index_of("abc", ""), 3),
        (strings.substring("tacocat", 4), "cat"),
        (strings.substring("tacocat", 0, 4), "taco"),
        (strings.replace("hello", "l", "w", 1), "hewlo"),
        (strings.replace("ab", "", "-"), "-a-b-"),
        (strings.split("a,b,c", ",", 2), ["a", "b,c"]),
        (strings.split("", ","), [""]),
        (strings.split("aé", ""), ["a", "é"]),
        (strings.split("aéb", "", 2), ["a", "éb"]),
        (strings.split("a,b", ",", 0), []),
        (strings.split("a,b", ",", 1), ["a,b"]),
        (strings.join(["a", "b"], "-"), "a-b"),
        (strings.join([], "-"), ""),
        (strings.trim("\u3000\t a\x1c\n"), "a\x1c"),
        (strings.lower_ascii("AÉ"), "aÉ"),
        (strings.upper_ascii("aé"), "Aé"),
        (strings.quote('a"\n\\é'), '"a\\"\\n\\\\é"'),
    ],
)
def test_string_functions_count_code_points(result: object, expected: object) -> None:
    assert result == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: strings.char_at("abc", 4), "index out of range: 4"),
        (lambda: strings.char_at("abc", -1), "index out of range: -1"),
        (lambda: strings.index_of("abc", "a", -1), "index out of range: -1"),
        (lambda: strings.last_index_of("abc", "a", -1), "index out of range: -1"),
        (lambda: strings.substring("abc", 4), "index out of range: 4"),
        (lambda: strings.substring("abc", 1, 4), "index out of range: 4"),
        (lambda: strings.substring("abc", 2, 1), "invalid substring range. start: 2, end: 1"),
        (lambda: strings.join(["a", 1]), "join: invalid input: 1"),
    ],
)
def test_string_functions_fail_in_cel_gos_words(call: Callable[[], object], message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        call()
    assert caught.value.message == message


@pytest.mark.parametrize(
    "build",
    [
        lambda half: strings.replace(half, "", half),
        lambda half: strings.join([half] * 3, half),
    ],
    ids=["replace", "join"],
)
def test_no_text_grows_without_bound(build: Callable[[str], str]) -> None:
    with pytest.raises(EvaluationError, match="text is too long"):
        build("a" * (4 * 1024 * 1024))


@pytest.mark.parametrize(
    "cut",
    [
        lambda text: strings.split(text, ""),
        lambda text: strings.split(text, "a"),
    ],
    ids=["split into characters", "split"],
)
def test_no_list_grows_without_bound(cut: Callable[[str], object]) -> None:
    with pytest.raises(EvaluationError, match=r"^operation cancelled"):
        cut("a" * (2 * 1024 * 1024))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1e5, "100000"),
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-1.5, "-1.5"),
        (-0.0, "-0"),
        (5e-324, "5e-324"),
        (1e100, "1e+100"),
        (float("inf"), "+Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_print_as_in_go(number: float, expected: str) -> None:
    assert strings.format_double(number) == expected


@pytest.mark.parametrize(
    ("text", "part", "offset", "place"),
    [
        pytest.param("ab" * 40, "ab" * 20, None, 40, id="the last of several"),
        pytest.param("ab" * 40, "ab" * 20, 39, 38, id="the last one up to an offset"),
        pytest.param("ab" * 40, "ba" * 40, None, -1, id="none"),
        pytest.param("ab" * 20, "ab" * 20, None, 0, id="the whole text"),
        pytest.param("a" * 200_000, "ab" + "a" * 100_000, None, -1, id="none among alikes"),
    ],
)
def test_a_long_part_is_found_from_behind(
    text: str, part: str, offset: int | None, place: int
) -> None:
    assert strings.last_index_of(text, part, offset) == place
