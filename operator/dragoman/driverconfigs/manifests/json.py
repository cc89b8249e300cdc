"""JSON files with the line of every value, parsed strictly.

Python's `json` gives no lines. PyYAML's composer does, but it is not exact for JSON: it refuses
surrogate pairs, DEL, keys above 1024 characters and several values after each other, and accepts
`[1,]`, `+1`, `01` and single quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dragoman.driverconfigs.manifests.documents import (
    Document,
    DocumentBuilder,
    ManifestError,
    Path,
)
from dragoman.driverconfigs.strictjson import OutOfRangeNumber

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>true|false|null)
      | (?P<sign>[{}\[\],:])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.ASCII,
)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


def read(text: str) -> Iterator[Document]:
    """Yield the documents of a text of one or several JSON values after each other.

    Raises:
        ManifestError: invalid JSON.
    """
    reader = _Reader(text)
    while reader.next() != "end":
        builder = DocumentBuilder()
        yield Document(reader.build((), builder, reader.line), builder.lines)


@dataclass(slots=True)
class _Reader:
    """A cursor over the tokens of one text."""

    text: str
    position: int = 0
    line: int = 1
    token: str = ""
    kind: str = ""
    _counted: int = field(default=0, repr=False)

    def next(self) -> str:
        """Move to the next token; returns its kind, for signs the sign itself."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise ManifestError("invalid JSON", 1 + self.text.count("\n", 0, self.position))
        kind = str(match.lastgroup)
        start = match.start(kind)
        self.line += self.text.count("\n", self._counted, start)
        self._counted, self.position = start, match.end()
        self.token = match[kind]
        self.kind = self.token if kind == "sign" else kind
        return self.kind

    def build(self, path: Path, builder: DocumentBuilder, line: int) -> Any:
        """Build the value that begins with the current token."""
        builder.add(path, line)
        match self.kind:
            case "{":
                return builder.mapping(list(self.pairs(path, builder)))
            case "[":
                return list(self.items(path, builder))
            case "string":
                return self.string()
            case "number":
                return self.number()
            case "word":
                return _WORDS[self.token]
            case _:
                raise self.unexpected()

    def pairs(self, path: Path, builder: DocumentBuilder) -> Iterator[tuple[str, Any]]:
        if self.next() == "}":
            return
        while True:
            self.want("string")
            name, line = self.string(), self.line
            self.next()
            self.want(":")
            self.next()
            yield name, self.build((*path, name), builder, line)
            if self.next() == "}":
                return
            self.want(",")
            self.next()

    def items(self, path: Path, builder: DocumentBuilder) -> Iterator[Any]:
        index = 0
        if self.next() == "]":
            return
        while True:
            yield self.build((*path, index), builder, self.line)
            index += 1
            if self.next() == "]":
                return
            self.want(",")
            self.next()

    def string(self) -> str:
        # JSON can spell lone surrogates, which have no encoding.
        return str(json.loads(self.token)).encode("utf-8", "replace").decode()

    def number(self) -> int | float | OutOfRangeNumber:
        if len(self.token) <= 64 and not any(sign in self.token for sign in ".eE"):
            return int(self.token)
        number = float(self.token)
        return OutOfRangeNumber(self.token) if abs(number) == float("inf") else number

    def want(self, kind: str) -> None:
        if self.kind != kind:
            raise self.unexpected()

    def unexpected(self) -> ManifestError:
        what = "the end" if self.kind == "end" else f"{self.token[:20]!r}"
        return ManifestError(f"invalid JSON: unexpected {what}", self.line)
