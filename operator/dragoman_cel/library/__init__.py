"""Implementations of the overloads, one module for each library.

A module offers `OVERLOADS`, functions of the arguments by overload id, and `STATEFUL` for those
that also take the evaluation's state first, because they compare or copy any number of values,
or because long texts take longer than their CEL cost says (`paced`).
"""

from dragoman_base.versions import Version, parse
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


OVERLOADS = _all("OVERLOADS")
STATEFUL = _all("STATEFUL")
_FORMS: dict[str, list[tuple[Version, str]]] = {}
"""Forms of overloads that changed, the oldest first: `name@1.38` is that of 1.38 and later."""
for _form in (*OVERLOADS, *STATEFUL):
    _name, _, _since = _form.rpartition("@")
    if _name:
        _FORMS.setdefault(_name, []).append((parse(_since), _form))


def revised(name: str, release: Version) -> str:
    """Return the name of the form of an overload that a release has."""
    forms = [form for since, form in sorted(_FORMS.get(name, ())) if since <= release]
    return forms[-1] if forms else name
