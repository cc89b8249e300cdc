"""Changes to one document that keep comments and order: values, applied by `fixes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Set:
    """Give a field another value."""

    steps: Steps
    value: Any


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a field another name."""

    steps: Steps
    name: str


@dataclass(frozen=True, slots=True)
class Nest:
    """Move fields of the mapping at `steps` into a new mapping `name` in the place of the first."""

    steps: Steps
    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lift:
    """Replace the mapping at `steps` by its fields, in the mapping that holds it."""

    steps: Steps


Edit = Set | Rename | Nest | Lift
