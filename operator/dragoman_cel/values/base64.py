"""Base64 as Go's standard encoding reads it."""

import base64
import re

from dragoman_cel.errors import OperationError

_WHOLE = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_LETTER = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BREAKS = b"\r\n"
_PADDING = ord("=")


def decode_base64(text: str) -> bytes:
    """Decode a text; line breaks are ignored.

    Raises:
        OperationError: `illegal base64 data at input byte ..`.
    """
    data = text.encode(errors="replace")
    plain = data.translate(None, _BREAKS)
    if not _WHOLE.fullmatch(plain):
        raise OperationError(f"illegal base64 data at input byte {_fault(data)}")
    return base64.b64decode(plain)


def _fault(data: bytes) -> int:
    """Return the byte where Go's decoder stops on malformed data."""
    signs = [(index, byte) for index, byte in enumerate(data) if byte not in _BREAKS]
    for count, (index, byte) in enumerate(signs):
        if byte == _PADDING:
            return _fault_in_padding(signs, count, len(data))
        if byte not in _LETTER:
            return index
    # Only the end of the input is wrong: the last group of four is incomplete.
    return len(data) - len(signs) % 4


def _fault_in_padding(signs: list[tuple[int, int]], count: int, end: int) -> int:
    index = signs[count][0]
    if count % 4 < 2:
        return index
    behind = signs[count + 1 :]
    if count % 4 == 2:
        if not behind:
            return end
        if behind[0][1] != _PADDING:
            return behind[0][0] - 1
        behind = behind[1:]
    return behind[0][0] if behind else end
