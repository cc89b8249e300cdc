"""`--fix`: apply edits to texts in place, and only where the result is what was meant."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from dragoman_base.files.unreadable import DuplicateKeys
from dragoman_toolkit.linting.findings.edits import Edit, applied
from dragoman_toolkit.linting.findings.finding import Problem
from dragoman_toolkit.linting.findings.inplace import InPlace, NotInPlaceError, Span
from dragoman_toolkit.linting.manifests.documents import (
    DocumentNodes,
    ManifestDocument,
    UnreadableError,
    read,
)
from dragoman_toolkit.linting.manifests.manifestobjects import Object

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text with edits applied."""

    text: str  # The content of the file
    # Documents that stay as they are, with the reason
    refused: tuple[tuple[ManifestDocument, str], ...] = field(default=())


def fixed(text: str, problems: Iterable[tuple[Object, Problem]]) -> Fixed:
    """Return a text with the edits of the problems applied.

    Args:
        text: The content of one file.
        problems: Problems of that file with the object that each concerns.
    """
    by_document: dict[int, tuple[ManifestDocument, dict[Edit, None]]] = {}
    for obj, problem in problems:
        _, edits = by_document.setdefault(obj.document.start, (obj.document, {}))
        edits.update(dict.fromkeys(_placed(one, obj.root) for one in problem.edits))
    refused: list[tuple[ManifestDocument, str]] = []
    spans: list[Span] = []
    for document, edits in sorted(by_document.values(), key=lambda one: one[0].start):
        try:
            written = edited(document, list(edits))
        except NotInPlaceError as error:
            refused.append((document, str(error)))
        else:
            spans.append((document.start, document.start + len(document.text), written))
    return Fixed(_replaced(text, spans), tuple(refused))


def _replaced(text: str, spans: Iterable[Span]) -> str:
    """Replace parts of a text, in their order.

    Raises:
        NotInPlaceError: Two overlap.
    """
    parts: list[str] = []
    at = 0
    for start, end, written in spans:
        if start < at:
            raise NotInPlaceError("two changes concern the same lines")
        parts += [text[at:start], written]
        at = end
    return "".join([*parts, text[at:]])


def difference(name: str, old: str, new: str) -> str:
    """Return a unified diff; empty where nothing changed."""
    name = name.lstrip("/")
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _placed(edit: Edit, root: Steps) -> Edit:
    return replace(edit, steps=(*root, *edit.steps))


def edited(document: ManifestDocument, edits: list[Edit]) -> str:
    """Return the text of a document after edits.

    Raises:
        NotInPlaceError: Keys are repeated, or the result would say something else.
    """
    if repeated := _repeated(document.tree):
        raise NotInPlaceError(f"the key {repeated} occurs twice")
    place = InPlace(document.text, DocumentNodes(document.nodes()))
    if place.nodes.root is None:
        raise NotInPlaceError("its values have no places")
    text = _replaced(document.text, sorted(chain.from_iterable(map(place.spans, edits))))
    try:
        wanted = applied(document.tree, edits)
        found = [one.tree for one in read(text)]
    except (LookupError, TypeError, AttributeError, UnreadableError) as error:
        raise NotInPlaceError("the change would make it unreadable") from error
    if found != [wanted]:
        raise NotInPlaceError("the change would alter other values")
    return text


def _repeated(value: Any) -> str:
    """Return a key that occurs twice in one mapping; empty without one."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, DuplicateKeys):
            return one.duplicate_keys[0]
        if isinstance(one, dict):
            stack += one.values()
        elif isinstance(one, list):
            stack += one
    return ""
