"""JSON comes in without loss: repeated keys and literal numbers are seen, hostile texts refused."""

from __future__ import annotations

import pytest

from dragoman.driverconfigs import strictjson
from dragoman.driverconfigs.strictjson import (
    MAX_DOCUMENT_DEPTH,
    DuplicateKeys,
    InvalidJSONError,
    OutOfRangeNumber,
)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        pytest.param(b'{"a":1}', {"a": 1}, id="compact, as from the API server"),
        pytest.param(b'{"a":1}\n', {"a": 1}, id="with the line break of Go's encoder"),
        pytest.param(b'{ "a" : [ 1 , true, null ] }', {"a": [1, True, None]}, id="with spaces"),
        pytest.param(b'{"a":"\\u003c"}', {"a": "<"}, id="with Go's escapes"),
        pytest.param(b'"x"', "x", id="a scalar"),
    ],
)
def test_a_document_is_parsed(text: bytes, tree: object) -> None:
    assert strictjson.parse(text) == tree


@pytest.mark.parametrize("text", [b'{"a":1,"a":1}', b'{"a": 1, "b": 2, "a": 3, "a": 3}'])
def test_repeated_keys_are_remembered(text: bytes) -> None:
    parsed = strictjson.parse(text)
    assert isinstance(parsed, DuplicateKeys)
    assert parsed.duplicate_keys == ("a",)


def test_repeated_keys_are_remembered_where_they_are() -> None:
    parsed = strictjson.parse(b'{"x":[{"a":1},{"b":1,"b":2}]}')
    assert type(parsed) is dict
    assert type(parsed["x"][0]) is dict
    assert parsed["x"][1].duplicate_keys == ("b",)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        pytest.param(b"1", int, id="a literal integer"),
        pytest.param(b"1.0", float, id="an integer with a fraction"),
        pytest.param(b"1e1", float, id="an integer with an exponent"),
        pytest.param(b"9223372036854775807", int, id="the largest int64"),
        pytest.param(b"123456789012345678901234567890", int, id="an integer beyond 64 bits"),
    ],
)
def test_numbers_keep_their_literal_form(number: bytes, kind: type) -> None:
    assert type(strictjson.parse(b'{"a": %s}' % number)["a"]) is kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="a beginning"),
        pytest.param(b"NaN", id="no number"),
        pytest.param(
            b"[" + b"{}," * 600_000 + b"{}]", id="more than a million openings and commas"
        ),
        pytest.param(b"[" + b"1e400," * 8 + b"1e400]", id="many numbers beyond a double"),
        pytest.param(b"[1e400, NaN]", id="NaN behind a number beyond a double"),
        pytest.param(b'[1e400, "\\ud800"]', id="half a character behind such a number"),
        pytest.param(b"[" * 300 + b"1e400" + b"]" * 300, id="such a number 300 levels down"),
        pytest.param(b"[1e400", id="such a number and no end"),
        pytest.param(b'"\xff"', id="no UTF-8"),
        pytest.param(b'"\\ud800"', id="half a surrogate pair"),
        pytest.param(b"[" * 10_000 + b"]" * 10_000, id="10,000 levels"),
        pytest.param(b'{"a":' * 300 + b"1" + b"}" * 300, id="300 levels"),
        pytest.param(b'{"a":1}{"a":1}', id="two documents"),
    ],
)
def test_a_malformed_document_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidJSONError):
        strictjson.parse(text)


@pytest.mark.parametrize("gap", [b"", b" "], ids=["compact", "with a space"])
def test_the_limit_of_depth_is_the_same_whatever_the_spelling(gap: bytes) -> None:
    allowed, refused = MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_DEPTH + 1
    assert strictjson.depth(strictjson.parse(b"[" * allowed + gap + b"]" * allowed)) == allowed
    with pytest.raises(InvalidJSONError, match="nested deeper"):
        strictjson.parse(b"[" * refused + gap + b"]" * refused)


def test_what_cannot_be_told_apart_as_bytes_has_no_canonical_form() -> None:
    assert strictjson.canonical(strictjson.parse(b'{"a":1,"a":1}')) is None
    assert strictjson.canonical({"a": 2**70}) is None
    assert strictjson.canonical({"a": "\ud800"}) is None
    assert strictjson.canonical({"a": 1}) != strictjson.canonical({"a": 1.0})


@pytest.mark.parametrize(
    "number",
    [
        pytest.param("1e400", id="an exponent"),
        pytest.param("-1e400", id="a negative one"),
        pytest.param("9" * 400, id="400 digits"),
        pytest.param("9" * 5000, id="more digits than Python makes an integer of"),
        pytest.param("1" + "0" * 320 + ".5", id="a fraction"),
    ],
)
def test_numbers_beyond_a_double_are_kept_as_written(number: str) -> None:
    text = f'{{"é": "1e400", "a": [1, {number}, {{"b": 1.5, "b": 2}}]}}'
    parsed = strictjson.parse(text.encode())
    beyond = parsed["a"][1]
    assert isinstance(beyond, OutOfRangeNumber)
    assert str(beyond) == number
    assert parsed["é"] == "1e400"
    assert parsed["a"][0] == 1
    assert parsed["a"][2].duplicate_keys == ("b",)


def test_a_tree_with_a_number_beyond_a_double_has_no_canonical_form() -> None:
    assert strictjson.canonical(strictjson.parse(b"[1e400]")) is None
