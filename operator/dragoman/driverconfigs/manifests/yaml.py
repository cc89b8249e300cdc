"""YAML as kubectl reads it: YAML 1.1 with Go's syntax of numbers.

`yes` and `y` are booleans, also as keys; `010` is eight; `1e1` is a number and `1:30` a string;
keys become strings. Unlike in kubectl, `1.0` differs from `1` and repeated keys are kept.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from dragoman.driverconfigs.manifests.documents import (
    Document,
    DocumentBuilder,
    ManifestError,
    Path,
)

_PLAIN: Final = "tag:dragoman.dev,plain"
_CORE: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{w: True for word in ("y", "yes", "true", "on") for w in (word, word.title(), word.upper())},
    **{
        w: False for word in ("n", "no", "false", "off") for w in (word, word.title(), word.upper())
    },
}
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([0-9]+))", re.ASCII
)
_BASES: Final = (16, 2, 8, 10)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Leaves plain scalars unresolved, so that kubectl's rules can be applied to them."""

    def resolve(self, kind: type[Any], value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else f"{_CORE}str"
        return super().resolve(kind, value, implicit)


def read(text: str) -> Iterator[Document]:
    """Yield the documents of a YAML stream; empty ones are left out.

    Raises:
        ManifestError: invalid YAML, a key that is not a scalar, a number that JSON cannot express.
    """
    try:
        for node in yaml.compose_all(text, Loader=_Loader):
            builder = DocumentBuilder()
            tree = _build(node, (), builder, _line(node))
            if tree is not None:
                yield Document(tree, builder.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ManifestError(
            f"invalid YAML: {error.problem}", mark.line + 1 if mark else 1
        ) from None
    except yaml.reader.ReaderError as error:
        raise ManifestError(f"invalid YAML: {error.reason}", 1) from None
    except RecursionError:
        raise ManifestError("nested too deeply", 1) from None


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _build(node: Any, path: Path, builder: DocumentBuilder, line: int) -> Any:
    builder.add(path, line)
    if isinstance(node, yaml.MappingNode):
        return builder.mapping(_pairs(node, path, builder))
    if isinstance(node, yaml.SequenceNode):
        return [
            _build(item, (*path, index), builder, _line(item))
            for index, item in enumerate(node.value)
        ]
    return _scalar(node)


def _pairs(node: Any, path: Path, builder: DocumentBuilder) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    merged: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if key_node.tag == _PLAIN and key_node.value == "<<":
            for source in _merge_sources(value_node):
                for name, value in _pairs(source, path, builder):
                    merged.setdefault(name, value)
            continue
        name = _key(key_node)
        value = _build(value_node, (*path, name), builder, _line(key_node))
        pairs.append((name, value))
    own = {name for name, _ in pairs}
    return [(name, value) for name, value in merged.items() if name not in own] + pairs


def _merge_sources(node: Any) -> list[Any]:
    sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not all(isinstance(source, yaml.MappingNode) for source in sources):
        raise ManifestError("a merge key must have mappings", _line(node))
    return list(sources)


def _key(node: Any) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ManifestError("a key must be a scalar", _line(node))
    key = _scalar(node)
    if key is None:
        raise ManifestError("a key must not be null", _line(node))
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def _scalar(node: Any) -> Any:
    text, tag = node.value, node.tag.removeprefix(_CORE)
    if tag == _PLAIN or tag in ("null", "bool", "int", "float"):
        value = _plain(text, _line(node))
        return float(value) if tag == "float" and isinstance(value, int) else value
    if tag == "binary":
        return _binary(text, _line(node))
    return _unicode(text)


def _plain(text: str, line: int) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return _unicode(text)
    if text.lstrip("+-").lower() in (".inf", ".nan"):
        raise ManifestError(f"JSON cannot express {text}", line)
    digits = text.replace("_", "")
    integer = _INTEGER.fullmatch(digits) if len(digits) <= 64 else None
    if integer:
        return _integer(integer)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        # Go reads a number that no double can hold as a string.
        return number if abs(number) != float("inf") else text
    return _unicode(text)


def _integer(match: re.Match[str]) -> int:
    sign, *forms = match.groups()
    base, digits = next(
        (base, form) for base, form in zip(_BASES, forms, strict=True) if form is not None
    )
    return int(f"{sign}{digits}", base)


def _binary(text: str, line: int) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise ManifestError("!!binary must be base64", line) from None


def _unicode(text: str) -> str:
    """Replace lone surrogates, which YAML can escape and no encoding can carry."""
    return text.encode("utf-8", "replace").decode()
