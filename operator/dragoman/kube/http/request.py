"""Requests, and how they are encoded."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

_VISIBLE_ASCII = re.compile(r"[!-~]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNQUOTED = "!$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class Request:
    """A request."""

    method: str  # As `GET`
    target: str  # Path and query; characters that are invalid in both are percent-encoded
    headers: bytes  # Header lines that all requests share, from `encode_headers`
    body: bytes | None = None  # The body; None for none
    content_type: str = ""  # Of the body

    @property
    def is_repeatable(self) -> bool:
        """Whether the client may send it again after a kept connection turned out to be dead.

        A write is never repeated here: the planner reads the object to learn whether the API
        server applied it.
        """
        return self.method == "GET"

    def encode(self) -> bytes:
        """Return the bytes to send."""
        target = self.target
        if not _VISIBLE_ASCII.fullmatch(target):
            target = quote(target, safe=_UNQUOTED)
        line = f"{self.method} {target} HTTP/1.1\r\n".encode()
        if self.body is None:
            return b"%b%b\r\n" % (line, self.headers)
        return b"%b%bContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
            line,
            self.headers,
            self.content_type.encode(),
            len(self.body),
            self.body,
        )


def encode_headers(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return the header lines of names and values.

    Raises:
        ValueError: A value has a control character: it would end the line and start another.
    """
    lines = []
    for name, value in pairs:
        if _CONTROL.search(value):
            raise ValueError(f"the header {name} has a control character; remove it")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode()
