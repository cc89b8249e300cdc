"""YAML as kubectl reads it: YAML 1.1 with Go's idea of numbers.

`yes` and `y` are booleans, also as keys; `010` is eight; `1e1` is a number and `1:30` is none; keys
become strings. Unlike kubectl, `1.0` stays different from `1`, and repeated keys are seen.
"""

import base64
import binascii
import itertools
import re
from collections.abc import Iterator
from typing import Any

import yaml

from dragoman_base.files import UnreadableError
from dragoman_base.files.unreadable import MAX_DOCUMENT_DEPTH, DuplicateKeys

INVALID = "invalid YAML"
MAX_VALUES = 100_000
"""Values of one document with aliases and merge keys written out: few bytes can be billions."""
MAX_TEXT_VALUES = 1_000_000
"""Values of all documents of a text: each costs time."""
MAX_DOCUMENTS = 50_000
"""Documents of a text, empty ones too."""

_PLAIN = "tag:dragoman.dev,plain"
_CORE = "tag:yaml.org,2002:"
_STRING = f"{_CORE}str"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{w: True for word in ("y", "yes", "true", "on") for w in (word, word.title(), word.upper())},
    **{
        w: False for word in ("n", "no", "false", "off") for w in (word, word.title(), word.upper())
    },
}
_NUMERIC = frozenset("+-.0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([0-9]+))", re.ASCII
)
_BASES = (16, 2, 8, 10)
_SAFE_DEPTH = 500
_LEAVES = (yaml.ScalarEvent, yaml.AliasEvent)
_STARTS = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_ENDS = (yaml.SequenceEndEvent, yaml.MappingEndEvent)
_PREFIX = re.compile(r"^[ ?:-]{64,}", re.MULTILINE)
_BRACKET = re.compile(r"[\[\]{}]")
_LONG_TAG = re.compile(r"^\ufeff*%TAG[ \t][^\r\n]{256}|[\r\x85\u2028\u2029]%TAG[ \t]", re.MULTILINE)
"""A prefix that each tag would repeat, or one where only YAML sees a line."""


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # In C, it is ten times as fast.


class Loader(_SafeLoader):  # type: ignore[misc]
    """Leaves plain scalars unresolved, so that kubectl's rules can be applied to them."""

    def resolve(self, kind: type[Any], _value: Any, implicit: Any) -> Any:
        """Return the tag of a node without one."""
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _STRING
        return f"{_CORE}seq" if kind is yaml.SequenceNode else f"{_CORE}map"


class _Redefining(yaml.SafeLoader):
    """Lets an anchor be defined again, as Go does; much slower than `Loader`, which refuses it."""

    resolve = Loader.resolve

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, whose anchor may be one of a former node."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(event.anchor, None)
        return super().compose_node(parent, index)


def own(text: str | bytes) -> Any:
    """Read one document that dragoman itself ships, by PyYAML's rules and without limits."""
    return yaml.load(text, _SafeLoader)  # noqa: S506


def nodes(text: str) -> Iterator[Any]:
    """Yield the root node of each document; None for an empty one.

    Raises:
        yaml.YAMLError: Invalid YAML.
    """
    done = 0
    try:
        for node in yaml.compose_all(text, Loader=Loader):
            yield node
            done += 1
    except yaml.composer.ComposerError as error:
        if error.problem != "second occurrence" or len(text) > MAX_VALUES:
            raise
        yield from itertools.islice(yaml.compose_all(text, Loader=_Redefining), done, None)


def read(text: str) -> Iterator[tuple[Any, int, int, int]]:
    """Yield tree, offset of the first line, its number from 0, and end offset of each document.

    Raises:
        UnreadableError: Invalid YAML, a key that is no scalar, a number that JSON cannot hold.
    """
    if _LONG_TAG.search(text):
        raise UnreadableError("a %TAG directive is too long")
    try:
        if len(text) > MAX_VALUES or _may_be_deep(text):
            _refuse_large(text)
        for node in nodes(text):
            if node is None:
                continue
            tree = _DocumentBuilder().build(node, 0)
            if tree is not None:
                first, last = node.start_mark, node.end_mark
                start = text.rfind("\n", 0, first.index) + 1
                yield tree, start, first.line, last.index
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise UnreadableError(f"{INVALID}: {error.problem or error.context}", *where) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        raise UnreadableError(f"{INVALID}: {error.reason}", line, 1) from None
    except RecursionError:
        raise UnreadableError("nested too deeply", 1, 1) from None


def _may_be_deep(text: str) -> bool:
    """Estimate from brackets and indentation whether composing could exhaust the C stack.

    The composer of libyaml's binding recurses in C, without Python's limit.
    """
    if any(len(prefix) > _SAFE_DEPTH for prefix in _PREFIX.findall(text)):
        return True
    if text.count("[") + text.count("{") <= _SAFE_DEPTH:
        return False
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth > _SAFE_DEPTH:
            return True
    return False


