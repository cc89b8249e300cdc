"""Implementations of the overloads, one module for each library.

A module offers `OVERLOADS`, functions of the arguments by overload id, and `STATEFUL` for those
that also take the evaluation's state first, because they compare or copy any number of values,
or because long texts take longer than their CEL cost says (`paced`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dragoman.cel.library import (
    arithmetic,
    authorizer,
    cidr,
    containers,
    conversions,
    formats,
    ip,
    lists,
    optionals,
    ordering,
    quantity,
    regexes,
    semver,
    sets,
    strings,
    timestamps,
    url,
)

OVERLOADS: Final[dict[str, Callable[..., Any]]] = {
    **arithmetic.OVERLOADS,
    **authorizer.OVERLOADS,
    **cidr.OVERLOADS,
    **containers.OVERLOADS,
    **conversions.OVERLOADS,
    **formats.OVERLOADS,
    **timestamps.OVERLOADS,
    **ip.OVERLOADS,
    **lists.OVERLOADS,
    **optionals.OVERLOADS,
    **ordering.OVERLOADS,
    **quantity.OVERLOADS,
    **semver.OVERLOADS,
    **strings.OVERLOADS,
    **url.OVERLOADS,
}
STATEFUL: Final[dict[str, Callable[..., Any]]] = {
    **arithmetic.STATEFUL,
    **cidr.STATEFUL,
    **containers.STATEFUL,
    **conversions.STATEFUL,
    **timestamps.STATEFUL,
    **ip.STATEFUL,
    **lists.STATEFUL,
    **optionals.STATEFUL,
    **ordering.STATEFUL,
    **quantity.STATEFUL,
    **regexes.STATEFUL,
    **semver.STATEFUL,
    **sets.STATEFUL,
    **strings.STATEFUL,
    **url.STATEFUL,
}
