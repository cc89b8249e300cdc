"""Edits as changes of a text: what they do not name keeps every letter, in YAML and in JSON.

Each edit becomes one span of the text and what stands there afterwards. No field is rewritten:
fields move as the lines, or parts of lines, that hold them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import yaml

from dragoman_toolkit.linting.findings.edits import (
    Append,
    Edit,
    Fields,
    Lift,
    Nest,
    Rename,
    Set,
    Splice,
)
from dragoman_toolkit.linting.manifests.documents import DocumentNodes

Steps = tuple[str | int, ...]
Span = tuple[int, int, str]
"""Start and end in the text, and what replaces it."""

_SAFE = re.compile(r"[A-Za-z][A-Za-z0-9./-]*", re.ASCII)
_BLANKS = re.compile(r"[ \t]*")
_TIGHT = re.compile(r":\S")
_ALIAS = re.compile(r"[ \t]*:[ \t]+\*[^\s,\[\]{}]+")


class NotInPlaceError(Exception):
    """A text whose form does not allow an edit; the words say why."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """One document as text and nodes."""

    text: str  # Of the document
    nodes: DocumentNodes  # Of the text, with their marks

    def spans(self, edit: Edit) -> Iterator[Span]:
        """Yield what an edit replaces, in the order of the text.

        Raises:
            NotInPlaceError: The form of the text does not allow it.
        """
        key, node, taken = self.nodes.nearest(edit.steps)
        if taken < len(edit.steps):
            raise NotInPlaceError("a merge key or an alias holds the field")
        if isinstance(edit, Nest) and not set(edit.keys) <= {one.value for one, _ in node.value}:
            raise NotInPlaceError("a merge key or an alias holds the field")
        match edit:
            case Set():
                yield self._set(node, edit.value)
            case Rename():
                yield self._set(key, edit.name)
            case Splice():
                yield self._splice(node, edit)
            case Nest() if node.flow_style:
                yield self._nest_flow(node, edit)
            case Nest():
                yield self._nest_block(node, edit)
            case Lift():
                holder = self.nodes.nearest(edit.steps[:-1])[1]
                yield self._lift(holder, key, node)
            case Fields() | Append():
                yield from self._changed(key, node, edit)

    # Fields and entries that come and go.

    def _changed(self, key: Any, node: Any, edit: Fields | Append) -> Iterator[Span]:
        listed = isinstance(edit, Append)
        if not isinstance(node, yaml.SequenceNode if listed else yaml.MappingNode):
            raise NotInPlaceError("the value has another form")
        if node is not key and node.start_mark.index < key.end_mark.index:
            raise NotInPlaceError("an alias holds the value")
        entries = [one if isinstance(one, tuple) else (one, one) for one in node.value]
        gone = [isinstance(edit, Fields) and one.value in edit.remove for one, _ in entries]
        if isinstance(edit, Fields) and sum(gone) < len(edit.remove):
            raise NotInPlaceError("a merge key or an alias holds the field")
        if node.flow_style or not entries:
            yield from self._changed_flow(node, entries, gone, edit)
        else:
            yield from self._changed_block(node, entries, gone, edit)

    def _changed_flow(
        self, node: Any, entries: list[tuple[Any, Any]], gone: list[bool], edit: Fields | Append
    ) -> Iterator[Span]:
        quoted = self.text.lstrip()[:1] in ("{", "[")
        added = ", ".join(_written(edit, quoted=quoted))
        places = [
            (
                key.start_mark.index,
                self._end_of(value, key.end_mark.index if value is not key else 0),
            )
            for key, value in entries
        ]
        if all(gone):
            end = places[-1][1] if places else node.start_mark.index + 1
            yield places[0][0] if places else end, end, added
            return
        last = max(index for index, one in enumerate(gone) if not one)
        for index, (start, _) in enumerate(places):
            if gone[index] and index < last:
                yield start, places[index + 1][0], ""
        rest = places[-1][1]
        if last < len(places) - 1 or added:
            yield places[last][1], rest, f", {added}" if added else ""

    def _changed_block(
        self, node: Any, entries: list[tuple[Any, Any]], gone: list[bool], edit: Fields | Append
    ) -> Iterator[Span]:
        listed = isinstance(edit, Append)
        column = (node if listed else entries[0][0]).start_mark.column
        for (key, value), one in zip(entries, gone, strict=True):
            if one:
                start = self._line_start(key.start_mark.index)
                if self.text[start : key.start_mark.index].strip():
                    raise NotInPlaceError("the field follows a dash")
                yield start, self._line_end(self._end_of(value, key.end_mark.index)), ""
        lines = [f"{' ' * column}{'- ' if listed else ''}{one}" for one in _written(edit)]
        if lines:
            end = self._line_end(self._end_of(node, 0))
            head = "" if self.text[:end].endswith("\n") else self._break
            tail = "" if head else self._break
            yield end, end, head + self._break.join(lines) + tail

    def _set(self, node: Any, value: str) -> Span:
        if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
            raise NotInPlaceError("the value is no scalar on one line")
        quote = node.style or ("" if _SAFE.fullmatch(value) else "'")
        return node.start_mark.index, node.end_mark.index, f"{quote}{value}{quote}"

    def _splice(self, node: Any, edit: Splice) -> Span:
        """Return where a part of a string stands in the text, and the new one in its style."""
        if not isinstance(node, yaml.ScalarNode):
            raise NotInPlaceError("the value is no string")
        places = _places(self.text, node)
        if places is None or not 0 <= edit.start <= edit.end < len(places):
            raise NotInPlaceError("the form of the string does not allow it")
        written = edit.text
        if node.style == '"':
            written = json.dumps(written, ensure_ascii=False)[1:-1]
        elif node.style == "'":
            written = written.replace("'", "''")
        return places[edit.start], places[edit.end], written

    # Block style: whole lines move.

    def _nest_block(self, node: Any, edit: Nest) -> Span:
        """Write `name:` above the lines of some fields, and these lines deeper."""
        column = node.value[0][0].start_mark.column
        start, lines = self._regions(node, column)
        inner = [_shifted(lines[key], 2) for key in lines if key in edit.keys]
        header = f"{' ' * column}{edit.name}:{self._break}"
        written: list[str] = []
        for key, region in lines.items():
            if key not in edit.keys:
                written.append(region)
            elif inner:
                written += [header, *inner]
                inner = []
        return self._composed(start, self._line_end(self._end_of(node, 0)), column, written)

    def _lift(self, holder: Any, key: Any, node: Any) -> Span:
        if not isinstance(node, yaml.MappingNode) or node.start_mark.index < key.end_mark.index:
            raise NotInPlaceError("the mapping is written elsewhere")
        if not node.value:
            raise NotInPlaceError("the mapping is empty")
        if node.flow_style:
            return self._lift_flow(holder, key, node)
        column, deeper = key.start_mark.column, node.value[0][0].start_mark.column
        first = self._line_end(key.end_mark.index)
        end = self._line_end(self._end_of(node, 0))
        _, hash_, comment = self.text[key.end_mark.index : first].partition("#")
        written = [f"{' ' * column}#{comment}"] if hash_ else []
        written.append(_shifted(self.text[first:end], column - deeper))
        return self._composed(key.start_mark.index, end, column, written)

    def _regions(self, node: Any, column: int) -> tuple[int, dict[str, str]]:
        """Return where a block mapping starts, and the lines of each field with comments above."""
        start = at = node.value[0][0].start_mark.index
        found: dict[str, str] = {}
        for key, value in node.value:
            end = self._line_end(self._end_of(value, key.end_mark.index))
            # The first name may follow `- ` on its line.
            indent = " " * column if at == start else ""
            found[key.value] = indent + self.text[at:end]
            at = end
        if len(found) != len(node.value):
            raise NotInPlaceError("a key occurs twice")
        return start, found

    def _composed(self, start: int, end: int, column: int, written: list[str]) -> Span:
        lines = "".join(one if one.endswith("\n") else one + self._break for one in written)
        if not self.text[start:end].endswith("\n"):
            lines = lines.removesuffix("\n").removesuffix("\r")
        return start, end, lines[column:]

    # Flow style and JSON: parts of lines move.

    def _nest_flow(self, node: Any, edit: Nest) -> Span:
        pairs = [(key, self._end_of(value, key.end_mark.index)) for key, value in node.value]
        moved = [index for index, (key, _) in enumerate(pairs) if key.value in edit.keys]
        start, end = pairs[moved[0]][0].start_mark.index, pairs[moved[-1]][1]
        quote = '"' if pairs[0][0].style == '"' else ""
        tight = _TIGHT.match(self.text, pairs[0][0].end_mark.index) is not None
        head = f"{quote}{edit.name}{quote}:{'' if tight else ' '}{{"
        if moved == list(range(moved[0], moved[-1] + 1)):
            return start, end, self._wrapped(node, start, end, head)
        first, last = pairs[0][0].start_mark.index, pairs[-1][1]
        if "\n" in self.text[first:last]:
            raise NotInPlaceError("the fields do not stand next to each other")
        texts = [self.text[key.start_mark.index : stop] for key, stop in pairs]
        inside = ", ".join(texts[index] for index in moved)
        outside = [one for index, one in enumerate(texts) if index not in moved]
        outside.insert(moved[0], f"{head}{inside}}}")
        return first, last, ", ".join(outside)

    def _wrapped(self, node: Any, start: int, end: int, head: str) -> str:
        """Put braces around fields; where each has a line of its own, so have the braces."""
        indent = self.text[self._line_start(start) : start]
        if indent.strip():
            return f"{head}{self.text[start:end]}}}"
        outer = _BLANKS.match(self.text, self._line_start(node.start_mark.index))
        unit = indent[outer.end() - outer.start() if outer else 0 :] or "  "
        body = self.text[start:end].replace("\n", f"\n{unit}")
        return f"{head}{self._break}{indent}{unit}{body}{self._break}{indent}}}"

    def _lift_flow(self, holder: Any, key: Any, node: Any) -> Span:
        start, end = key.start_mark.index, node.end_mark.index
        pairs = [
            (one.start_mark.index, self._end_of(value, one.end_mark.index))
            for one, value in node.value
        ]
        if holder.flow_style:
            inner = self.text[pairs[0][0] : pairs[-1][1]]
            extra = node.value[0][0].start_mark.column - key.start_mark.column
            if extra > 0 and "\n" in inner:
                first, _, rest = inner.partition("\n")
                inner = f"{first}\n{_shifted(rest, -extra)}"
            return start, end, inner
        if "#" in "".join(self.text[one[1] : two[0]] for one, two in pairwise(pairs)):
            raise NotInPlaceError("comments stand between the fields")
        indent = f"{self._break}{' ' * key.start_mark.column}"
        return start, end, indent.join(self.text[first:last] for first, last in pairs)

    # Places.

    @property
    def _break(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _end_of(self, node: Any, after: int) -> int:
        """Return where a value ends, without blank lines and comments behind it.

        Args:
            node: The value.
            after: End of its key; the node of an alias stands before it.
        """
        if node.start_mark.index < after:
            match = _ALIAS.match(self.text, after)
            if match is None:
                raise NotInPlaceError("an alias holds the value")
            return match.end()
        if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
            if isinstance(node, yaml.MappingNode):
                key, value = node.value[-1]
                return self._end_of(value, key.end_mark.index)
            return self._end_of(node.value[-1], node.start_mark.index)
        end: int = node.end_mark.index
        while end and self.text[end - 1].isspace():
            end -= 1
        return end

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def _places(text: str, node: Any) -> list[int] | None:
    """Return where each character of a scalar stands in the text, and where the scalar ends.

    The result of an edit is read again, so that a wrong place changes nothing.
    """
    at, end = node.start_mark.index, node.end_mark.index
    block = node.style in ("|", ">")
    if block:
        at = text.find("\n", at) + 1 or end
        at += len(text[at:end]) - len(text[at:end].lstrip(" "))
    elif node.style:
        at, end = at + 1, end - 1
    places: list[int] = []
    for char in node.value:
        while at < end and not _is(char, text, at):
            # Indentation, a break that was folded, a backslash, or the first of two quotes
            if text[at] not in " \n\r\t\\'":
                return None
            at += 1
        if at >= end and char != "\n":
            return None
        places.append(at)
        at += 2 if node.style == "'" and text.startswith("''", at) else 1
        if char in "\n " and text[at - 1 : at] == "\n":
            # The next line begins behind its indentation.
            at += len(text[at:end]) - len(text[at:end].lstrip(" "))
    places.append(min(at, end))
    return places


def _written(edit: Fields | Append, *, quoted: bool = False) -> list[str]:
    """Return what an edit adds, in flow style.

    Args:
        edit: What is added.
        quoted: Whether it is written as JSON.
    """
    if isinstance(edit, Append):
        return [_flow(edit.value, quoted=quoted)]
    quote = '"' if quoted else ""
    return [f"{quote}{name}{quote}: {_flow(value, quoted=quoted)}" for name, value in edit.add]


def _flow(value: Any, *, quoted: bool) -> str:
    if quoted:
        return json.dumps(value)
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1 << 20)
    return text.removesuffix("...\n").strip()


def _is(char: str, text: str, at: int) -> bool:
    return text[at] == char or (char == " " and text[at] == "\n")


def _shifted(lines: str, by: int) -> str:
    """Indent lines by more or fewer columns; blank ones stay."""
    if by >= 0:
        return re.sub(r"(?m)^(?=[^\r\n])", " " * by, lines)
    return re.sub(rf"(?m)^[ \t]{{1,{-by}}}", "", lines)
