"""`format`: cel-go's clauses, errors and bounds."""

from collections.abc import Callable

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.durations import parse_duration
from dragoman_cel.values.formatting import format_string
from dragoman_cel.values.scalars import Uint
from dragoman_cel.values.timestamps import parse_timestamp

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
    "build",
    [
        lambda half: format_string("%s" * 9, [half] * 9, type_name),
        lambda _: format_string("%.99999999f", [1.0], type_name),
        lambda _: format_string("%.99999999e", [1.0], type_name),
    ],
    ids=["texts", "precision of %f", "precision of %e"],
)
def test_no_formatted_text_grows_without_bound(build: Callable[[str], str]) -> None:
    with pytest.raises(EvaluationError, match="text is too long"):
        build("a" * (4 * 1024 * 1024))
