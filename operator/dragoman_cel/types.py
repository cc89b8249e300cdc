"""The types of the checker: assignability, unification, the text form of messages.

A type is a kind, a name and parameters. Two kinds stand for several: DYN and ANY accept and are
accepted by everything; a PARAM is a type still to be found, bound in a `Bindings`.
Source of the rules: cel-go checker/types.go, version 0.26.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Kind(Enum):
    """The kind of a type."""

    SCALAR = "scalar"
    """bool, int, uint, double, string, bytes, timestamp, duration"""
    NULL = "null"
    DYN = "dyn"
    ANY = "any"
    ERROR = "error"
    LIST = "list"
    MAP = "map"
    OPAQUE = "opaque"
    """optional_type, net.IP, net.CIDR"""
    STRUCT = "struct"
    TYPE = "type"
    PARAM = "param"


class Type:
    """An immutable type; equal when kind, name and parameters are.

    Attributes:
        kind: See `Kind`.
        name: The name of the run-time type, such as `google.protobuf.Duration`.
        params: Element type, or key and value type, and so on.
        open: Whether a PARAM occurs anywhere inside.
        exact: Whether neither DYN, ANY, ERROR nor a PARAM occurs anywhere inside.
    """

    __slots__ = ("_hash", "exact", "kind", "name", "open", "params", "text")

    def __init__(
        self, kind: Kind, name: str, params: tuple[Type, ...] = (), text: str = ""
    ) -> None:
        self.kind = kind
        self.name = name
        self.params = params
        self.text = text or name
        self.open: bool = kind is Kind.PARAM or any(param.open for param in params)
        loose = kind in (Kind.PARAM, Kind.DYN, Kind.ANY, Kind.ERROR)
        self.exact: bool = not loose and all(param.exact for param in params)
        self._hash = hash((kind, name, params))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Type)
            and self._hash == other._hash
            and self.kind is other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """Return the text form in check errors, such as `map(string, int)`."""
        if not self.params:
            return self.text
        return f"{self.name}({', '.join(map(str, self.params))})"

    @property
    def dynamic(self) -> bool:
        """Return whether the type accepts everything: dyn or any."""
        return self.kind is Kind.DYN or self.kind is Kind.ANY

    @property
    def declared(self) -> str:
        """Return the text form in result types, with the full `google.protobuf.Any`."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(param.declared for param in self.params)})"


BOOL = Type(Kind.SCALAR, "bool")
INT = Type(Kind.SCALAR, "int")
UINT = Type(Kind.SCALAR, "uint")
DOUBLE = Type(Kind.SCALAR, "double")
STRING = Type(Kind.SCALAR, "string")
BYTES = Type(Kind.SCALAR, "bytes")
TIMESTAMP = Type(Kind.SCALAR, "google.protobuf.Timestamp", text="timestamp")
DURATION = Type(Kind.SCALAR, "google.protobuf.Duration", text="duration")
NULL = Type(Kind.NULL, "null_type", text="null")
DYN = Type(Kind.DYN, "dyn")
ANY = Type(Kind.ANY, "google.protobuf.Any", text="any")
ERROR = Type(Kind.ERROR, "*error*", text="!error!")
TYPE = Type(Kind.TYPE, "type")
IP = Type(Kind.OPAQUE, "net.IP")
CIDR = Type(Kind.OPAQUE, "net.CIDR")
QUANTITY = Type(Kind.STRUCT, "kubernetes.Quantity")
SEMVER = Type(Kind.STRUCT, "kubernetes.Semver")
URL = Type(Kind.STRUCT, "kubernetes.URL")
FORMAT = Type(Kind.STRUCT, "kubernetes.NamedFormat")


