"""URLs as Go's `net/url` parses them; Kubernetes' CEL accepts only absolute ones."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dragoman.cel.errors import EvaluationError
from dragoman.cel.values.ip import address_error
from dragoman.cel.values.quoting import quoted

_ALPHANUMERIC: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_UNRESERVED: Final = _ALPHANUMERIC + "-._~"
_HOST: Final = frozenset((_UNRESERVED + "!\"$&'()*+,:;<=>[]").encode())
_PATH: Final = frozenset((_UNRESERVED + "$&+,/:;=@").encode())
_FRAGMENT: Final = frozenset((_UNRESERVED + "!$&()*+,/:;=?@").encode())
_USER: Final = frozenset((_UNRESERVED + "$&+,;=").encode())
_SUB_DELIMITERS: Final = frozenset(b"!$&'()*+,;=:@[]%")

_ESCAPE: Final = re.compile(rb"%[0-9a-fA-F]{2}")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
_USER_INFO: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", re.ASCII)
_PARAMETERS_MAX: Final = 10_000


class _URLError(Exception):
    """An error of `net/url`, without its prefix."""


@dataclass(frozen=True, slots=True)
class URL:
    """An absolute URL or an absolute path.

    Attributes:
        scheme: lower case, "" for a path.
        host: host with port, unescaped.
        escaped_path: path in escaped form.
        raw_query: what follows the first `?`, still escaped.
        text: its text; URLs are equal when their texts are.
    """

    scheme: str
    host: str
    escaped_path: str
    raw_query: str
    text: str

    @property
    def hostname(self) -> str:
        """Return the host without port and without brackets."""
        return _split_port(self.host)[0]

    @property
    def port(self) -> str:
        """Return the port, "" without a numeric one."""
        return _split_port(self.host)[1]

    def query(self) -> dict[str, list[str]]:
        """Return the query's values by name, in order; malformed pairs are dropped."""
        values: dict[str, list[str]] = {}
        pairs = self.raw_query.split("&")
        if len(pairs) > _PARAMETERS_MAX:
            return {}
        for pair in pairs:
            if not pair or ";" in pair:
                continue
            name, _, value = pair.replace("+", " ").partition("=")
            with suppress(_URLError):
                key, item = _text(_unescaped(name)), _text(_unescaped(value))
                values.setdefault(key, []).append(item)
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def parse_url(text: str) -> URL:
    """Parse an absolute URI or absolute path.

    Raises:
        EvaluationError: the text is neither of them, with Go's message.
    """
    problem = url_error(text)
    if problem is None:
        plain, _, fragment = text.partition("#")
        try:
            parts = _parse(plain, strict=False)
        except _URLError as error:
            problem = f"parse {quoted(plain)}: {error}"
        else:
            return _with_fragment(parts, fragment, text)
    raise _refusal(problem)


def is_url(text: str) -> bool:
    """Return whether `parse_url` accepts the text."""
    return url_error(text) is None


def url_error(text: str) -> str | None:
    """Return the error of Go's `url.ParseRequestURI` for a text, None for a valid one."""
    try:
        _parse(text, strict=True)
    except _URLError as error:
        return f"parse {quoted(text)}: {error}"
    return None


def _with_fragment(parts: URL, fragment: str, whole: str) -> URL:
    if not fragment:
        return parts
    try:
        text = f"{parts.text}#{_escaped_as_written(fragment, _FRAGMENT)}"
    except _URLError as error:
        raise _refusal(f"parse {quoted(whole)}: {error}") from None
    return URL(parts.scheme, parts.host, parts.escaped_path, parts.raw_query, text)


def _refusal(problem: str) -> EvaluationError:
    return EvaluationError(f"URL parse error during conversion from string: {problem}")


def _parse(text: str, *, strict: bool) -> URL:
    if _CONTROL.search(text):
        raise _URLError("net/url: invalid control character in URL")
    if not text and strict:
        raise _URLError("empty url")
    if text == "*":
        return URL("", "", "*", "", "*")
    scheme, rest = _split_scheme(text)
    rest, question, query = rest.partition("?")
    suffix = f"?{query}" if question else ""
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme, "", "", query, f"{scheme}:{rest}{suffix}")
        if strict:
            raise _URLError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _URLError("first path segment in URL cannot contain colon")
    user, host, path, has_authority = _split_authority(scheme, rest, strict=strict)
    escaped_path = _escaped_as_written(path, _PATH)
    authority = (
        f"//{user}{_escaped(host, _HOST)}"
        if _prints_authority(scheme, host, path, user, has_authority=has_authority)
        else ""
    )
    prefix = f"{scheme}:" if scheme else ""
    return URL(
        scheme, _text(host), escaped_path, query, f"{prefix}{authority}{escaped_path}{suffix}"
    )


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise _URLError("missing protocol scheme")
    match = _SCHEME.match(text)
    return (match[0][:-1].lower(), text[match.end() :]) if match else ("", text)


