"""Documents of text files: JSON trees with the line of every value.

Numbers keep their literal form and repeated keys are kept, as in `strictjson` for requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from dragoman.driverconfigs import fielderrors
from dragoman.driverconfigs.strictjson import MAX_DOCUMENT_DEPTH, DuplicateKeys, InvalidJSONError

MAX_VALUES: Final = 100_000
"""Values of one file, aliases expanded: a few bytes of YAML can stand for billions of them."""

Path = tuple[str | int, ...]


class ManifestError(InvalidJSONError):
    """A text that is neither YAML nor JSON.

    Attributes:
        line: 1-based line where parsing stopped.
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
        """Find the line of a path such as `spec.devices.config[0]`, or of its nearest parent."""
        place = _place(path)
        while place and place not in self.lines:
            place = place.rpartition(".")[0]
        return self.lines.get(place, 1)


@dataclass(slots=True)
class DocumentBuilder:
    """Collects the lines of one document and counts its values.

    Attributes:
        lines: as in `Document`.
        values: values so far.
    """

    lines: dict[str, int] = field(default_factory=dict)
    values: int = 0

    def add(self, path: Path, line: int) -> None:
        """Add a value before it is built.

        Raises:
            ManifestError: too many or too deeply nested values.
        """
        self.values += 1
        if self.values > MAX_VALUES:
            raise ManifestError(f"more than {MAX_VALUES} values", line)
        if len(path) >= MAX_DOCUMENT_DEPTH:
            raise ManifestError(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", line)
        # The first line counts where a key is repeated or an alias leads to the value again.
        self.lines.setdefault(_place(fielderrors.render(path)), line)

    def mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make an object, `DuplicateKeys` if keys are repeated."""
        members = dict(pairs)
        return members if len(members) == len(pairs) else DuplicateKeys(pairs)


def _place(path: str) -> str:
    """Write a path so that `labels[app]` and `labels.app` are the same."""
    return re.sub(r"[\[\].]+", ".", path).strip(".")
