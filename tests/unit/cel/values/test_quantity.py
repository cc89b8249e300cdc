"""Quantities: what apimachinery's parser and arithmetic answer."""

import math

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import is_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "integer"),
    [
        ("40Gi", 42949672960),
        ("99Ti", 108851651149824),
        ("109951162777600", 109951162777600),
        ("2.5k", 2500),
        ("9E", 9 * 10**18),
        ("1e18", 10**18),
        ("000", 0),
        ("-", 0),
        (".", 0),
        ("5.", 5),
        ("+1", 1),
    ],
)
def test_the_small_form_is_an_integer(text: str, integer: int) -> None:
    assert parse_quantity(text).is_integer()
    assert parse_quantity(text).as_integer() == integer


@pytest.mark.parametrize(
    "text",
    [
        "2000m",
        "2.0",
        "0.5Ki",
        "1.5Gi",
        "100Ti",
        "1Pi",
        "7Ei",
        "1000000000000000000",
        "9223372036854775807",
        "1e19",
    ],
)
def test_whole_numbers_in_the_other_form_are_no_integers(text: str) -> None:
    assert not parse_quantity(text).is_integer()
    with pytest.raises(EvaluationError, match=r"^cannot convert value to integer$"):
        parse_quantity(text).as_integer()


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1Gi", "1024Mi", 0),
        ("1G", "1Gi", -1),
        ("50Mi", "50M", 1),
        ("1000m", "1", 0),
        ("0.1n", "1n", 0),
        ("-0.1n", "-1n", 0),
        ("100Ei", "10Ei", 0),
        ("100E", "10E", 1),
        ("1e1000000000", "1", 1),
        ("-1e1000000000", "1e-1000000000", -1),
        ("2e500", "20e499", 0),
        ("1e-1000000000", "1n", 0),
        ("12345678901234567890e999999999", "12345678901234567891e999999999", -1),
    ],
)
def test_comparison_is_numeric(left: str, right: str, order: int) -> None:
    assert parse_quantity(left).compare(parse_quantity(right)) == order
    assert parse_quantity(right).compare(parse_quantity(left)) == -order


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "quantities must match the regular expression"),
        (" 1", "quantities must match the regular expression"),
        ("0x10", "quantities must match the regular expression"),
        ("1K", "unable to parse quantity's suffix"),
        ("1ki", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1e99999999999999999999", "unable to parse quantity's suffix"),
        ("Ei", "unable to parse numeric part of quantity"),
        ("-.Pi", "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity_is_refused_in_apimachinerys_words(text: str, message: str) -> None:
    assert not is_quantity(text)
    with pytest.raises(EvaluationError, match=f"^{message}"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1.1Ki", "1126400m"),
        ("1000", "1k"),
        ("1500m", "1500m"),
        ("+1Ti", "+1Ti"),
        ("0.1n", "1n"),
        ("100Ei", "9223372036854775807"),
        ("12e6", "12e6"),
        ("1e7", "10e6"),
        ("512", "512"),
    ],
)
def test_quantities_print_in_gos_form(text: str, printed: str) -> None:
    assert str(parse_quantity(text)) == printed


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("40Gi", "1Gi", "41Gi", "39Gi"),
        ("1", "1m", "1001m", "999m"),
        ("9E", "9E", "18E", "0"),
        ("0", "1Ki", "1Ki", "-1Ki"),
        ("1.5", 1, "2500m", "500m"),
    ],
)
def test_sums_keep_the_suffix_of_the_first_that_is_not_zero(
    left: str, right: str | int, total: str, difference: str
) -> None:
    operand = right if isinstance(right, int) else parse_quantity(right)
    assert str(parse_quantity(left).add(operand)) == total
    # A negative number below 1Ki has no binary suffix to print with.
    expected = parse_quantity(difference)
    assert parse_quantity(left).sub(operand).compare(expected) == 0


def test_a_sum_on_the_right_cannot_be_compared_by_equality() -> None:
    total = parse_quantity("40Gi").add(parse_quantity("1Gi"))
    assert total.equals(parse_quantity("41Gi"))
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        parse_quantity("41Gi").equals(total)


def test_a_sum_of_numbers_too_far_apart_is_refused_at_once() -> None:
    with pytest.raises(EvaluationError, match="too large"):
        parse_quantity("1e1000000000").add(1)


def test_numbers_of_many_digits_are_read_and_endless_ones_refused() -> None:
    assert parse_quantity("1" + "0" * 450).compare(parse_quantity("1e450")) == 0
    with pytest.raises(EvaluationError, match="too large"):
        parse_quantity("1" * 501)


@pytest.mark.parametrize(
    ("text", "approximately"),
    [("1.5", 1.5), ("100Ti", 109951162777600.0), ("1e400", math.inf), ("1n", 1e-9), ("-2", -2.0)],
)
def test_floats_are_mantissa_times_power(text: str, approximately: float) -> None:
    assert parse_quantity(text).as_approximate_float() == approximately


def test_zero_times_infinity_is_not_a_number_as_in_go() -> None:
    assert math.isnan(parse_quantity("0e400").as_approximate_float())


@pytest.mark.parametrize(("text", "sign"), [("-1n", -1), ("0", 0), ("1e-400", 1)])
def test_signs(text: str, sign: int) -> None:
    assert parse_quantity(text).sign() == sign


def test_equal_quantities_are_one_key() -> None:
    assert {parse_quantity("1"), parse_quantity("1000m"), Quantity(1)} == {Quantity(1)}
    assert hash(parse_quantity("1e500")) == hash(parse_quantity("10e499"))
