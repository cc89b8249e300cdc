"""URLs as Go's `net/url` parses them; Kubernetes' CEL accepts only absolute ones."""

import re
from contextlib import suppress
from dataclasses import dataclass

from dragoman_cel.errors import OperationError
from dragoman_cel.values.ipparser import address_error
from dragoman_cel.values.quoting import quoted
from dragoman_cel.values.urlescapes import (
    FRAGMENT,
    HOST,
    PATH,
    USER,
    URLSyntaxError,
    decoded,
    escaped,
    escaped_as_written,
    unescaped,
    unescaped_host,
    unescaped_zone,
)

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"(?::[0-9]*)?", re.ASCII)
_USER_INFO = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", re.ASCII)
_PARAMETERS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class URL:
    """An absolute URL or an absolute path."""

    scheme: str  # Lower case, "" for a path
    host: str  # Host with port, unescaped
    escaped_path: str  # Path in escaped form
    raw_query: str  # What follows the first `?`, still escaped
    text: str  # Its text; URLs are equal when their texts are

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
            with suppress(URLSyntaxError):
                key, item = decoded(unescaped(name)), decoded(unescaped(value))
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
        OperationError: The text is neither of them, with Go's message.
    """
    problem = url_error(text)
    if problem is not None:
        raise _refusal(problem)
    plain, _, fragment = text.partition("#")
    try:
        parts = _parse(plain, strict=False)
    except URLSyntaxError as error:
        raise _refusal(f"parse {quoted(plain)}: {error}") from None
    return _with_fragment(parts, fragment, text)


def is_url(text: str) -> bool:
    """Return whether `parse_url` accepts the text."""
    return url_error(text) is None


def url_error(text: str) -> str | None:
    """Return the error of Go's `url.ParseRequestURI` for a text, None for a valid one."""
    try:
        _parse(text, strict=True)
    except URLSyntaxError as error:
        return f"parse {quoted(text)}: {error}"
    return None


def _with_fragment(parts: URL, fragment: str, whole: str) -> URL:
    if not fragment:
        return parts
    try:
        text = f"{parts.text}#{escaped_as_written(fragment, FRAGMENT)}"
    except URLSyntaxError as error:
        raise _refusal(f"parse {quoted(whole)}: {error}") from None
    return URL(parts.scheme, parts.host, parts.escaped_path, parts.raw_query, text)


def _refusal(problem: str) -> OperationError:
    return OperationError(f"URL parse error during conversion from string: {problem}")


def _parse(text: str, *, strict: bool) -> URL:
    if _CONTROL.search(text):
        raise URLSyntaxError("net/url: invalid control character in URL")
    if not text and strict:
        raise URLSyntaxError("empty url")
    if text == "*":
        return URL("", "", "*", "", "*")
    scheme, rest = _split_scheme(text)
    rest, question, query = rest.partition("?")
    suffix = f"?{query}" if question else ""
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme, "", "", query, f"{scheme}:{rest}{suffix}")
        if strict:
            raise URLSyntaxError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise URLSyntaxError("first path segment in URL cannot contain colon")
    user, host, path, has_authority = _split_authority(scheme, rest, strict=strict)
    escaped_path = escaped_as_written(path, PATH)
    # No `//` for a scheme with an empty authority and no path.
    shown = host or user or (scheme and has_authority and path)
    authority = f"//{user}{escaped(host, HOST)}" if shown else ""
    prefix = f"{scheme}:" if scheme else ""
    return URL(
        scheme, decoded(host), escaped_path, query, f"{prefix}{authority}{escaped_path}{suffix}"
    )


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise URLSyntaxError("missing protocol scheme")
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


def _user(user: str) -> str:
    if not _USER_INFO.fullmatch(user):
        raise URLSyntaxError("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    name = escaped(unescaped(name), USER)
    return f"{name}:{escaped(unescaped(password), USER)}@" if colon else f"{name}@"


def _host(scheme: str, host: str) -> bytes:
    bracket = host.rfind("[")
    if bracket > 0:
        raise URLSyntaxError("invalid IP-literal")
    if bracket == 0:
        return _ip_literal(host)
    colon = host.find(":")
    if colon >= 0:
        # http and https have one colon only; other schemes may list several hosts.
        port = host[colon if scheme in ("http", "https") else host.rfind(":") :]
        _check_port(port)
    return unescaped_host(host)


def _ip_literal(host: str) -> bytes:
    address, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise URLSyntaxError("missing ']' in host")
    _check_port(port)
    address, percent, zone = address.partition("%25")
    name = unescaped_host(address) + (unescaped_zone(percent + zone) if percent else b"")
    problem, family = address_error(decoded(name))
    if problem is not None:
        raise URLSyntaxError(f"invalid host: {problem}")
    if family == 4:
        raise URLSyntaxError("invalid IP-literal")
    return b"[" + name + b"]" + port.encode()


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise URLSyntaxError(f"invalid port {quoted(port)} after host")


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, ""
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return name, port
