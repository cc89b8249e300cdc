"""As much of protobuf's wire format as the kubelet's plugin interfaces need. Pure."""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WIDTHS = {FIXED64: 8, FIXED32: 4}
MAX_VARINT_BYTES = 10


def text(number: int, value: str) -> bytes:
    """Encode a string field; the empty string is not written, as proto3 says."""
    return block(number, value.encode()) if value else b""


def block(number: int, body: bytes) -> bytes:
    """Encode a message field, or whatever else has a length."""
    return varint(number << 3 | BYTES) + varint(len(body)) + body


def varint(value: int) -> bytes:
    """Encode an unsigned number, seven bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field, in the order in which they were written.

    Raises:
        ValueError: These bytes are no message.
    """
    at = 0
    while at < len(message):
        key, at = read_varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = read_varint(message, at)
            yield number, value
            continue
        if kind == BYTES:
            length, at = read_varint(message, at)
        elif kind in WIDTHS:
            length = WIDTHS[kind]
        else:
            raise ValueError(f"field {number} is of unknown kind {kind}")
        if at + length > len(message):
            raise ValueError(f"field {number} is cut off")
        yield number, message[at : at + length]
        at += length


def read_varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that starts there, and where the next thing starts."""
    value = 0
    for index, byte in enumerate(message[at : at + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("a number is cut off or too long")


def texts(message: bytes) -> dict[int, str]:
    """Return the string fields of a message by number; the last of each counts."""
    return {
        number: value.decode(errors="replace")
        for number, value in fields(message)
        if isinstance(value, bytes)
    }


def number(key: int, value: int) -> bytes:
    """Encode an integer field; zero is not written, as proto3 says."""
    return varint(key << 3 | VARINT) + varint(value & (1 << 64) - 1) if value else b""
