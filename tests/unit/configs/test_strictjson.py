"""JSON comes in without loss: repeated keys and literal numbers are seen, hostile texts refused."""

import json

import pytest

from dragoman_base.files.unreadable import (
    MAX_DOCUMENT_DEPTH,
    DeepValue,
    DuplicateKeys,
    InvalidText,
    OutOfRangeNumber,
    UnreadableValue,
)
from dragoman_configs import strictjson
from dragoman_configs.strictjson import InvalidJSONError


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
def test_repeated_keys_are_kept(text: bytes) -> None:
    parsed = strictjson.parse(text)
    assert isinstance(parsed, DuplicateKeys)
    assert parsed.duplicate_keys == ("a",)


def test_repeated_keys_are_kept_at_their_place() -> None:
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
            b"[" + b"{}," * 600_000 + b"{}]", id="objects that take more memory than allowed"
        ),
        pytest.param(b"[1e400, NaN]", id="NaN behind a number out of range"),
        pytest.param(b'["\\ud800", NaN]', id="NaN behind a lone surrogate"),
        pytest.param(b"[1e400", id="a number out of range and no end"),
        pytest.param(b'["\xff\x00"]', id="a control character behind a stray byte"),
        pytest.param(b"[" * 300, id="300 levels and no end"),
        pytest.param(b"[" * 300 + b"]" * 301, id="one bracket too many"),
        pytest.param(b"[" * 300 + b"1 2" + b"]" * 299, id="one bracket too few"),
        pytest.param(b'{"a":1}{"a":1}', id="two documents"),
    ],
)
def test_a_malformed_document_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidJSONError):
        strictjson.parse(text)


@pytest.mark.parametrize("gap", [b"", b" "], ids=["compact", "with a space"])
def test_the_limit_of_depth_is_the_same_whatever_the_spelling(gap: bytes) -> None:
    for levels, deep in ((MAX_DOCUMENT_DEPTH, False), (MAX_DOCUMENT_DEPTH + 1, True)):
        value = strictjson.parse(b"[" * levels + gap + b"]" * levels)
        assert strictjson.depth(value) == MAX_DOCUMENT_DEPTH
        for _ in range(MAX_DOCUMENT_DEPTH - 1):
            [value] = value
        assert [type(item) for item in value] == [DeepValue] * deep


@pytest.mark.parametrize(
    ("written", "kind", "shown"),
    [
        pytest.param(b'"a\xffb"', InvalidText, "a?b", id="a stray byte"),
        pytest.param(b'"\\ud800"', InvalidText, "?", id="half a surrogate pair"),
        pytest.param(b'"\xed\xa0\x80"', InvalidText, "???", id="an encoded surrogate"),
        pytest.param(b"1e400", OutOfRangeNumber, "1e400", id="a number out of range"),
        pytest.param(b"[" * 10_000 + b"]" * 10_000, DeepValue, "…", id="10,000 levels"),
        pytest.param(b'{"a":' * 300 + b"1" + b"}" * 300, DeepValue, "…", id="300 levels"),
        pytest.param(b"[" * 300 + b"1e400" + b"]" * 300, DeepValue, "…", id="a number below"),
        pytest.param(b'{"[":' * 300 + b'"]"' + b"}" * 300, DeepValue, "…", id="brackets in texts"),
    ],
)
def test_an_unreadable_value_is_kept_apart_and_the_rest_is_read(
    written: bytes, kind: type[UnreadableValue], shown: str
) -> None:
    parsed = strictjson.parse(b'{"a":[%s,"\\ud83d\\ude00",1.0],"b":1,"b":2}' % written)
    value, *rest = parsed["a"]
    while isinstance(value, (dict, list)):
        [value] = value.values() if isinstance(value, dict) else value
    assert type(value) is kind
    assert str(value) == shown
    assert rest == ["😀", 1.0]
    assert parsed.duplicate_keys == ("b",)
    assert strictjson.canonical(parsed) is None


def test_keys_that_are_not_unicode_can_be_shown() -> None:
    parsed = strictjson.parse(b'{"\\ud800":1,"\xff":2}')
    assert json.dumps(parsed)
    assert parsed.duplicate_keys == ("?",)


def test_trees_that_bytes_cannot_identify_have_no_canonical_form() -> None:
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