def _split_authority(scheme: str, rest: str, *, strict: bool) -> tuple[str, bytes, str, bool]:
    """Return user part with its `@`, host, path, and whether there was an authority at all."""
    relative = not strict and not rest.startswith("///")
    if not (rest.startswith("//") and (scheme or relative)):
        return "", b"", rest, False
    authority, slash, path = rest[2:].partition("/")
    user, at, host_text = authority.rpartition("@")
    host = _host(scheme, host_text)
    return (_user(user) if at else ""), host, slash + path, True


def _prints_authority(
    scheme: str, host: bytes, path: str, user: str, *, has_authority: bool
) -> bool:
    """Return whether the text has `//`: not for a scheme with an empty authority and no path."""
    if not (scheme or host or user):
        return False
    return bool(host or user or (has_authority and path))


def _user(user: str) -> str:
    if not _USER_INFO.fullmatch(user):
        raise _URLError("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    name = _escaped(_unescaped(name), _USER)
    return f"{name}:{_escaped(_unescaped(password), _USER)}@" if colon else f"{name}@"


def _host(scheme: str, host: str) -> bytes:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _URLError("invalid IP-literal")
    if bracket == 0:
        return _ip_literal(host)
    colon = host.find(":")
    if colon >= 0:
        # http and https have one colon only; other schemes may list several hosts.
        port = host[colon if scheme in ("http", "https") else host.rfind(":") :]
        _check_port(port)
    return _unescaped_host(host)


def _ip_literal(host: str) -> bytes:
    address, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise _URLError("missing ']' in host")
    _check_port(port)
    address, percent, zone = address.partition("%25")
    name = _unescaped_host(address) + (_unescaped_zone(percent + zone) if percent else b"")
    problem, family = address_error(_text(name))
    if problem is not None:
        raise _URLError(f"invalid host: {problem}")
    if family == 4:
        raise _URLError("invalid IP-literal")
    return b"[" + name + b"]" + port.encode()


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise _URLError(f"invalid port {quoted(port)} after host")


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, ""
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return name, port


def _unescaped_host(host: str) -> bytes:
    """Unescape a host, where only non-ASCII bytes and `%` itself may be escaped."""
    data = _bytes(host)
    index = 0
    while index < len(data):
        if data[index] == 0x25:
            escape = _escape_at(data, index)
            if int(escape[1:2], 16) < 8 and escape != b"%25":
                raise _bad_escape(escape)
            index += 3
        else:
            _check_host_byte(data[index])
            index += 1
    return _unescaped(host)


def _unescaped_zone(zone: str) -> bytes:
    data = _bytes(zone)
    index = 0
    while index < len(data):
        if data[index] == 0x25:
            escape = _escape_at(data, index)
            value = int(escape[1:], 16)
            if value not in (0x25, 0x20) and value not in _HOST:
                raise _bad_escape(escape)
            index += 3
        else:
            _check_host_byte(data[index])
            index += 1
    return _unescaped(zone)


def _check_host_byte(byte: int) -> None:
    if byte < 0x80 and byte not in _HOST:
        raise _URLError(f"invalid character {quoted(chr(byte))} in host name")


def _unescaped(text: str) -> bytes:
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


def _bad_escape(escape: bytes) -> _URLError:
    return _URLError(f"invalid URL escape {quoted(escape.decode(errors='surrogateescape'))}")


def _escaped(data: bytes, allowed: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in allowed else f"%{byte:02X}" for byte in data)


def _escaped_as_written(text: str, allowed: frozenset[int]) -> str:
    """Keep a valid escaping as written, else escape what must be escaped."""
    data = _unescaped(text)
    if all(byte in allowed or byte in _SUB_DELIMITERS for byte in _bytes(text)):
        return text
    return "*" if data == b"*" else _escaped(data, allowed)


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
