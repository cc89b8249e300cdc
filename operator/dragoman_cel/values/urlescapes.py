"""Percent escapes of URLs as Go's `net/url` reads and writes them."""

import re
from collections.abc import Callable

from dragoman_cel.values.quoting import quoted

_ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
UNRESERVED = _ALPHANUMERIC + "-._~"
HOST = frozenset((UNRESERVED + "!\"$&'()*+,:;<=>[]").encode())
PATH = frozenset((UNRESERVED + "$&+,/:;=@").encode())
FRAGMENT = frozenset((UNRESERVED + "!$&()*+,/:;=?@").encode())
USER = frozenset((UNRESERVED + "$&+,;=").encode())
SUB_DELIMITERS = frozenset(b"!$&'()*+,;=:@[]%")

_ESCAPE = re.compile(rb"%[0-9a-fA-F]{2}")


class URLSyntaxError(Exception):
    """An error of `net/url`, without its prefix."""


def unescaped_host(host: str) -> bytes:
    """Unescape a host, where only non-ASCII bytes and `%` itself may be escaped."""
    return _unescaped_where(host, lambda byte: byte >= 0x80 or byte == 0x25)


def unescaped_zone(zone: str) -> bytes:
    """Unescape the zone of an IPv6 address, where spaces and bytes of a host may be escaped."""
    return _unescaped_where(zone, lambda byte: byte in {0x25, 0x20} or byte in HOST)


def _unescaped_where(text: str, may_escape: Callable[[int], bool]) -> bytes:
    data = _bytes(text)
    index = 0
    while index < len(data):
        if data[index] == 0x25:
            escape = _escape_at(data, index)
            if not may_escape(int(escape[1:], 16)):
                raise _bad_escape(escape)
            index += 3
        else:
            if data[index] < 0x80 and data[index] not in HOST:
                character = quoted(chr(data[index]))
                raise URLSyntaxError(f"invalid character {character} in host name")
            index += 1
    return unescaped(text)


def unescaped(text: str) -> bytes:
    """Unescape a text; raise URLSyntaxError for a `%` without two hexadecimal digits."""
    data = _bytes(text)
    if b"%" not in data:
        return data
    for index, byte in enumerate(data):
        if byte == 0x25:
            _escape_at(data, index)
    return _ESCAPE.sub(lambda match: bytes([int(match[0][1:], 16)]), data)


def _escape_at(data: bytes, index: int) -> bytes:
    escape = data[index : index + 3]
    if not _ESCAPE.fullmatch(escape):
        raise _bad_escape(escape)
    return escape


def _bad_escape(escape: bytes) -> URLSyntaxError:
    return URLSyntaxError(f"invalid URL escape {quoted(escape.decode(errors='surrogateescape'))}")


def escaped(data: bytes, allowed: frozenset[int]) -> str:
    """Escape all bytes but the allowed ones."""
    return "".join(chr(byte) if byte in allowed else f"%{byte:02X}" for byte in data)


def escaped_as_written(text: str, allowed: frozenset[int]) -> str:
    """Keep a valid escaping as written, else escape what must be escaped."""
    data = unescaped(text)
    if all(byte in allowed or byte in SUB_DELIMITERS for byte in _bytes(text)):
        return text
    return "*" if data == b"*" else escaped(data, allowed)


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def decoded(data: bytes) -> str:
    """Decode UTF-8; invalid bytes become U+FFFD."""
    return data.decode(errors="replace")
