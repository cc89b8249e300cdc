"""Requests are encoded so that no name and no token can start another one."""

import pytest

from dragoman.kube.http.request import Request, encode_headers

HEADERS = encode_headers([("Host", "here")])


def test_a_request_without_a_body_has_a_head_only() -> None:
    encoded = Request("GET", "/a?b=c", HEADERS).encode()
    assert encoded == b"GET /a?b=c HTTP/1.1\r\nHost: here\r\n\r\n"


def test_a_body_is_sent_with_its_type_and_length() -> None:
    encoded = Request("POST", "/a", HEADERS, "ü".encode(), "text/plain").encode()
    assert encoded == (
        b"POST /a HTTP/1.1\r\nHost: here\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n"
        + "ü".encode()
    )


def test_an_empty_body_has_a_length() -> None:
    encoded = Request("POST", "/a", HEADERS, b"", "text/plain").encode()
    assert b"\r\nContent-Length: 0\r\n\r\n" in encoded


@pytest.mark.parametrize(
    ("target", "encoded"),
    [
        pytest.param("/a b", b"/a%20b", id="a blank"),
        pytest.param("/a\r\nX: y", b"/a%0D%0AX:%20y", id="a line break"),
        pytest.param("/größe", b"/gr%C3%B6%C3%9Fe", id="letters beyond ASCII"),
        pytest.param("/a%20b?c=%2F", b"/a%20b?c=%2F", id="percent-encoded already"),
    ],
)
def test_a_target_cannot_end_its_line(target: str, encoded: bytes) -> None:
    line = Request("GET", target, HEADERS).encode().split(b"\r\n")[0]
    assert line == b"GET %b HTTP/1.1" % encoded


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\n", "a\x00", "\x7f"])
def test_a_header_value_cannot_start_another_header(value: str) -> None:
    with pytest.raises(ValueError, match="Authorization"):
        encode_headers([("Authorization", value)])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_writes_are_not_repeatable(method: str) -> None:
    assert not Request(method, "/", HEADERS).is_repeatable
    assert Request("GET", "/", HEADERS).is_repeatable
