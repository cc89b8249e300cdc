"""The string formats of CustomResourceDefinitions, as the API server checks them.

Every check is linear in the length of the text. Formats that the API server does not know are
ignored here too; `quantity` is dragoman's own, because driver configs often hold quantities.
"""

import calendar
import ipaddress
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import re2

MAX_LENGTH = 4096
"""Longer texts fail every format but `byte` and `password`: all others are short by nature."""


def _matcher(pattern: str) -> Callable[[str], bool]:
    compiled: Any = None

    def matches(text: str) -> bool:
        nonlocal compiled
        # Compiled when first used: all patterns together take a tenth of the start of a command.
        compiled = compiled or _compiled(pattern)
        # Bytes, because lone surrogates have no encoding and offsets are not needed.
        return compiled.search(text.encode("utf-8", "replace")) is not None

    return matches


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.never_capture = True
    return re2.compile(pattern, options)


def _whole(pattern: str) -> Callable[[str], bool]:
    """Match with Python's `re`, which is faster to call; only for patterns of linear time here."""
    compiled: re.Pattern[str] | None = None

    def matches(text: str) -> bool:
        nonlocal compiled
        compiled = compiled or re.compile(pattern, re.ASCII)
        return compiled.fullmatch(text) is not None

    return matches


def _ipv4(text: str) -> bool:
    try:
        return bool(ipaddress.IPv4Address(text).max_prefixlen)
    except ValueError:
        return False


def _ipv6(text: str) -> bool:
    try:
        # Go's net.ParseIP rejects zones.
        return "%" not in text and bool(ipaddress.IPv6Address(text).max_prefixlen)
    except ValueError:
        return False


def _cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()) or len(length) > 3:
        return False
    # net.ParseCIDR accepts host bits and a length with leading zeros, such as "/08".
    bits = 32 if _ipv4(address) else 128 if _ipv6(address) else -1
    return int(length) <= bits


def _date(text: str) -> bool:
    if not _DATE_SHAPE(text):
        return False
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def _date_time(text: str) -> bool:
    date, separator, time = text.lower().partition("t")
    if not separator or not _date(date) or not _TIME_SHAPE(time):
        return False
    return time[0:2] <= "23" and time[3:5] <= "59" and time[6:8] <= "59"


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return " " not in text and (text.startswith("/") or bool(parts.scheme))


def _isbn10(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not _ISBN10_SHAPE(digits):
        return False
    weighed = sum(i * int(char) for i, char in enumerate(digits[:9], start=1))
    last = 10 if digits[9] == "X" else int(digits[9])
    return (weighed + 10 * last) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not _ISBN13_SHAPE(digits):
        return False
    return sum((3 if i % 2 else 1) * int(char) for i, char in enumerate(digits)) % 10 == 0


def _creditcard(text: str) -> bool:
    digits = "".join(char for char in text if char in "0123456789")
    if not _CARD_SHAPE(digits):
        return False
    doubled = [int(char) * (2 - i % 2) for i, char in enumerate(reversed(digits), start=1)]
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def _hostname(text: str) -> bool:
    *labels, last = text.split(".")
    if len(text.encode("utf-8", "replace")) > 255 or any(len(part) > 63 for part in labels):
        return False
    if not labels:
        return len(last) <= 64 and _LONE_LABEL(last)
    return 2 <= len(last) <= 63 and _TOP_LABEL(last) and all(map(_LABEL, labels))


_DATE_SHAPE = _whole(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_SHAPE = _matcher(r"\A[0-9]{2}:[0-9]{2}:[0-9]{2}(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})\z")
_ISBN10_SHAPE = _matcher(r"\A[0-9]{9}[0-9X]\z")
_ISBN13_SHAPE = _matcher(r"\A97[89][0-9]{10}\z")
_CARD_SHAPE = _matcher(
    r"\A(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})\z"
)
_LONE_LABEL = _matcher(r"\A[a-zA-Z0-9\pS\pL]-?[a-zA-Z0-9\pS\pL]*\z")
_LABEL = _matcher(r"\A[a-zA-Z0-9\pS\pL](?:[a-zA-Z0-9\-\pS\pL]*[a-zA-Z0-9\pS\pL])?\z")
_TOP_LABEL = _matcher(r"\A[a-zA-Z\pL]+\z")
_LONG_NAME = _matcher(r"\A[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\z")
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_GO_DURATION = r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
# The lenient half of the API server's duration: a number and a unit anywhere in the text. `us`,
# `ns` and `m` stand for themselves alone, the long names for whatever begins with them.
_WORD_DURATION = (
    r"(?i)[0-9]\s*(?:(?:ns|us|µs|ms|s|m|h|hr|d|w|wk)(?:[^A-Za-zµ]|\z)"
    r"|nano|micro|milli|sec|min|hour|day|week)"
)

CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _whole(r"[0-9a-fA-F]{24}"),
    "byte": _matcher(
        r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})\z"
    ),
    "cidr": _cidr,
    "creditcard": _creditcard,
    "date": _date,
    "datetime": _date_time,
    "duration": _matcher(rf"\A{_GO_DURATION}\z|{_WORD_DURATION}"),
    "email": _matcher(r"\A(?:[^<>@]*<[^@\s<>]+@[^@\s<>]+>|[^@\s<>]+@[^@\s<>]+)\s*\z"),
    "hexcolor": _whole(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "k8sshortname": _whole(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"),
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME(text),
    "mac": _whole(
        r"(?i)[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?::[0-9a-f]{2}){7}|(?::[0-9a-f]{2}){19}"
        r"|(?:-[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){7}|(?:-[0-9a-f]{2}){19})"
        r"|[0-9a-f]{4}(?:(?:\.[0-9a-f]{4}){2}|(?:\.[0-9a-f]{4}){3}|(?:\.[0-9a-f]{4}){9})"
        r"|[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40}"
    ),
    "password": lambda _: True,
    "quantity": _whole(
        r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,10})?"
    ),
    "rgbcolor": _matcher(rf"\Argb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)\z"),
    "ssn": _whole(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "uri": _uri,
    **{
        f"uuid{version}": _matcher(
            rf"(?i)\A[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}\z"
        )
        for version, third, fourth in (
            ("", "[0-9a-f]{4}", "[0-9a-f]{4}"),
            ("3", "3[0-9a-f]{3}", "[0-9a-f]{4}"),
            ("4", "4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
            ("5", "5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
        )
    },
}
"""Checks by normalized name (`date-time` is `datetime`)."""

INTEGER_BOUNDS = {"int32": 2**31, "int64": 2**63}
"""The formats of integers; a value v fits when -bound <= v < bound."""

_UNBOUNDED = {"byte", "password"}


def check_of(name: str) -> Callable[[str], bool] | None:
    """Find the check of a string format; None for a format that the API server ignores."""
    name = name.replace("-", "")
    check = CHECKS.get(name)
    if check is None or name in _UNBOUNDED:
        return check
    return lambda text: len(text) <= MAX_LENGTH and check(text)
