"""Attribute values as constraints compare them.

A scalar is a pair of kind and value; versions compare as text, from 1.38 on by precedence, which
ignores build metadata. With list attributes (KEP-5491) a
value is a kind and the set of its elements, a scalar being a set of one.
"""

from collections.abc import Sequence
from typing import Any

from dragoman.model.device import Content
from dragoman.model.fields import Document
from dragoman_cel.errors import OperationError
from dragoman_cel.values.semver import parse_semver

Scalar = tuple[str, Any]
Elements = tuple[str, frozenset[Any]]

UNKNOWN: Scalar = ("", None)
"""An attribute that has no scalar value: empty, or a list."""

_SCALARS = ("string", "int", "bool", "version")
_LISTS = (("ints", "int"), ("bools", "bool"), ("strings", "string"), ("versions", "version"))


def lookup(content: Content, name: str) -> Document | None:
    """Return the attribute of a device by its fully qualified name, None if the device lacks it.

    A name without a domain belongs to the driver.
    """
    attribute = content.attributes.get(name)
    if attribute is not None:
        return attribute
    domain, slash, local = name.partition("/")
    if not slash or domain != content.driver:
        return None
    return content.attributes.get(local)


def scalar(attribute: Document) -> Scalar:
    """Return the scalar value of an attribute, UNKNOWN if it has none."""
    for kind in _SCALARS:
        value = attribute.get(kind)
        if value is not None:
            return (kind, value) if isinstance(value, (str, int)) else UNKNOWN
    return UNKNOWN


def elements(attribute: Document) -> Elements | None:
    """Return the elements of an attribute, None if it has no value or an empty list."""
    for name, kind in _LISTS:
        values = attribute.get(name)
        if values:
            return _set(kind, values)
    for kind in ("int", "bool", "string", "version"):
        value = attribute.get(kind)
        if value is not None:
            return _set(kind, [value])
    return None


def usable(attribute: Document, *, lists: bool, empty: bool) -> Scalar | Elements | None:
    """Return what a constraint compares from 1.38 on, None for a value that cannot be used.

    Args:
        attribute: The attribute in the API's form.
        lists: Whether lists can be compared; all values are sets then.
        empty: Whether an empty list is a value.
    """
    for kind in ("int", "bool", "string", "version"):
        value = attribute.get(kind)
        if value is not None:
            found = _parsed(kind, [value])
            return found if found is None or lists else (kind, *found[1])
    for name, kind in _LISTS:
        values = attribute.get(name)
        if values or (values is not None and empty):
            return _parsed(kind, values) if lists else None
    return None


def _parsed(kind: str, values: Sequence[Any]) -> Elements | None:
    if kind != "version":
        return _set(kind, values)
    try:
        return _set(kind, [parse_semver(value) for value in values])
    except (OperationError, TypeError):
        return None


def _set(kind: str, values: Any) -> Elements | None:
    try:
        return kind, frozenset(values)
    except TypeError:  # not of the API's form
        return None


def common(left: Elements, right: Elements) -> Elements | None:
    """Return what two values have in common, None for nothing."""
    if left[0] != right[0]:
        return None
    both = left[1] & right[1]
    return (left[0], both) if both else None
