"""Types, operators, macros and libraries as expressions see them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_cel import types
from dragoman_cel.check.declarations import all_overloads
from dragoman_cel.environment import Environment
from dragoman_cel.errors import CompileError, EvaluationError
from dragoman_cel.library import OVERLOADS, STATEFUL

BASE = Environment((1, 36), {"a": types.DYN, "b": types.DYN}, {}, lambda _: None, bind=True)
COMPILED = {"in_list", "in_map", "equals", "not_equals", "not_strictly_false", "conditional"} | {
    name
    for _, _, function, overload in all_overloads()
    for name in (overload.name,)
    if function in ("_&&_", "_||_", "_[_]", "_[?_]", "_?._", "or", "orValue")
}
INTS = st.integers(-(2**63), 2**63 - 1)


def run(expression: str, a: Any = None, b: Any = None) -> Any:
    return BASE.compile(expression).evaluate([a, b])[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("dyn(1) == dyn(1u) && dyn(1u) == dyn(1.0)", True, id="numbers across types"),
        pytest.param("dyn(true) == dyn(1)", False, id="true is not one"),
        pytest.param("{dyn(true): 'b', dyn(1): 'i'}[dyn(1)]", "i", id="true and one as keys"),
        pytest.param("{dyn(1): 'a'}[dyn(1.0)]", "a", id="a double finds an int key"),
        pytest.param("dyn('1') == dyn(1)", False, id="a text is never a number"),
        pytest.param("0.0/0.0 == 0.0/0.0", False, id="NaN equals nothing"),
        pytest.param("[0, 1].exists(x, 1/x > 0)", True, id="exists absorbs errors"),
        pytest.param("1/0 > 0 || true", True, id="an error yields to true"),
        pytest.param("cel.bind(x, 1/0 > 0, true)", True, id="what is bound is computed on demand"),
        pytest.param("[3, 1, 2].sortBy(x, -x)", [3, 2, 1], id="sorting by a key"),
        pytest.param("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k + k)", {"b": "bb"}, id="maps"),
        pytest.param("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6], id="map of three arguments"),
        pytest.param("-7 / 2 == -3 && -7 % 2 == -1", True, id="division is toward zero"),
        pytest.param("string(1e6)", "1e+06", id="doubles print as in Go"),
        pytest.param("type([1]) == list && type(type(1)) == type", True, id="types are values"),
        pytest.param("'héllo'.size() + '😀'.size()", 6, id="sizes count code points"),
        pytest.param("timestamp('2024-01-01T00:00:00.000000001Z').getMilliseconds()", 0, id="ns"),
        pytest.param("string(duration('1h1.5s'))", "3601.5s", id="durations print in seconds"),
        pytest.param("quantity('100Ti').isInteger()", False, id="large quantities are no integers"),
        pytest.param("semver('1.0.0+a') == semver('1.0.0+b')", True, id="builds do not count"),
    ],
)
def test_an_expression_gives(expression: str, expected: object) -> None:
    assert run(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("1 / 0", "division by zero", id="division by zero"),
        pytest.param("9223372036854775807 + 1", "integer overflow", id="int overflow"),
        pytest.param("0u - 1u", "unsigned integer overflow", id="uint overflow"),
        pytest.param("{'a': 1}['b']", "no such key: b", id="a missing key"),
        pytest.param("[1][5]", "index out of bounds: 5", id="an index too large"),
        pytest.param("dyn([1])['x']", "unsupported index type 'string' in list", id="a text index"),
        pytest.param("dyn(1) + dyn('a')", "no such overload", id="operands that do not fit"),
        pytest.param("dyn('a').sum()", "no such overload: sum(string)", id="a function named"),
        pytest.param("optional.none().value()", "optional.none() dereference", id="nothing inside"),
        pytest.param("[0, 1].all(x, 1/x > 0)", "division by zero", id="all keeps its error"),
        pytest.param("true && dyn(1)", "no such overload", id="and of no bool"),
        pytest.param("dyn(1) in dyn('1')", "no such overload", id="in of no container"),
    ],
)
def test_a_failure_says_what_cel_go_says(expression: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        run(expression)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("1 == 1.0", "'_==_' applied to '(int, double)'", id="equality of two types"),
        pytest.param("[1, 'a']", "expected type 'int' but found 'string'", id="a mixed list"),
        pytest.param("true ? 1 : 'a'", "'_?_:_' applied to '(bool, int, string)'", id="branches"),
        pytest.param("nothing", "undeclared reference to 'nothing'", id="an unknown name"),
        pytest.param("'a'.nothing()", "undeclared reference to 'nothing'", id="an unknown method"),
        pytest.param("1.a", "type 'int' does not support field selection", id="a field of an int"),
        pytest.param("'a'.matches('[')", "invalid matches argument", id="a bad pattern"),
        pytest.param("duration('1x') > duration('1s')", "invalid duration argument", id="duration"),
        pytest.param(
            "'%d'.format(['a'])", "decimal clause can only be used on integers", id="format"
        ),
        pytest.param(
            "int('0x10')", "type conversion error from 'string' to 'int'", id="conversion"
        ),
        pytest.param("'a'.find('[')", "error parsing regexp: missing closing ]", id="find"),
    ],
)
def test_what_can_never_work_does_not_compile(expression: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        BASE.compile(expression)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("version", "expression"),
    [
        pytest.param((1, 33), "[1].sort()", id="lists v3 came in 1.34"),
        pytest.param((1, 32), "semver('1.0.0')", id="semver came in 1.33"),
        pytest.param((1, 31), "[1].all(i, v, v > 0)", id="two variables came in 1.32"),
        pytest.param((1, 30), "format.uuid()", id="formats came in 1.31"),
        pytest.param((1, 29), "isIP('1.1.1.1')", id="addresses came in 1.30"),
        pytest.param((1, 28), "'%d'.format([1])", id="format came in 1.29"),
    ],
)
def test_a_library_is_unknown_before_its_version(version: tuple[int, int], expression: str) -> None:
    major, minor = version
    Environment((major, minor + 1), {}, {}, lambda _: None).compile(expression)
    with pytest.raises(CompileError):
        Environment(version, {}, {}, lambda _: None).compile(expression)


def test_every_declared_overload_can_be_called() -> None:
    declared = {overload.name for _, _, _, overload in all_overloads()}
    assert declared - COMPILED - set(OVERLOADS) - set(STATEFUL) == set()


@given(INTS, INTS)
def test_ints_add_as_numbers_or_overflow(a: int, b: int) -> None:
    if -(2**63) <= a + b < 2**63:
        assert run("a + b", a, b) == a + b
    else:
        with pytest.raises(EvaluationError, match="integer overflow"):
            run("a + b", a, b)


@given(INTS, INTS.filter(bool))
def test_quotient_and_remainder_belong_together(a: int, b: int) -> None:
    if (a, b) != (-(2**63), -1):
        assert run("a / b", a, b) * b + run("a % b", a, b) == a


@given(st.text(max_size=20), st.text(max_size=20))
def test_texts_compare_by_code_point(a: str, b: str) -> None:
    assert run("[a < b, a == b, a > b]", a, b) == [a < b, a == b, a > b]


SCALARS = st.one_of(st.booleans(), INTS, st.text(max_size=5), st.none())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(VALUES, VALUES)
def test_equality_is_symmetric_and_reflexive(a: Any, b: Any) -> None:
    assert run("a == a", a, b) is True
    assert run("a == b", a, b) is run("b == a", a, b)
    assert run("a != b", a, b) is not run("a == b", a, b)
