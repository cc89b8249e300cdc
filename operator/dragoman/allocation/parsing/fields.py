"""Read single fields of API objects, or name the field that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dragoman.allocation.facts.amounts import Amount, AmountError, amount
from dragoman.allocation.facts.objects import Document, NodeSelector, NodeSelectorTerm, Requirement
from dragoman.model.fields import MalformedObjectError, items, mapping, optional_text, texts

_INT64 = 1 << 63


def require_object(document: object) -> None:
    """Raise MalformedObjectError for what is not a JSON object."""
    if not isinstance(document, Mapping):
        raise MalformedObjectError(f"expected an object, found {_kind(document)}")


def selectors(document: Document, within: str) -> tuple[str | None, ...]:
    """Read `selectors`: the CEL expressions, None for a selector of another kind."""
    found = []
    for index, item in enumerate(items(document, "selectors", within)):
        inner = f"{within}selectors[{index}]."
        cel = mapping(item, "cel", inner)
        known = item.get("cel") is not None
        found.append(optional_text(cel, "expression", f"{inner}cel.") or "" if known else None)
    return tuple(found)


def node_selector(document: Document, key: str, within: str) -> NodeSelector | None:
    """Read a node selector, None where it is absent."""
    if document.get(key) is None:
        return None
    selector = mapping(document, key, within)
    within = f"{within}{key}."
    return NodeSelector(
        tuple(
            NodeSelectorTerm(
                _requirements(term, "matchExpressions", f"{within}nodeSelectorTerms[{index}]."),
                _requirements(term, "matchFields", f"{within}nodeSelectorTerms[{index}]."),
            )
            for index, term in enumerate(items(selector, "nodeSelectorTerms", within))
        )
    )


def _requirements(term: Document, key: str, within: str) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            optional_text(item, "key", f"{within}{key}[{index}].") or "",
            optional_text(item, "operator", f"{within}{key}[{index}].") or "",
            texts(item, "values", f"{within}{key}[{index}]."),
        )
        for index, item in enumerate(items(term, key, within))
    )


def integer(document: Document, key: str, within: str) -> int:
    """Read an integer; absent is 0."""
    found = document.get(key)
    if found is None:
        return 0
    if type(found) is int and -_INT64 <= found < _INT64:
        return found
    raise MalformedObjectError(
        f"{within}{key}: expected an integer of 64 bits, found {_kind(found)}"
    )


def flag(document: Document, key: str, within: str) -> bool | None:
    """Read a boolean, None where it is absent."""
    found = document.get(key)
    if found is None or type(found) is bool:
        return found
    raise MalformedObjectError(f"{within}{key}: expected true or false, found {_kind(found)}")


def instant(document: Document, key: str, within: str) -> datetime | None:
    """Read a time of RFC 3339, None where it is absent."""
    found = optional_text(document, key, within)
    if found is None:
        return None
    try:
        read = datetime.fromisoformat(found)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise MalformedObjectError(f"{within}{key}: expected a time of RFC 3339 with its zone")
    return read


def strings(document: Document, key: str, within: str) -> Mapping[str, str]:
    """Read an object whose values are strings."""
    found = mapping(document, key, within)
    for name, value in found.items():
        if not isinstance(value, str):
            raise MalformedObjectError(
                f"{within}{key}.{name}: expected a string, found {_kind(value)}"
            )
    return found


def quantity(document: Document, key: str, within: str) -> Amount | None:
    """Read a quantity, None where it is absent."""
    found = document.get(key)
    return None if found is None else read_quantity(found, within + key)


def read_quantity(found: Any, path: str) -> Amount:
    """Read a quantity that stands at a path."""
    # The API takes numbers as well.
    if type(found) is not str and type(found) is not int:
        raise MalformedObjectError(f"{path}: expected a quantity, found {_kind(found)}")
    try:
        return amount(str(found))
    except (AmountError, ValueError) as error:
        raise MalformedObjectError(f"{path}: {error}") from None


def _kind(found: object) -> str:
    return type(found).__name__
