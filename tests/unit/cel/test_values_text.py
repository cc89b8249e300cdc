"""Strings, formatting and regular expressions: what cel-go's extension and Go's regexp answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dragoman.cel.errors import EvaluationError
from dragoman.cel.values import text as strings
from dragoman.cel.values.formatting import format_string
from dragoman.cel.values.quoting import quoted
from dragoman.cel.values.regex import compile_regex
from dragoman.cel.values.scalars import Uint
from dragoman.cel.values.timestamps import parse_duration, parse_timestamp

TEN = "\u00d710"
NAMES = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    list: "list",
    type(None): "null_type",
}


def type_name(value: object) -> str:
    return NAMES.get(type(value), "other")


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
        lambda half: format_string("%s" * 9, [half] * 9, type_name),
        lambda _: format_string("%.99999999f", [1.0], type_name),
        lambda _: format_string("%.99999999e", [1.0], type_name),
    ],
    ids=["replace", "join", "format", "precision", "width"],
)
def test_no_text_grows_without_bound(build: Callable[[str], str]) -> None:
    with pytest.raises(EvaluationError, match="text is too long"):
        build("a" * (4 * 1024 * 1024))


@pytest.mark.parametrize(
    "cut",
    [
        lambda text: strings.split(text, ""),
        lambda text: strings.split(text, "a"),
        compile_regex("a").find_all,
    ],
    ids=["split into characters", "split", "find all"],
)
def test_no_list_grows_without_bound(cut: Callable[[str], object]) -> None:
    with pytest.raises(EvaluationError, match=r"^operation cancelled"):
        cut("a" * (2 * 1024 * 1024))


@pytest.mark.parametrize("pattern", [r"\pL{1000}", r"(\pL|\pN){500}", r"(?i)" + r"\pL" * 1000])
def test_patterns_that_grow_too_large_are_refused(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="expression too large"):
        compile_regex(pattern)


def test_larger_patterns_take_more_steps_to_compile() -> None:
    assert compile_regex("a").steps < compile_regex(".{100}").steps < compile_regex(".{1000}").steps


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
    ("template", "arguments", "expected"),
    [
        ("%s-%d%%", ["a", -1], "a--1%"),
        ("%d %x %X %o %b", [Uint(7), 255, -255, 8, -5], "7 ff -FF 10 -101"),
        ("%b %x %X", [True, "é", b"\xab"], "1 c3a9 AB"),
        ("%f %.2f %.0f", [1234567.891, 2.5, 2.5], "1,234,567.891000 2.50 2"),
        ("%e|%.16e|%f", [1234.5, 1e-7, "Infinity"], f"1.234500{TEN}⁰³|  1.000000{TEN}⁻⁰⁷|∞"),
        ("%s", [[1, 1.5, "a\n", None, True]], '[1, 1.500000, "a\\n", null, true]'),
        ("%s", [{"b": [1], "a": {2: "x"}}], '{"a":{2:"x"}, "b":[1]}'),
        ("%s %s", [1e6, b"\xc3\xa9"], "1e+06 é"),
        ("%s %s", [parse_duration("90s"), [parse_duration("90s")]], '90s [duration("90s")]'),
        (
            "%s",
            [[parse_timestamp("2024-01-01T00:00:00+01:00")]],
            '[timestamp("2024-01-01T00:00:00+01:00")]',
        ),
        ("%s", [[b"a", float("nan")]], '[b"a", "NaN"]'),
    ],
)
def test_format(template: str, arguments: list[object], expected: str) -> None:
    assert format_string(template, arguments, type_name) == expected


@pytest.mark.parametrize(
    ("template", "arguments", "message"),
    [
        ("%s", [], "index 0 out of range"),
        ("%", ["a"], "unexpected end of string"),
        ("%5d", [1], 'could not parse formatting clause: unrecognized formatting clause "5"'),
        ("%é", [1], 'could not parse formatting clause: unrecognized formatting clause "Ã"'),
        (
            "%.2",
            [1],
            (
                "could not parse formatting clause: error while parsing precision: "
                "could not find end of precision specifier"
            ),
        ),
        (
            "%.f",
            [1.0],
            (
                "could not parse formatting clause: error while parsing precision: error while "
                'converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            ),
        ),
        (
            "%d",
            [1.5],
            (
                "error during formatting: decimal clause can only be used on integers, "
                "was given double"
            ),
        ),
        (
            "%f",
            ["1"],
            (
                "error during formatting: fixed-point clause can only be used on doubles, "
                "was given string"
            ),
        ),
        (
            "%b",
            [None],
            (
                "error during formatting: only integers and bools can be formatted as binary, "
                "was given null_type"
            ),
        ),
        ("%s", [[object()]], "error during formatting: no formatting function for other"),
        (
            "%s",
            [{1.5: 1}],
            "error during formatting: no formatting function for map key of type double",
        ),
    ],
)
def test_format_complains_in_cel_gos_words(
    template: str, arguments: list[object], message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        format_string(template, arguments, type_name)
    assert caught.value.message == message


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", '"plain"'),
        ('"\\', '"\\"\\\\"'),
        ("a\n\x00\x7fé\u200b\U0001f600", '"a\\n\\x00\\x7fé\\u200b😀"'),
    ],
)
def test_quotes_in_error_texts(text: str, expected: str) -> None:
    assert quoted(text) == expected


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
