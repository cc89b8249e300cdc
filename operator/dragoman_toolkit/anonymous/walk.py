"""Walks an object along the fields that a snapshot without names has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_toolkit.anonymous.treatments import (
    KEY,
    NODE_NAME,
    VALUE,
    NameTreatment,
    Treatment,
    empty,
    words,
)
from dragoman_toolkit.anonymous.vocabulary import HOSTNAME

_OPERATOR = words("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose keys are names."""

    key: Callable[[NameTreatment, Any], Any]  # Treats a key; None leaves the entry out
    value: Tree  # Treats what stands below it


@dataclass(frozen=True, slots=True)
class KeyedValues:
    """A requirement of a node selector, or the labels of a node: a key says what values are."""


Tree = Treatment | Mapping[str, Any] | list[Any] | MapOf | KeyedValues


def treated(names: NameTreatment, value: Any, tree: Tree) -> Any:
    """Return a value as a tree says; one of another shape becomes empty."""
    if callable(tree):
        return tree(names, value)
    if isinstance(tree, list):
        listed = isinstance(value, list)
        return [treated(names, item, tree[0]) for item in value] if listed else empty(value)
    if not isinstance(value, Mapping):
        return empty(value)
    if isinstance(tree, MapOf):
        pairs = ((tree.key(names, key), inner) for key, inner in value.items())
        return {key: treated(names, inner, tree.value) for key, inner in pairs if key is not None}
    if isinstance(tree, KeyedValues):
        return _requirement(names, value)
    return {key: treated(names, value[key], inner) for key, inner in tree.items() if key in value}


def _requirement(names: NameTreatment, value: Mapping[str, Any]) -> dict[str, Any]:
    values = _value_of(value.get("key"))
    return {
        key: treated(names, value[key], inner)
        for key, inner in (("key", KEY), ("operator", _OPERATOR), ("values", [values]))
        if key in value
    }


def _value_of(key: Any) -> Treatment:
    return NODE_NAME if key in (HOSTNAME, "metadata.name") else VALUE


def labels(names: NameTreatment, value: Any) -> Any:
    """Return labels, or a selector of them, as tokens."""
    if not isinstance(value, Mapping):
        return empty(value)
    return {KEY(names, key): _value_of(key)(names, inner) for key, inner in value.items()}
