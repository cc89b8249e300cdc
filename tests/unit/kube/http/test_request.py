"""What goes over the wire, whatever names and tokens hold."""

import pytest

from dragoman.kube.http.request import headers, request

HEAD = headers([("Host", "here")])


def test_a_question_has_a_head_and_nothing_else() -> None:
    assert request("GET", "/a?b=c", HEAD) == b"GET /a?b=c HTTP/1.1\r\nHost: here\r\n\r\n"


def test_a_body_comes_with_its_type_and_length() -> None:
    sent = request("POST", "/a", HEAD, "ü".encode(), "text/plain")
    assert sent == (
        b"POST /a HTTP/1.1\r\nHost: here\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n"
        + "ü".encode()
    )


def test_an_empty_body_is_a_body() -> None:
    assert b"\r\nContent-Length: 0\r\n\r\n" in request("POST", "/a", HEAD, b"", "text/plain")


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        ("/a b", b"/a%20b"),
        ("/a\r\nX: y", b"/a%0D%0AX:%20y"),
        ("/größe", b"/gr%C3%B6%C3%9Fe"),
        ("/a%20b?c=%2F", b"/a%20b?c=%2F"),
    ],
    ids=["a blank", "the end of a line", "letters beyond ASCII", "what is escaped already"],
)
def test_a_path_cannot_end_its_line(target: str, sent: bytes) -> None:
    assert request("GET", target, HEAD).split(b"\r\n")[0] == b"GET %b HTTP/1.1" % sent


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\n", "a\x00", "\x7f"])
def test_a_header_cannot_begin_another(value: str) -> None:
    with pytest.raises(ValueError, match="Authorization"):
        headers([("Authorization", value)])