def _refuse_large(text: str) -> None:
    """Count depth and values event by event, which needs neither stack nor memory.

    Raises:
        UnreadableError: Beyond a limit; as nodes, the values of a text take hundreds of times its
            size.
    """
    depth = values = before = documents = 0
    for event in yaml.parse(text, Loader=Loader):
        kind = type(event)
        if kind in _LEAVES:
            values += 1
        elif kind in _STARTS:
            depth += 1
            values += 1
        elif kind in _ENDS:
            depth -= 1
        elif kind is yaml.DocumentStartEvent:
            before, values, documents = before + values, 0, documents + 1
            if documents > MAX_DOCUMENTS:
                raise _fault(f"more than {MAX_DOCUMENTS} documents", event)
        if depth > MAX_DOCUMENT_DEPTH:
            raise _fault(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", event)
        if values > 2 * MAX_VALUES:  # keys are no values, and each value has at most one
            raise _fault(f"more than {MAX_VALUES} values in one document", event)
        if before + values > 2 * MAX_TEXT_VALUES:
            raise _fault(f"more than {MAX_TEXT_VALUES} values in one text", event)


def _fault(reason: str, node: Any) -> UnreadableError:
    return UnreadableError(reason, node.start_mark.line + 1, node.start_mark.column + 1)


class _DocumentBuilder:
    """One document being built; counts its values."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = 0

    def _count(self, node: Any, values: int = 1) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            raise _fault(f"more than {MAX_VALUES} values in one document", node)

    def build(self, node: Any, depth: int) -> Any:
        self._count(node)
        if type(node) is yaml.ScalarNode:
            return node.value if node.tag == _STRING else _scalar(node)
        if depth >= MAX_DOCUMENT_DEPTH:
            raise _fault(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", node)
        if isinstance(node, yaml.MappingNode):
            pairs = self.pairs(node, depth + 1)
            members = dict(pairs)
            return members if len(members) == len(pairs) else DuplicateKeys(pairs)
        return [self.build(item, depth + 1) for item in node.value]

    def pairs(self, node: Any, depth: int) -> list[tuple[str, Any]]:
        if depth >= MAX_DOCUMENT_DEPTH:
            raise _fault(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels", node)
        pairs: list[tuple[str, Any]] = []
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.value == "<<" and key_node.tag == _PLAIN:
                for source in _merge_sources(value_node):
                    # A merge costs as much as what it copies, also where that is nothing.
                    found = self.pairs(source, depth + 1)
                    self._count(source, 1 + len(found))
                    for name, value in found:
                        merged.setdefault(name, value)
                continue
            pairs.append((_key(key_node), self.build(value_node, depth)))
        if not merged:
            return pairs
        own = {name for name, _ in pairs}
        return [(name, value) for name, value in merged.items() if name not in own] + pairs


def _merge_sources(node: Any) -> list[Any]:
    sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not all(isinstance(source, yaml.MappingNode) for source in sources):
        raise _fault("a merge key wants mappings", node)
    return list(sources)


def _key(node: Any) -> str:
    if type(node) is not yaml.ScalarNode:
        raise _fault("a key must be a scalar", node)
    key = node.value if node.tag == _STRING else _scalar(node)
    if type(key) is str:
        return key
    if key is None:
        raise _fault("a key must not be null", node)
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def _scalar(node: Any) -> Any:
    text, tag = node.value, node.tag
    if tag == _PLAIN:
        if text in _WORDS:
            return _WORDS[text]
        return _number(node, text) if text[0] in _NUMERIC else text
    tag = tag.removeprefix(_CORE)
    if tag in ("null", "bool", "int", "float"):
        value = _WORDS[text] if text in _WORDS else _number(node, text)
        return float(value) if tag == "float" and isinstance(value, int) else value
    return _binary(node) if tag == "binary" else text


def _number(node: Any, text: str) -> Any:
    if text.lstrip("+-").lower() in (".inf", ".nan"):
        raise _fault(f"JSON has no number {text}", node)
    digits = text.replace("_", "")
    integer = _INTEGER.fullmatch(digits) if len(digits) <= 64 else None
    if integer:
        sign, *forms = integer.groups()
        base, found = next(
            (base, form) for base, form in zip(_BASES, forms, strict=True) if form is not None
        )
        return int(f"{sign}{found}", base)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        # Go takes a number beyond a double for a string.
        return number if abs(number) != float("inf") else text
    return text


def _binary(node: Any) -> str:
    try:
        return base64.b64decode(node.value).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise _fault("!!binary wants base64", node) from None
