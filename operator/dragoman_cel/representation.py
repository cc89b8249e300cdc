"""Values at run time: their Python types, and the names of their CEL and Go types.

bool, int, float, str, bytes, None, list and dict are Python's own; uint is `Uint`; the others are
classes of `values`, of `data` and of this module. A list or dict does not change after an
expression can see it. True == 1 and {True} == {1} in Python but not in CEL, so `==` goes through
`equality.equal`, and a bool is a dict key only as a `StandIn`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman_cel.data import (
    BuiltMap,
    DataList,
    DataMap,
    DefaultMap,
    Invalid,
    MapList,
    PartialMap,
    Record,
    SetList,
)
from dragoman_cel.errors import EvaluationAborted, OperationError
from dragoman_cel.types import Type
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.formats import NamedFormat
from dragoman_cel.values.ip import CIDR, IP
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.scalars import Uint
from dragoman_cel.values.semver import Semver
from dragoman_cel.values.text import format_double
from dragoman_cel.values.timestamps import Timestamp
from dragoman_cel.values.url import URL


class StandIn:
    """A dict key for a value that Python would confuse with another: a bool with 0 or 1.

    Lists, maps and others that Go compares by address have a key of their own each.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


_TRUE_KEY = StandIn(value=True)
_FALSE_KEY = StandIn(value=False)


class Optional:
    """An `optional_type` value; `NONE` is the empty one."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


NONE = Optional(None)


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    DataList: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    BuiltMap: "map",
    DataMap: "map",
    DefaultMap: "map",
    PartialMap: "map",
    Record: "map",
    Invalid: "error",
    Optional: "optional_type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Type: "type",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    URL: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
    IP: "net.IP",
    CIDR: "net.CIDR",
}
NUMBERS = frozenset((int, Uint, float))
PLAIN = frozenset((bool, int, Uint, float, str, bytes, Timestamp, Duration))
KUBERNETES = frozenset((Quantity, Semver, URL, NamedFormat, IP, CIDR))
MAPS = frozenset((dict, BuiltMap, DataMap, DefaultMap, PartialMap, Record))
LISTS = frozenset((list, DataList, SetList, MapList))
KEYS = frozenset((str, int, Uint, bool, float))
"""Types that can be an index or key."""
_ADDRESSED = LISTS | MAPS | {Quantity, URL}
"""Types whose equal values are still different keys."""
_UNHASHABLE = frozenset((bytes, Semver, NamedFormat))
"""Types of map keys that make cel-go fail."""


def type_name(value: Any) -> str:
    """Return the name of a value's type, as `type(value)` prints it."""
    return _NAMES[type(value)]


_GO_NAMES = {
    "bool": "types.Bool", "int": "types.Int", "uint": "types.Uint", "double": "types.Double",
    "string": "types.String", "bytes": "types.Bytes", "null_type": "types.Null",
    "optional_type": "*types.Optional", "google.protobuf.Timestamp": "types.Timestamp",
    "google.protobuf.Duration": "types.Duration", "kubernetes.Semver": "cel.Semver",
    "kubernetes.Quantity": "cel.Quantity", "kubernetes.URL": "cel.URL", "net.IP": "cel.IP",
    "net.CIDR": "cel.CIDR", "kubernetes.NamedFormat": "cel.Format", "type": "*types.Type",
    "list": "*types.baseList", "map": "*types.baseMap",
}  # fmt: skip


def go_name(value: Any) -> str:
    """Return the name of a value's Go type, for error texts."""
    name = type_name(value)
    pointer = "*" if type(value) is Quantity and value.computed else ""
    return pointer + _GO_NAMES.get(name, name)


def no_such_overload(function: str = "", *args: Any) -> OperationError:
    """Return the error of a call whose arguments fit no overload."""
    if not function:
        return OperationError("no such overload")
    if not args:
        return OperationError(f"no such overload: {function}")
    return OperationError(f"no such overload: {function}({', '.join(map(type_name, args))})")


def key_of(value: Any) -> Any:
    """Return the dict key of a value."""
    if value is True:
        return _TRUE_KEY
    return _FALSE_KEY if value is False else value


def entry_key(value: Any) -> Any:
    """Return the dict key of a value for a new entry.

    Raises:
        EvaluationAborted: Such a key makes cel-go itself fail.
    """
    if type(value) in _ADDRESSED:
        return StandIn(value)
    refuse_unhashable(value)
    return key_of(value)


def refuse_unhashable(value: Any) -> None:
    """Raise EvaluationAborted for a value whose use as a key of a Go map makes cel-go fail."""
    if type(value) in _UNHASHABLE:
        text = f"internal error: runtime error: hash of unhashable type {go_name(value)}"
        raise EvaluationAborted(text)


def value_of(key: Any) -> Any:
    """Return the value of a dict key."""
    return key.value if type(key) is StandIn else key


def keys(mapping: dict[Any, Any]) -> Iterator[Any]:
    """Iterate over the keys of a map as values."""
    return map(value_of, mapping)


def size(value: Any) -> int:
    """Return the size of a value for costs: 1 for values without a size."""
    kind = type(value)
    if kind is str or kind is bytes or kind in LISTS:
        return len(value)
    if kind in MAPS:
        return len(value.raw if kind is Record else value)
    if kind is Optional and value is not NONE:
        return size(value.value)
    return int(value.size) if kind is IP or kind is CIDR else 1


def shown(value: Any) -> str:
    """Return a value as Go's %v prints it in `no such key: ..`."""
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "0"  # in Go null is the only value of an enumeration
    if kind is float:
        return format_double(value)
    return str(value) if kind in PLAIN or kind in KUBERNETES else type_name(value)


_NATIVE = {
    Invalid: "*errors.errorString",
    Quantity: "*resource.Quantity",
    Semver: "semver.Version",
    IP: "netip.Addr",
    CIDR: "netip.Prefix",
    URL: "*url.URL",
}
"""Go types that the CEL forms of errors and Kubernetes' values wrap."""


def reread(value: Any) -> Any:
    """Return an optional as cel-go reads one through a variable or a condition.

    It converts the content to Go's own value and back: an optional in an optional collapses, and a
    content without a CEL form turns into an error.
    """
    if type(value) is not Optional or value is NONE:
        return value
    content = value.value
    nested = type(content) is Optional
    while type(content) is Optional:
        content = content.value
    if type(content) is Type:
        return Optional(content.name)
    native = _NATIVE.get(type(content))
    if native is None:
        return Optional(content) if nested else value

    def unsupported() -> str:
        text = content.error if type(content) is Invalid else content
        return f"unsupported conversion to ref.Val: ({native}){text}"

    return Optional(Invalid(unsupported))


def is_zero(value: Any) -> bool:
    """Return whether a value is the zero value of its type, for `optional.ofNonZeroValue`."""
    kind = type(value)
    if value is None:
        return True
    if kind is Duration:
        return bool(value.nanos == 0)
    if kind is Timestamp:
        return bool(value.nanos == -62_135_596_800_000_000_000)
    plain = kind in NUMBERS or kind in (bool, str, bytes) or kind in LISTS or kind in MAPS
    return plain and not value
