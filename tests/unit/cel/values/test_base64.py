"""Base64 of the format `byte`: Go's data and errors."""

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.base64 import decode_base64


@pytest.mark.parametrize(
    ("text", "data"), [("aGk=", b"hi"), ("", b""), ("aG\nk=\r\n", b"hi"), ("aGk+", b"hi>")]
)
def test_base64_passes_over_line_breaks(text: str, data: bytes) -> None:
    assert decode_base64(text) == data


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("%", 0),
        ("aGk", 0),
        ("aaaaa", 4),
        ("=", 0),
        ("aG=", 3),
        ("aG=k", 2),
        ("aGk=x", 4),
        ("aGk==", 4),
        ("é", 0),
    ],
)
def test_base64_tells_where_it_breaks_off(text: str, place: int) -> None:
    with pytest.raises(EvaluationError) as caught:
        decode_base64(text)
    assert caught.value.message == f"illegal base64 data at input byte {place}"
