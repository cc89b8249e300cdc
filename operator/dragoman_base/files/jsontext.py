"""JSON files: values after each other, with repeated keys and huge numbers kept visible."""

import json
import re
from collections.abc import Iterator
from typing import Any

from dragoman_base.files import MAX_FILE, UnreadableError
from dragoman_base.files.unreadable import MAX_DOCUMENT_DEPTH, DuplicateKeys, OutOfRangeNumber
from dragoman_base.files.yamltext import MAX_DOCUMENTS, MAX_TEXT_VALUES, MAX_VALUES

_SPACE = re.compile(r"[ \t\r\n]*")
_MOST_DIGITS = 64
_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},]', re.DOTALL)


def read(text: str) -> Iterator[tuple[Any, str, int, int]]:
    """Yield tree, text, number of the first line from 0, and offset of each value.

    Raises:
        UnreadableError: Invalid JSON, or beyond the limits.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_members,
        parse_int=_integer,
        parse_float=_float,
        parse_constant=_constant,
    )
    _refuse_large(text)
    count = held = line = first = before = 0
    start = _after_space(text, 0)
    while start < len(text):
        # Counted from the value before: to begin at the first one each time takes hours.
        line += text.count("\n", before, start)
        first = max(first, text.rfind("\n", before, start) + 1)
        tree, end = _decoded(decoder, text, start)
        count, held = count + 1, held + end - first
        if count > MAX_DOCUMENTS or held > len(text) + MAX_FILE:  # each has the text of its lines
            raise UnreadableError("too many documents in one text, or on one line", line + 1, 1)
        _bound(tree, line)
        yield _clean(tree), text[first:end], line, first
        before, start = start, _after_space(text, end)


def _refuse_large(text: str) -> None:
    """Refuse more values than a text may have, before they take hundreds of times its size."""
    if text.count(",") + text.count("[") + text.count("{") <= MAX_VALUES:
        return
    depth = values = before = 0
    for match in _SIGNS.finditer(text):
        sign = match[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
            if depth == 0:
                before, values = before + values, 0
        values += sign in ",[{"
        line = text.count("\n", 0, match.start()) + 1 if values > MAX_VALUES else 0
        if line or before + values > MAX_TEXT_VALUES:
            most, where = (MAX_VALUES, "document") if line else (MAX_TEXT_VALUES, "text")
            raise UnreadableError(f"more than {most} values in one {where}", line, 1)


def _decoded(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise UnreadableError(f"invalid JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        line = text.count("\n", 0, start) + 1
        raise UnreadableError(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", line, 1) from None


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else DuplicateKeys(pairs)


def _integer(digits: str) -> int | OutOfRangeNumber:
    return int(digits) if len(digits) <= _MOST_DIGITS else _beyond(digits)


def _beyond(digits: str) -> Any:
    number = float(digits)
    return OutOfRangeNumber(digits[:_MOST_DIGITS]) if abs(number) == float("inf") else number


def _float(digits: str) -> Any:
    return _beyond(digits)


def _constant(name: str) -> Any:
    raise json.JSONDecodeError(f"JSON has no number {name}", "", 0)


def _bound(tree: Any, line: int) -> None:
    """Refuse what no API server would take, before anything recurses into it."""
    level, depth, count = [tree], 0, 0
    while level:
        count += len(level)
        if count > MAX_VALUES:
            raise UnreadableError(f"more than {MAX_VALUES} values in one document", line + 1, 1)
        if depth > MAX_DOCUMENT_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", line + 1, 1)
        level = [child for value in level for child in _children(value)]
        depth += 1


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _clean(value: Any) -> Any:
    """Replace lone surrogates, which JSON escapes can make and no encoding can carry."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, DuplicateKeys):
        return value
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value
