"""What requests are read against: the classes and the compiled expressions of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dragoman.allocation.facts.objects import DeviceClass
from dragoman.allocation.features import Profile
from dragoman.allocation.requests.expressions import Expression, Views

if TYPE_CHECKING:
    from dragoman.allocation.requests.derived import Derivation

_EXPRESSIONS: Final = 256


class Environment:
    """The classes, and the last expressions that were used."""

    def __init__(self, profile: Profile, classes: Mapping[str, DeviceClass]) -> None:
        self.profile = profile
        self.classes = classes
        self.views = Views(profile)
        self._expressions: dict[str, Expression] = {}
        self._derived: dict[str, Derivation] = {}

    def expression(self, text: str) -> Expression:
        """Compile a selector, once while it is among the last ones used."""
        found = self._expressions.pop(text, None) or Expression(text, self.profile, self.views)
        _remember(self._expressions, text, found)
        return found

    def derivation(self, text: str) -> Derivation:
        """Compile the expression of a derived attribute."""
        from dragoman.allocation.requests import derived  # noqa: PLC0415 — loads the engine of CEL

        found = self._derived.pop(text, None) or derived.Derivation(text, self.profile, self.views)
        _remember(self._derived, text, found)
        return found


def _remember(table: dict[str, Any], text: str, value: Any) -> None:
    while len(table) >= _EXPRESSIONS:
        del table[next(iter(table))]
    table[text] = value
