"""Objects with a planted name in every string of a schema, to see which of them leave a program."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Resolve = Callable[[Mapping[str, Any]], Mapping[str, Any]]
MARK = re.compile(r"planted-[0-9]+-[a-z]+")
_DEEP = 14


@dataclass
class Plants:
    """Plants names.

    Attributes:
        resolve: Follows the references of a schema.
        keep: Paths whose strings are facts of drivers, which stay on purpose.
        paths: Where each name was planted.
        kept: How many facts there are.
    """

    resolve: Resolve
    keep: re.Pattern[str]
    paths: dict[str, str] = field(default_factory=dict)
    kept: int = 0

    def grow(self, schema: Mapping[str, Any], path: str) -> Any:
        """Return a value with every field of a schema."""
        schema = self.resolve(schema)
        kind = schema.get("type")
        if "enum" in schema:
            return next(one for one in schema["enum"] if one)
        if schema.get("format") == "date-time":
            return "2026-11-22T11:00:00Z"
        if schema.get("format") == "quantity":
            return "1"
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return 1
        if kind == "array":
            items = schema.get("items", {})
            return [self.grow(items, f"{path}[]") for _ in range(2)]
        if "properties" in schema:
            return {
                key: self.grow(inner, f"{path}.{key}")
                for key, inner in schema["properties"].items()
                if path.count(".") < _DEEP
            }
        if kind == "object":
            inner = schema.get("additionalProperties", {"type": "string"})
            return {self.name(f"{path}.(key)"): self.grow(inner, f"{path}.*") for _ in range(2)}
        return self.name(path)

    def along(self, tree: Any, path: str) -> Any:
        """Return a value with every field of a tree of kept fields, and shapes below its ends."""
        if isinstance(tree, Mapping):
            return {key: self.along(inner, f"{path}.{key}") for key, inner in tree.items()}
        if isinstance(tree, list):
            return [self.along(tree[0], f"{path}[]") for _ in range(2)]
        names = ("name", "key", "value", "values", "driver", "matchLabels", "nodeSelectorTerms")
        return [
            self.name(path),
            [self.name(path), {key: self.name(f"{path}.{key}") for key in names}],
            {self.name(path): self.name(path), **{key: [self.name(path)] for key in names}},
        ]

    def name(self, path: str) -> str:
        """Return another name; one that stays by the page does not count."""
        if path.endswith(".expression"):
            return f"device.driver == 'd' // {self._mark(path)}"
        if self.keep.search(path):
            self.kept += 1
            return f"fact-{self.kept}"
        return self._mark(path)

    def _mark(self, path: str) -> str:
        number = len(self.paths)
        mark = f"planted-{number}-z"
        self.paths[mark] = path
        return mark

    def left(self, text: str) -> Iterator[str]:
        """Yield where the names were planted that a text still has."""
        for mark in sorted(set(MARK.findall(text))):
            yield f"{mark}: {self.paths[mark]}"


FACTS = re.compile(
    r"ResourceSlice\.spec\.(driver$|partitionTypeAttribute|skipNodeOperations|sharedCounters)"
    r"|ResourceSlice\.spec\.devices\[\](\.basic)?\."
    r"(name|attributes|capacity|consumesCounters|nodeAllocatableResourceMappings)"
    r"|(results\[\]|status\.devices\[\])\.(driver|device)$"
    r"|DriverConfigSchema\.spec\.driver$"
)
"""Strings that drivers publish, which stay in a snapshot without names."""
