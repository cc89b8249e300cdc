"""Requests as they go over the wire."""

import re
from collections.abc import Iterable
from urllib.parse import quote

_PLAIN = re.compile(r"[!-~]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_KEPT = "!$%&'()*+,/:;=?@[]~"


def headers(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return header lines of names and values.

    Raises:
        ValueError: A value holds a control character: it would end the line and begin another.
    """
    lines = []
    for name, value in pairs:
        if _CONTROL.search(value):
            raise ValueError(f"the header {name} has a control character in it")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode()


def request(
    method: str, target: str, head: bytes, content: bytes | None = None, content_type: str = ""
) -> bytes:
    """Return a request.

    Args:
        method: As `GET`.
        target: Path and query; what is not allowed in either is escaped.
        head: Header lines that all requests have.
        content: The body; None for none.
        content_type: Of the body.
    """
    if not _PLAIN.fullmatch(target):
        target = quote(target, safe=_KEPT)
    line = f"{method} {target} HTTP/1.1\r\n".encode()
    if content is None:
        return b"%b%b\r\n" % (line, head)
    kind = content_type.encode()
    return b"%b%bContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        *(line, head, kind),
        *(len(content), content),
    )
