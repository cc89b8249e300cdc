"""JSON files with positions: a small strict parser, since Python's own tells no lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dragoman.driverconfigs.manifests.documents import Building, Document, Steps, Unreadable
from dragoman.driverconfigs.strictjson import Beyond

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
        Unreadable: no JSON.
    """
    reader = _Reader(text)
    while reader.next() != "end":
        building = Building()
        yield Document(reader.build((), building, reader.line), building.lines)


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
            raise Unreadable("no JSON", 1 + self.text.count("\n", 0, self.position))
        kind = str(match.lastgroup)
        start = match.start(kind)
        self.line += self.text.count("\n", self._counted, start)
        self._counted, self.position = start, match.end()
        self.token = match[kind]
        self.kind = self.token if kind == "sign" else kind
        return self.kind

    def build(self, steps: Steps, building: Building, line: int) -> Any:
        """Build the value that begins with the current token."""
        building.value(steps, line)
        match self.kind:
            case "{":
                return building.mapping(list(self.pairs(steps, building)))
            case "[":
                return list(self.items(steps, building))
            case "string":
                return self.string()
            case "number":
                return self.number()
            case "word":
                return _WORDS[self.token]
            case _:
                raise self.unexpected()

    def pairs(self, steps: Steps, building: Building) -> Iterator[tuple[str, Any]]:
        if self.next() == "}":
            return
        while True:
            self.want("string")
            name, line = self.string(), self.line
            self.next()
            self.want(":")
            self.next()
            yield name, self.build((*steps, name), building, line)
            if self.next() == "}":
                return
            self.want(",")
            self.next()

    def items(self, steps: Steps, building: Building) -> Iterator[Any]:
        index = 0
        if self.next() == "]":
            return
        while True:
            yield self.build((*steps, index), building, self.line)
            index += 1
            if self.next() == "]":
                return
            self.want(",")
            self.next()

    def string(self) -> str:
        # Lone surrogates can be written in JSON, and no encoding can carry them.
        return str(json.loads(self.token)).encode("utf-8", "replace").decode()

    def number(self) -> int | float | Beyond:
        if len(self.token) <= 64 and not any(sign in self.token for sign in ".eE"):
            return int(self.token)
        number = float(self.token)
        return Beyond(self.token) if abs(number) == float("inf") else number

    def want(self, kind: str) -> None:
        if self.kind != kind:
            raise self.unexpected()

    def unexpected(self) -> Unreadable:
        what = "the end" if self.kind == "end" else f"{self.token[:20]!r}"
        return Unreadable(f"no JSON: unexpected {what}", self.line)
