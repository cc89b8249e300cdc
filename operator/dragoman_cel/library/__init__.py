"""Implementations of the overloads, one module for each library.

A module offers `OVERLOADS`, functions of the arguments by overload id, and `STATEFUL` for those
that also take the evaluation's state first, because they compare or copy any number of values,
or because long texts take longer than their CEL cost says (`paced`).
"""

import sys
from collections.abc import Mapping
from types import MappingProxyType

from dragoman_base.versions import Version
from dragoman_cel.library import (
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
from dragoman_cel.state import Functions

_LIBRARIES = (
    arithmetic, authorizer, cidr, containers, conversions, formats, ip, lists, optionals, ordering,
    quantity, regexes, semver, sets, strings, timestamps, url,
)  # fmt: skip


def _all(table: str) -> Functions:
    """Join a table of all libraries; some libraries have only one of the two."""
    tables = (getattr(library, table, {}) for library in _LIBRARIES)
    return {name: function for functions in tables for name, function in functions.items()}


REVISED: Mapping[str, Version] = MappingProxyType(
    {
        "lists_range": (1, 37),
        "quantity_is_integer": (1, 38),
        "quantity_get_int": (1, 38),
        **{name[:-1]: (1, 38) for name in ordering.OVERLOADS if name.endswith("'")},
    }
)
"""Overloads that changed, and since when: their new form has an apostrophe behind its name."""


def revised(name: str, release: Version) -> str:
    """Return the name of the form of an overload that a release has."""
    return f"{name}'" if release >= REVISED.get(name, (sys.maxsize, 0)) else name


OVERLOADS = _all("OVERLOADS")
STATEFUL = _all("STATEFUL")
