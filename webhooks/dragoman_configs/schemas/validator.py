"""Validators of values: a prepared schema applied to a value, keyword by keyword.

The keywords are dragoman's own (docs/adr/0003), so only the walk is left; importing a package for
it would take a fifth of the start of `dragoman check`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

UNSET = object()
"""Stands for an instance that the keyword leaves to the validator; null is a value."""


@dataclass(slots=True)
class KeywordError:
    """What one keyword finds wrong with a value."""

    message: str  # The detail, without the path
    # Steps from the value to the place of the error, as far as it is known
    path: deque[str | int] = field(default_factory=deque)
    instance: Any = UNSET  # The value at that place
    keyword: str = ""  # Name of the keyword
    expected: Any = None  # The prepared value of the keyword

    def at(self, step: str | int) -> Self:
        """Return the error, which then names its place from one level further up."""
        self.path.appendleft(step)
        return self


Errors = Iterable[KeywordError] | None
Keyword = Callable[[Any, Any], Errors]
"""Checks a value: (prepared value of the keyword, value of the user)."""


class Validator:
    """A schema that is ready to validate: immutable, so that threads can share it.

    Attributes:
        schema: Prepared values by keyword.
    """

    __slots__ = ("_keywords", "schema")

    def __init__(self, schema: Mapping[str, Any], keywords: Mapping[str, Keyword]) -> None:
        """Prepare a schema.

        Args:
            schema: Prepared values by keyword; the keywords run in this order.
            keywords: The checks; every keyword of the schema has one.
        """
        self.schema = schema
        self._keywords: Sequence[tuple[str, Keyword, Any]] = tuple(
            (name, keywords[name], value) for name, value in schema.items()
        )

    def iter_errors(self, instance: Any) -> Iterator[KeywordError]:
        """Yield the errors of a value, lazily: the steps of later keywords are spent later."""
        for name, keyword, expected in self._keywords:
            for error in keyword(expected, instance) or ():
                # Errors of sub-schemas have their own keyword and instance already.
                if not error.keyword:
                    error.keyword, error.expected = name, expected
                    if error.instance is UNSET:
                        error.instance = instance
                yield error
