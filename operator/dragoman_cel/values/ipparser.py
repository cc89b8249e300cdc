"""Parses IP addresses and prefixes as Go's `net/netip` does, with its error messages."""

import re

from dragoman_cel.errors import OperationError
from dragoman_cel.values.ip import CIDR, IP
from dragoman_cel.values.quoting import quoted
from dragoman_cel.values.scalars import INT_MAX

_IPV4 = re.compile(
    r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
    r"\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)",
    re.ASCII,
)
_HEX = re.compile(r"[0-9a-fA-F]*", re.ASCII)


class _AddressError(Exception):
    """An error of `netip.ParseAddr`."""

    def __init__(self, text: str, message: str, at: str = "") -> None:
        place = f" (at {quoted(at)})" if at else ""
        super().__init__(f"ParseAddr({quoted(text)}): {message}{place}")


def parse_ip(text: str) -> IP:
    """Parse an address.

    Raises:
        OperationError: No address, one with a zone, or an IPv4-mapped IPv6 address.
    """
    try:
        ip, zone = _parse_address(text)
    except _AddressError as error:
        message = f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        raise OperationError(message) from None
    if zone:
        raise OperationError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(ip):
        raise OperationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return ip


def is_ip(text: str) -> bool:
    """Return whether `parse_ip` accepts the text."""
    try:
        parse_ip(text)
    except OperationError:
        return False
    return True


def is_canonical_ip(text: str) -> bool:
    """Return whether an address is written the way it prints.

    Raises:
        OperationError: The text is no address.
    """
    return str(parse_ip(text)) == text


def parse_cidr(text: str) -> CIDR:
    """Parse a network in CIDR notation.

    Raises:
        OperationError: No network, or an IPv4-mapped IPv6 one.
    """
    try:
        return _parse_prefix(text)
    except OperationError as error:
        message = f"network address parse error during conversion from string: {error}"
        raise OperationError(message) from None


def is_cidr(text: str) -> bool:
    """Return whether `parse_cidr` accepts the text."""
    try:
        _parse_prefix(text)
    except OperationError:
        return False
    return True


def address_error(text: str) -> tuple[str | None, int]:
    """Return the error of Go's `netip.ParseAddr` for a text, or the family of a valid one.

    Zones and IPv4-mapped addresses are valid; this is the check of a URL's host.
    """
    try:
        ip, _zone = _parse_address(text)
    except _AddressError as error:
        return str(error), 0
    return None, ip.family


def _parse_prefix(text: str) -> CIDR:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    try:
        ip, zone = _parse_address(address)
    except _AddressError as error:
        raise _prefix_error(text, str(error)) from None
    if zone:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0"):
        raise _prefix_error(text, f"bad bits after slash: {quoted(bits)}")
    if len(bits) > 19 or int(bits) > INT_MAX:
        raise _prefix_error(text, f"bad bits after slash: {quoted(bits)}")
    if int(bits) > ip.bits:
        raise _prefix_error(text, "prefix length out of range")
    if _is_mapped(ip):
        raise OperationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CIDR(ip, int(bits))


def _prefix_error(text: str, reason: str) -> OperationError:
    return OperationError(
        "network address parse error during conversion from string: "
        f"netip.ParsePrefix({quoted(text)}): {reason}"
    )


def _is_mapped(ip: IP) -> bool:
    return ip.bits == 128 and ip.number >> 32 == 0xFFFF


def _parse_address(text: str) -> tuple[IP, str]:
    """Return address and zone; the first of `.`, `:`, `%` decides the family."""
    if match := _IPV4.fullmatch(text):
        return IP(32, int.from_bytes(map(int, match.groups()))), ""
    for char in text:
        if char == ".":
            return IP(32, _parse_ipv4(text, text)), ""
        if char == ":":
            return _parse_ipv6(text)
        if char == "%":
            raise _AddressError(text, "missing IPv6 address")
    raise _AddressError(text, "unable to parse IP")


def _parse_ipv4(whole: str, part: str) -> int:
    """Parse dotted decimals; `whole` is the text in errors."""
    number = value = dots = digits = 0
    for index, char in enumerate(part):
        if char in "0123456789":
            if digits == 1 and value == 0:
                raise _AddressError(whole, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise _AddressError(whole, "IPv4 field has value >255")
        elif char == ".":
            if index in (0, len(part) - 1) or part[index - 1] == ".":
                message = "IPv4 field must have at least one digit"
                raise _AddressError(whole, message, part[index:])
            if dots == 3:
                raise _AddressError(whole, "IPv4 address too long")
            number, value, digits, dots = number << 8 | value, 0, 0, dots + 1
        else:
            raise _AddressError(whole, "unexpected character", part[index:])
    if dots < 3:
        raise _AddressError(whole, "IPv4 address too short")
    return number << 8 | value


def _parse_ipv6(text: str) -> tuple[IP, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _AddressError(text, "zone must be a non-empty string")
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return IP(128, 0), zone
    groups, ellipsis, rest = _parse_groups(text, rest, ellipsis)
    if rest:
        raise _AddressError(text, "trailing garbage after address", rest)
    if len(groups) < 8:
        if ellipsis < 0:
            raise _AddressError(text, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        raise _AddressError(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return IP(128, number), zone


def _parse_groups(text: str, rest: str, ellipsis: int) -> tuple[list[int], int, str]:
    """Parse colon-separated fields; return them, the place of `::` and the rest."""
    groups: list[int] = []
    while len(groups) < 8:
        digits = _hex_digits(text, rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            number = _parse_embedded(text, rest, len(groups), ellipsis)
            groups += [number >> 16, number & 0xFFFF]
            return groups, ellipsis, ""
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            break
        rest = _behind_colon(text, rest)
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _AddressError(text, "multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
            if not rest:
                break
    return groups, ellipsis, rest


def _hex_digits(text: str, rest: str) -> str:
    match = _HEX.match(rest)
    digits = match[0] if match else ""
    if len(digits) > 4:
        raise _AddressError(text, "each group must have 4 or less digits", rest)
    if not digits:
        message = "each colon-separated field must have at least one digit"
        raise _AddressError(text, message, rest)
    return digits


def _behind_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _AddressError(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _AddressError(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _parse_embedded(text: str, rest: str, fields: int, ellipsis: int) -> int:
    if ellipsis < 0 and fields != 6:
        message = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _AddressError(text, message, rest)
    if fields > 6:
        message = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _AddressError(text, message, rest)
    return _parse_ipv4(text, rest)
