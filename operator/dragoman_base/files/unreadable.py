"""Values that JSON can spell and a driver's decoder cannot hold, or reads in a way of its own."""

from typing import Any, ClassVar

MAX_DOCUMENT_DEPTH = 254
"""Levels of nesting of a whole document; deeper values are unreadable.

orjson writes no more levels, so a document that it wrote needs no measurement of its own.
"""


class UnreadableValue:
    """A value that JSON can spell and a driver's decoder cannot hold.

    Attributes:
        written: The value as it was written, or its beginning.
        requirement: The condition that it breaks.
    """

    __slots__ = ("written",)

    requirement: ClassVar[str]

    def __init__(self, written: str) -> None:
        self.written = written

    def __str__(self) -> str:
        return self.written


class OutOfRangeNumber(UnreadableValue):
    """A number that no double can hold."""

    __slots__ = ()

    requirement = "must be a number that a double can hold"


class InvalidText(UnreadableValue):
    """A string with bytes or escapes that are not Unicode."""

    __slots__ = ()

    requirement = "must be valid Unicode"


class DeepValue(UnreadableValue):
    """An object or array below `MAX_DOCUMENT_DEPTH` levels."""

    __slots__ = ()

    requirement = f"must not be nested deeper than {MAX_DOCUMENT_DEPTH} levels"


class DuplicateKeys(dict[str, Any]):
    """A JSON object in which keys occur more than once; it holds the last value of each.

    Attributes:
        duplicate_keys: The keys concerned, each once, in order of appearance.
    """

    __slots__ = ("duplicate_keys",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        repeated = (key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        self.duplicate_keys = tuple(dict.fromkeys(repeated))
