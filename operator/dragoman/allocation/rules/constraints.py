"""The constraints of a claim: matchAttribute and distinctAttribute, with what was picked so far.

A constraint sees the devices of an attempt come and go in stack order. Values are those of
`attributes`; None stands for a device that lacks the attribute.
"""

from typing import Any, Protocol

from dragoman.allocation.features import Profile
from dragoman.allocation.rules.attributes import UNKNOWN, Elements, Scalar, common
from dragoman.model.requests import Constraint


class ConstraintState(Protocol):
    """A constraint during one attempt."""

    def add(self, request: str, value: Any) -> bool:
        """Take a device in; answer False, and change nothing, if the constraint forbids it."""

    def remove(self, request: str) -> None:
        """Undo the last `add` that answered True."""


class MatchScalar:
    """All devices have the value of the first one."""

    __slots__ = ("_count", "_value")

    def __init__(self) -> None:
        self._count = 0
        self._value: Scalar = UNKNOWN

    def add(self, _request: str, value: Scalar) -> bool:
        """See `ConstraintState`. The first device may have any value, even none that compares."""
        if self._count == 0:
            self._value = value
        elif value == UNKNOWN or value != self._value:
            return False
        self._count += 1
        return True

    def remove(self, _request: str) -> None:
        """See `ConstraintState`."""
        self._count -= 1


class MatchElements:
    """All devices have an element in common; each device narrows what that may be."""

    __slots__ = ("_common",)

    def __init__(self) -> None:
        self._common: list[Elements] = []

    def add(self, _request: str, value: Elements | None) -> bool:
        """See `ConstraintState`."""
        narrowed = value
        if value is not None and self._common:
            narrowed = common(self._common[-1], value)
        if narrowed is None:
            return False
        self._common.append(narrowed)
        return True

    def remove(self, _request: str) -> None:
        """See `ConstraintState`."""
        self._common.pop()


class MatchElementsNarrowing:
    """As 1.36 does it: what a rejected device narrowed stays narrow until no device is left.

    Source: kubernetes/kubernetes#140300.
    """

    __slots__ = ("_common", "_count")

    def __init__(self) -> None:
        self._count = 0
        self._common: Elements | None = None

    def add(self, _request: str, value: Elements | None) -> bool:
        """See `ConstraintState`."""
        narrowed = value
        if value is not None and self._count and self._common is not None:
            narrowed = common(self._common, value)
        if narrowed is None:
            return False
        self._common = narrowed
        self._count += 1
        return True

    def remove(self, _request: str) -> None:
        """See `ConstraintState`."""
        self._count -= 1


class DistinctScalar:
    """No two devices have the same value."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[Scalar] = []

    def add(self, _request: str, value: Scalar) -> bool:
        """See `ConstraintState`."""
        if self._values and (value == UNKNOWN or value in self._values):
            return False
        self._values.append(value)
        return True

    def remove(self, _request: str) -> None:
        """See `ConstraintState`."""
        self._values.pop()


class DistinctElements:
    """No two devices have an element in common."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[Elements] = []

    def add(self, _request: str, value: Elements | None) -> bool:
        """See `ConstraintState`."""
        if value is None or any(common(value, other) for other in self._values):
            return False
        self._values.append(value)
        return True

    def remove(self, _request: str) -> None:
        """See `ConstraintState`."""
        self._values.pop()


class DistinctLast:
    """As 1.36 does it: of each request only the last device is compared, and undoing forgets it."""

    __slots__ = ("_count", "_lists", "_values")

    def __init__(self, *, lists: bool) -> None:
        self._count = 0
        self._lists = lists
        self._values: dict[str, Any] = {}

    def add(self, request: str, value: Any) -> bool:
        """See `ConstraintState`."""
        if self._count and not self._differs(value):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str) -> None:
        """See `ConstraintState`."""
        self._values.pop(request, None)
        self._count -= 1

    def _differs(self, value: Any) -> bool:
        if not self._lists:
            return not self._values or (value != UNKNOWN and value not in self._values.values())
        if value is None:
            return False
        return all(other is None or common(value, other) is None for other in self._values.values())


def start(constraint: Constraint, profile: Profile) -> ConstraintState:
    """Return the state of a constraint before any device is picked."""
    lists = profile.features.ListTypeAttributes
    if constraint.match_attribute is not None:
        if not lists:
            return MatchScalar()
        return MatchElements() if profile.constraints_restored else MatchElementsNarrowing()
    if not profile.constraints_restored:
        return DistinctLast(lists=lists)
    return DistinctElements() if lists else DistinctScalar()
