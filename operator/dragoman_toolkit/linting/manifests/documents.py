"""Texts of manifests: documents with JSON trees; positions are found when a finding needs one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from dragoman_base.files import UnreadableError, yamltext
from dragoman_base.files.documents import parts

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")

Steps = tuple[str | int, ...]

__all__ = ["ManifestDocument", "Position", "UnreadableError", "read"]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file; both numbers from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One document of a text."""

    tree: Any  # The JSON value
    text: str  # The text from the document's first line to its end
    line: int  # Number of this first line in the file, from 0
    start: int  # Offset of this first line in the file
    head: str = ""  # The comments above it, back to the document before
    _found: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def has(self, words: str) -> bool:
        """Tell whether a string occurs; looked for once, as a list may have many objects."""
        if words not in self._found:
            self._found[words] = words in self.text or words in self.head
        return self._found[words]

    def nodes(self) -> Any:
        """Return the root of the nodes with their marks; None where they cannot be built again."""
        # A JSON escape of half a character is none in YAML; another of the same length is.
        text = _SURROGATE.sub(r"\\u0041", self.text)
        try:
            return next(yamltext.nodes(text), None)
        except (yaml.YAMLError, RecursionError):
            return None


class Positions:
    """Finds where the values of one document stand."""

    __slots__ = ("_document", "_nodes")

    def __init__(self, document: ManifestDocument) -> None:
        self._document = document
        self._nodes = DocumentNodes(document.nodes())

    def find(
        self, steps: Steps, *, at_key: bool = True, offset: tuple[int, int] = (0, 0)
    ) -> Position:
        """Return the position of a value or its key, or of what is nearest above it.

        Args:
            steps: Names and indexes from the root of the document.
            at_key: Whether a field's position is that of its name.
            offset: Line and column inside a string, both from 0; only in block scalars (`|`).
        """
        if self._nodes.root is None:
            return Position(self._document.line + 1, 1)
        key, node, _ = self._nodes.nearest(steps)
        mark = (key if at_key else node).start_mark
        line, column = mark.line, mark.column
        if not at_key and getattr(node, "style", None) == "|":
            line, column = _inside(node, self._document.text, offset)
        return Position(self._document.line + line + 1, column + 1)


def _inside(node: Any, text: str, offset: tuple[int, int]) -> tuple[int, int]:
    """Place an offset inside a literal block scalar; its first line follows the indicator."""
    line = node.start_mark.line + 1 + offset[0]
    lines = text.split("\n", line + 1)
    written = lines[line] if line < len(lines) else ""
    first = lines[node.start_mark.line + 1] if node.start_mark.line + 1 < len(lines) else written
    indent = len(first) - len(first.lstrip(" "))
    return line, indent + offset[1]


class DocumentNodes:
    """The nodes of one document, found by path; each mapping is indexed once.

    Args:
        root: Of the document; None finds nothing.
    """

    __slots__ = ("_indexes", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self._indexes: dict[int, dict[str, tuple[Any, Any]]] = {}

    def nearest(self, steps: Steps) -> tuple[Any, Any, int]:
        """Return key and value of a path, or of what is nearest above it, and the steps taken."""
        node = key = self.root
        for taken, step in enumerate(steps):
            found = self.child(node, step)
            if found is None:
                return key, node, taken
            key, node = found
        return key, node, len(steps)

    def child(self, node: Any, step: str | int) -> tuple[Any, Any] | None:
        """Return key and value of a field or an entry; None where there is none."""
        if isinstance(node, yaml.SequenceNode):
            index = step if isinstance(step, int) else int(step) if step.isdigit() else -1
            return (node.value[index],) * 2 if 0 <= index < len(node.value) else None
        return self._index(node).get(str(step)) if isinstance(node, yaml.MappingNode) else None

    def _index(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """Return the fields of a mapping by name, its own before those that it merges."""
        found = self._indexes.get(id(node))
        if found is None:
            # It is there before it is filled: a merge of itself finds nothing.
            found = self._indexes[id(node)] = {}
            for key, value in node.value:
                found.setdefault(key.value, (key, value))
            for value in [value for key, value in node.value if key.value == "<<"]:
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(source, yaml.MappingNode):
                        for name, pair in self._index(source).items():
                            found.setdefault(name, pair)
        return found


def steps_of(path: str) -> Steps:
    """Split a path such as `spec.config[0].parameters[a.b]` into its steps."""
    return tuple(
        name or (int(index) if index.isdigit() else index) for name, index in _STEP.findall(path)
    )


def read(text: str) -> Iterator[ManifestDocument]:
    """Yield the documents of a text, YAML or JSON; empty ones are left out.

    Raises:
        UnreadableError: It is neither, or too large to be a manifest.
    """
    for part in parts(text):
        yield ManifestDocument(*part)
