"""What requests are read against: the classes and the compiled expressions of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dragoman.allocation.features import Profile
from dragoman.allocation.requests.expressions import Expression, Views
from dragoman.model.deviceclass import DeviceClass

if TYPE_CHECKING:
    from dragoman.allocation.requests.derived import Derivation

_EXPRESSIONS = 256
_ENTRIES = 500_000
"""About 50 MiB: one selector judged for 100,000 devices takes 200,000 entries."""


class ClassEnvironment:
    """The classes, and the last expressions that were used.

    Attributes:
        profile: Which scheduler decides.
        classes: The classes by name.
        views: Devices as selectors see them.
        entries: What requests and results of searches remember, in dictionary entries.
    """

    def __init__(self, profile: Profile, classes: Mapping[str, DeviceClass]) -> None:
        self.profile = profile
        self.classes = classes
        self.views = Views(profile)
        self._expressions: dict[str, Expression] = {}
        self._derived: dict[str, Derivation] = {}
        self.entries = 0

    @property
    def full(self) -> bool:
        """Whether so much is remembered that `forget` is due."""
        return self.entries + self.views.entries > _ENTRIES

    def forget(self) -> None:
        """Drop all that is known of devices; requests that were prepared are to be dropped, too."""
        self.entries = 0
        self.views.forget()
        for expression in self._expressions.values():
            expression.forget()
        for derivation in self._derived.values():
            derivation.forget()

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