def list_of(element: Type) -> Type:
    """Return `list(element)`."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return `map(key, value)`."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """Return `optional_type(value)`."""
    return Type(Kind.OPAQUE, "optional_type", (value,))


def type_of(value: Type) -> Type:
    """Return `type(value)`, the type of a type value."""
    return Type(Kind.TYPE, "type", (value,))


def param(name: str) -> Type:
    """Return a type parameter."""
    return Type(Kind.PARAM, name)


def struct(name: str) -> Type:
    """Return an object type; the environment has its fields."""
    return Type(Kind.STRUCT, name)


def is_optional(of: Type) -> bool:
    """Return whether a type is an optional."""
    return of.kind is Kind.OPAQUE and of.name == "optional_type"


_NULLABLE = (Kind.OPAQUE, Kind.STRUCT, Kind.ANY)
_WILD = (Kind.DYN, Kind.ANY, Kind.ERROR)


def _nullable(of: Type) -> bool:
    return of.kind in _NULLABLE or of is TIMESTAMP or of is DURATION or of.kind is Kind.NULL


Settled = dict[int, tuple[Type, Type]]
"""Types and their settled forms, by the identity of the former."""


class Bindings:
    """The types of type parameters, found by unification; one object for each check.

    Attributes:
        exact: Whether types as values differ, as cel-go does from 0.33 on.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.exact = exact
        self._bound: dict[str, Type] = {}
        self._trail: list[tuple[str, Type | None]] = []
        self._fresh = 0

    def fresh(self) -> Type:
        """Return a new parameter."""
        self._fresh += 1
        return param(f"_var{self._fresh - 1}")

    def substitute(self, of: Type) -> Type:
        """Return a type with its bound parameters replaced."""
        if not of.open:
            return of
        if of.kind is Kind.PARAM:
            bound = self._bound.get(of.name)
            return of if bound is None else self.substitute(bound)
        return Type(of.kind, of.name, tuple(map(self.substitute, of.params)))

    def settle(self, of: Type, known: Settled) -> Type:
        """Return a type with its parameters replaced, unbound ones by dyn.

        Args:
            of: The type.
            known: Types settled before; valid as long as no binding changes.
        """
        if not of.open:
            return of
        if id(of) not in known:
            if of.kind is Kind.PARAM:
                settled = self.settle(self._bound.get(of.name, DYN), known)
            else:
                settled = Type(of.kind, of.name, tuple([self.settle(p, known) for p in of.params]))
            known[id(of)] = of, settled
        return known[id(of)][1]

    def assignable(self, source: Type, target: Type) -> bool:
        """Return whether the types unify; if they do not, no binding changes."""
        return self.all_assignable((source,), (target,))

    def all_assignable(self, sources: Iterable[Type], targets: Iterable[Type]) -> bool:
        """Return whether all pairs unify together; if they do not, no binding changes."""
        mark = len(self._trail)
        if all(self._unify(one, other) for one, other in zip(sources, targets, strict=True)):
            return True
        while len(self._trail) > mark:
            name, before = self._trail.pop()
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def _bind(self, name: str, to: Type) -> None:
        self._trail.append((name, self._bound.get(name)))
        self._bound[name] = to

    def _unify(self, one: Type, other: Type) -> bool:
        if one is other and not one.open:
            return True
        if other.kind is Kind.PARAM:
            valid, bound = self._stands_for(one, other)
            if valid or bound:
                return valid
        if one.kind is Kind.PARAM:
            return self._stands_for(other, one)[0]
        if one.kind in _WILD or other.kind in _WILD:
            return True
        if one.kind is Kind.NULL or other.kind is Kind.NULL:
            return _nullable(other if one.kind is Kind.NULL else one)
        if one.kind is not other.kind:
            return False
        if one.kind is Kind.TYPE:
            return True
        if one.name != other.name or len(one.params) != len(other.params):
            return False
        return all(self._unify(a, b) for a, b in zip(one.params, other.params, strict=True))

    def _stands_for(self, of: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether a type can be bound to the parameter, and whether one was bound before."""
        if of == parameter:
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is not None:
            if of == bound:
                return True, True
            if not self._unify(of, bound):
                return False, True
            general = self.most_general(of, bound)
            if self._absent(parameter, general):
                self._bind(parameter.name, general)
            return True, True
        if self._absent(parameter, of):
            self._bind(parameter.name, of)
            return True, False
        return False, False

    def _absent(self, parameter: Type, within: Type) -> bool:
        """Return whether the parameter occurs nowhere within a type (the occurs check)."""
        if not within.open:
            return True
        if within.kind is Kind.PARAM:
            if within.name == parameter.name:
                return False
            bound = self._bound.get(within.name)
            return bound is None or self._absent(parameter, bound)
        return all(self._absent(parameter, part) for part in within.params)

    def most_general(self, one: Type, other: Type) -> Type:
        """Return the more general of two types that unify."""
        return one if self._covers(one, other) else other

    def _covers(self, one: Type, other: Type) -> bool:
        if one.dynamic or one.kind is Kind.PARAM:
            return True
        if other.dynamic or other.kind is Kind.PARAM or one.kind is not other.kind:
            return False
        if one.kind is Kind.TYPE and not (self.exact and one.params and other.params):
            return not (self.exact and one.params)
        if one.name != other.name or len(one.params) != len(other.params):
            return False
        return all(self._covers(a, b) for a, b in zip(one.params, other.params, strict=True))
