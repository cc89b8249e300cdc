"""What parses, what does not, and where the complaint points."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.generate_cel_table import table_source
from dragoman_cel.environment import Environment
from dragoman_cel.errors import CompileError, Issue
from dragoman_cel.syntax import table
from dragoman_cel.syntax.parser import MAX_CODE_POINTS
from dragoman_cel.values.text import quote

BASE = Environment((1, 36), {}, {}, lambda _: None)


def value(expression: str) -> Any:
    return BASE.compile(expression).evaluate([])[0]


def complaint(expression: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        BASE.compile(expression)
    return caught.value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("1 - -1", 2, id="a minus before a number belongs to it"),
        pytest.param("--1", 1, id="two prefix minuses cancel"),
        pytest.param("!!!true", False, id="an odd number of negations negates"),
        pytest.param("-9223372036854775808", -(2**63), id="the smallest int is a literal"),
        pytest.param("0xFFu == 255u", True, id="hexadecimal and unsigned"),
        pytest.param("1e3 + .5", 1000.5, id="exponents and a leading dot"),
        pytest.param('r"\\" == "\\\\"', True, id="a raw string escapes nothing"),
        pytest.param("'''a\n'b'''", "a\n'b", id="triple quotes span lines"),
        pytest.param('"\\u00e9\\x41\\101\\?"', "éAA?", id="escapes of a string are characters"),
        pytest.param("b'\\xff\\377'", b"\xff\xff", id="escapes of bytes are bytes"),
        pytest.param("[1, 2,] == [1, 2]", True, id="a trailing comma in a list"),
        pytest.param("[,] == []", True, id="a list of a comma alone"),
        pytest.param("{'a': 1,}.a", 1, id="a trailing comma in a map"),
        pytest.param("[?optional.none(), 1]", [1], id="an optional element that is absent"),
        pytest.param("{?'a': optional.of(1)}.a", 1, id="an optional entry that is present"),
        pytest.param("{'a': 1}.?a.orValue(0)", 1, id="optional selection"),
        pytest.param("[1][?5].orValue(7)", 7, id="optional index"),
        pytest.param("true ? 1 : false ? 2 : 3", 1, id="conditions nest to the right"),
        pytest.param("1 + 2 * 3 - 4", 3, id="products bind before sums"),
        pytest.param("2 in [1, 2] == true", True, id="relations are left associative"),
        pytest.param("1 // a comment\n + 1", 2, id="a comment ends with its line"),
        pytest.param("'42'.charAt(0)", "4", id="a call on a literal"),
        pytest.param("{'if': 1}.if", 1, id="a reserved word as a field"),
    ],
)
def test_an_expression_means(expression: str, expected: object) -> None:
    found = value(expression)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("expression", "line", "column", "message"),
    [
        pytest.param("1 +", 1, 4, "Syntax error", id="an operand is missing"),
        pytest.param("1 +\n 2 2", 2, 4, "Syntax error", id="in the second line"),
        pytest.param("[1]]", 1, 4, "Syntax error", id="a bracket that nothing opened"),
        pytest.param("1 : 2", 1, 3, "Syntax error", id="a colon without a condition"),
        pytest.param("f(1,)", 1, 5, "Syntax error", id="a trailing comma in a call"),
        pytest.param("!-x", 1, 2, "Syntax error", id="mixed prefix operators"),
        pytest.param("x inside", 1, 3, "Syntax error", id="`in` ends at a word boundary"),
        pytest.param("if", 1, 1, "reserved identifier: if", id="a reserved word as a name"),
        pytest.param("{}.in", 1, 4, "Syntax error", id="`in` as a field"),
        pytest.param("{}.`a`", 1, 4, "unsupported syntax: '`'", id="a name in backticks"),
        pytest.param('"abc\\"', 1, 1, "Syntax error", id="a string that never ends"),
        pytest.param('"\\z"', 1, 1, "Syntax error", id="an unknown escape"),
        pytest.param('"\\ud800"', 1, 1, "invalid unicode code point", id="half of a pair"),
        pytest.param("b'\\u0041'", 1, 1, "unable to unescape string", id="a character in bytes"),
        pytest.param("9223372036854775808", 1, 1, "invalid int literal", id="an int too large"),
        pytest.param("18446744073709551616u", 1, 1, "invalid uint literal", id="a uint too large"),
        pytest.param("1e400", 1, 1, "invalid double literal", id="a double too large"),
        pytest.param("[1].all(1, true)", 1, 9, "argument must be a simple name", id="no variable"),
        pytest.param(
            "[1].map(a.b, 1)", 1, 10, "argument is not an identifier", id="no name to map"
        ),
        pytest.param("has(1)", 1, 5, "invalid argument to has() macro", id="has of no selection"),
        pytest.param(
            "[1].all(x, x, x > 0)", 1, 12, "duplicate variable name: x", id="one name for two"
        ),
    ],
)
def test_a_mistake_is_reported_where_it_is(
    expression: str, line: int, column: int, message: str
) -> None:
    error = complaint(expression)
    assert message in error.message
    assert (error.line, error.column) == (line, column)


def test_a_complaint_shows_the_line_and_points_at_the_place() -> None:
    assert complaint("1 +\n  'a' + 2").message == (
        "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
        " | 1 +\n"
        " | ..^"
    )


@pytest.mark.parametrize(
    ("build", "most"),
    [
        pytest.param(lambda n: "(" * n + "1" + ")" * n, 249, id="parentheses"),
        pytest.param(lambda n: "[" * n + "1" + "]" * n, 249, id="lists"),
        pytest.param(lambda n: "+".join(["1"] * n), 251, id="sums"),
        pytest.param(lambda n: "true ? 1 : " * n + "1", 249, id="conditions"),
        pytest.param(lambda n: "dyn({})" + ".a" * n, 250, id="selections"),
        pytest.param(lambda n: "1+(" * n + "1" + ")" * n, 124, id="right operands"),
    ],
)
def test_nesting_ends_where_cel_go_ends_it(build: Any, most: int) -> None:
    BASE.compile(build(most))
    assert "recursion" in complaint(build(most + 1)).message


@pytest.mark.parametrize("operator", ["&&", "||"])
def test_chains_of_thousands_of_terms_are_legal(operator: str) -> None:
    terms = ["true" if operator == "&&" else "false"] * 3000
    assert value(f" {operator} ".join(terms)) is (operator == "&&")


def test_an_expression_of_too_many_code_points_is_refused_unread() -> None:
    assert "size exceeds limit" in complaint("(" * (MAX_CODE_POINTS + 1)).message


@given(st.text())
def test_every_text_survives_quotation(text: str) -> None:
    assert value(quote(text)) == text


@given(st.text(alphabet="()[]{}?:.,+-*/%!<>=&|'\"\\` \n\tabin0123456789xeru_", max_size=60))
def test_any_text_compiles_or_is_refused_with_a_position(text: str) -> None:
    assert all(issue.line >= 0 and issue.column >= 0 for issue in _issues(text))


def _issues(text: str) -> tuple[Issue, ...]:
    try:
        BASE.compile(text)
    except CompileError as error:
        assert error.message  # noqa: PT017 — both ways are right, a refusal must say why
        return error.issues
    return ()


def test_the_table_belongs_to_the_grammar() -> None:
    made: dict[str, Any] = {}
    exec(table_source(), made)
    assert (made["RULES"], made["STATES"], made["END"]) == (table.RULES, table.STATES, table.END)
