"""Values of literals: numbers with their ranges, strings with their escapes."""

import re

from dragoman_cel.values.scalars import Uint

_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)


class LiteralError(ValueError):
    """A literal that is well-formed but invalid; its text is cel-go's message."""


def integer(text: str) -> int:
    """Return the int64 of a decimal or 0x literal, sign included."""
    number = _number(text)
    if not -(2**63) <= number < 2**63:
        raise LiteralError("invalid int literal")
    return number


def unsigned(text: str) -> Uint:
    """Return the uint64 of a literal that ends in u."""
    number = _number(text[:-1])
    if number >= 2**64:
        raise LiteralError("invalid uint literal")
    return Uint(number)


def double(text: str) -> float:
    """Return the float64 of a literal; one too large for it is an error, not infinity."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return number


def string(text: str) -> str:
    """Return the characters of a string literal in any of its quotations."""
    body, raw = _unquoted(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def byte_string(text: str) -> bytes:
    """Return the bytes of a b"" literal, where hexadecimal and octal escapes are bytes."""
    body, raw = _unquoted(text[1:])
    if raw or "\\" not in body:
        return body.encode()
    parts, end = [], 0
    for match in _ESCAPE.finditer(body):
        parts += [body[end : match.start()].encode(), _byte(match)]
        end = match.end()
    return b"".join([*parts, body[end:].encode()])


def _number(text: str) -> int:
    # int() rejects more than 4300 digits, and a CEL number has at most 20 significant ones.
    if len(text) > 400:
        text = text.lstrip("0") or "0"
        if len(text) > 400:
            raise LiteralError("invalid int literal")
    return int(text, 16 if "0x" in text[:3] else 10)


def _unquoted(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    width = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return text[width:-width], raw


def _character(match: re.Match[str]) -> str:
    simple, byte, short, long, octal = match.groups()
    if simple:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte(match: re.Match[str]) -> bytes:
    simple, byte, _, _, octal = match.groups()
    if simple:
        return _SIMPLE[simple].encode()
    if not byte and not octal:
        raise LiteralError("unable to unescape string")
    return bytes([int(octal, 8) if octal else int(byte, 16)])
