"""Data as expressions see it: objects and lists of a schema, and what does not fit it."""

from collections.abc import Callable
from typing import Any

from dragoman_cel.errors import OperationError


class Record(dict[str, Any]):
    """An object of a structural schema: the fields that expressions can see, by escaped name.

    Attributes:
        raw: The whole object; costs depend on its size, and `==` on all its fields.
        hidden: The names in `raw` that expressions cannot see.
    """

    __slots__ = ("hidden", "raw")

    def __init__(self, fields: dict[str, Any], raw: dict[str, Any], hidden: list[str]) -> None:
        super().__init__(fields)
        self.raw = raw
        self.hidden = hidden


class BuiltMap(dict[Any, Any]):
    """A map that an expression has built: cel-go keeps it in a Go map, which hashes its keys."""

    __slots__ = ()


class DataMap(dict[str, Any]):
    """A map of the data that a schema describes by additionalProperties, as `DataList`."""

    __slots__ = ()


class DataList(list[Any]):
    """A list of the data that a schema describes, whose elements may be `Invalid`.

    Unlike cel-go's own lists, a comparison of elements can fail.
    """

    __slots__ = ()


class SetList(DataList):
    """A list with x-kubernetes-list-type=set: `==` ignores order, `+` is union."""

    __slots__ = ()


class MapList(DataList):
    """A list with x-kubernetes-list-type=map: `==` ignores order, `+` merges by key.

    Attributes:
        names: The fields of the key.
    """

    __slots__ = ("names",)

    def __init__(self, items: list[Any], names: tuple[str, ...]) -> None:
        super().__init__(items)
        self.names = names


class Invalid:
    """Data that does not fit its schema: every read fails with its message.

    Attributes:
        message: The text, or a function that returns it.
    """

    __slots__ = ("message",)

    def __init__(self, message: str | Callable[[], str]) -> None:
        self.message = message

    @property
    def error(self) -> OperationError:
        """Return the error of a read."""
        return OperationError(self.message)


class PartialMap(dict[str, Any]):
    """A map some of whose values are `Invalid`: they count, but `in` and reads do not find them."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        value = dict.__getitem__(self, key)
        if type(value) is Invalid:
            raise KeyError(key)  # `lookup.find` has the error
        return value

    def __contains__(self, key: object) -> bool:
        return type(self.get(key, _ABSENT)) is not Invalid  # type: ignore[call-overload]


_ABSENT = Invalid("")


class DefaultMap(dict[Any, Any]):
    """A map that returns an empty map for a missing key.

    `in`, size and iteration see the real keys only, as in the scheduler's maps of domains.
    """

    __slots__ = ()

    def __missing__(self, key: Any) -> dict[Any, Any]:
        return _EMPTY


_EMPTY: dict[Any, Any] = {}
