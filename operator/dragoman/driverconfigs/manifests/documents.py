"""Documents from text files: JSON trees together with the line of every value.

Numbers keep their literal form and repeated keys are seen, as in `parameters`, the way of requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from dragoman.driverconfigs import fielderrors
from dragoman.driverconfigs.strictjson import MAX_DOCUMENT_DEPTH, Malformed, Repeated

MAX_VALUES: Final = 100_000
"""Values of one file, aliases written out: a few bytes of YAML can stand for billions of them."""

Steps = tuple[str | int, ...]


class Unreadable(Malformed):
    """A text that is neither YAML nor JSON.

    Attributes:
        line: 1-based line where reading ended.
    """

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    Attributes:
        tree: the JSON value.
        lines: 1-based line by place; see `line_of`.
    """

    tree: Any
    lines: dict[str, int]

    def line_of(self, path: str) -> int:
        """Find the line of a path such as `spec.devices.config[0]`, or of what is nearest above."""
        place = _place(path)
        while place and place not in self.lines:
            place = place.rpartition(".")[0]
        return self.lines.get(place, 1)


@dataclass(slots=True)
class Building:
    """One document being built; counts what it holds.

    Attributes:
        lines: as in `Document`.
        values: values so far.
    """

    lines: dict[str, int] = field(default_factory=dict)
    values: int = 0

    def value(self, steps: Steps, line: int) -> None:
        """Note a value before it is built.

        Raises:
            Unreadable: too many or too deeply nested values.
        """
        self.values += 1
        if self.values > MAX_VALUES:
            raise Unreadable(f"more than {MAX_VALUES} values", line)
        if len(steps) >= MAX_DOCUMENT_DEPTH:
            raise Unreadable(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", line)
        # The first one counts where a key is repeated or reached by an alias again.
        self.lines.setdefault(_place(fielderrors.render(steps)), line)

    def mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make an object, one that remembers repeated keys if there are any."""
        members = dict(pairs)
        return members if len(members) == len(pairs) else Repeated(pairs)


def _place(path: str) -> str:
    """Write a path so that `labels[app]` and `labels.app` are the same."""
    return re.sub(r"[\[\].]+", ".", path).strip(".")
