"""Quoted texts in errors: Go's `%q`."""

import pytest

from dragoman_cel.values.quoting import quoted


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
