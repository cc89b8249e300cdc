"""`--fix`: apply edits to texts with comments, order and quotes kept (ruamel.yaml)."""

from __future__ import annotations

import difflib
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dragoman.linting.findings.edits import Edit, Lift, Nest, Rename, Set
from dragoman.linting.findings.finding import Problem
from dragoman.linting.manifests.documents import Document, scalar_of
from dragoman.linting.manifests.objects import Object

Steps = tuple[str | int, ...]
_WIDTH: Final = 1 << 16
_SAFE: Final = re.compile(r"[A-Za-z][A-Za-z0-9./-]*", re.ASCII)


def fixed(text: str, problems: Iterable[tuple[Object, Problem]]) -> str:
    """Return a text with the edits of the problems applied.

    Args:
        text: the content of one file.
        problems: problems of that file with the object that each concerns.
    """
    by_document: dict[int, tuple[Document, list[Edit]]] = {}
    for obj, problem in problems:
        _, edits = by_document.setdefault(obj.document.start, (obj.document, []))
        edits += [edit for one in problem.edits if (edit := _placed(one, obj.root)) not in edits]
    for document, edits in sorted(by_document.values(), key=lambda one: -one[0].start):
        start, end = document.start, document.start + len(document.text)
        text = text[:start] + _edited(text[start:end], edits) + text[end:]
    return text


def difference(name: str, old: str, new: str) -> str:
    """Return a unified diff; empty where nothing changed."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _placed(edit: Edit, root: Steps) -> Edit:
    steps = (*root, *edit.steps)
    match edit:
        case Set():
            return Set(steps, edit.value)
        case Rename():
            return Rename(steps, edit.name)
        case Nest():
            return Nest(steps, edit.name, edit.keys)
        case Lift():
            return Lift(steps)


def _edited(text: str, edits: list[Edit]) -> str:
    if text.lstrip().startswith("{") and _is_json(text):
        tree = json.loads(text)
        _apply(tree, edits)
        indent = 2 if "\n" in text.strip() else None
        return json.dumps(tree, indent=indent, ensure_ascii=False) + _tail(text)
    shaping = [edit for edit in edits if isinstance(edit, Nest | Lift)]
    if shaping:
        yaml = _round_trip(text)
        tree = yaml.load(text)
        _apply(tree, shaping)
        out = io.StringIO()
        yaml.dump(tree, out)
        text = out.getvalue().rstrip("\n") + _tail(text)
    for edit in edits:
        if isinstance(edit, Set | Rename):
            text = _replaced(text, edit)
    return text


def _replaced(text: str, edit: Set | Rename) -> str:
    """Write a scalar or a name in place, so that nothing else on its line moves."""
    found = scalar_of(text, edit.steps, at_key=isinstance(edit, Rename))
    if found is None:
        return text
    start, end, quote = found
    value = str(edit.name if isinstance(edit, Rename) else edit.value)
    written = (
        f"{quote}{value}{quote}" if quote else value if _SAFE.fullmatch(value) else repr(value)
    )
    return text[:start] + written + text[end:]


def _tail(text: str) -> str:
    """Return the white space at the end, which the writer must not change."""
    return text[len(text.rstrip()) :]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _round_trip(text: str) -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 — only --fix needs it

    yaml = YAML()
    yaml.version = None
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    if _lists_are_indented(text):
        yaml.indent(mapping=2, sequence=4, offset=2)
    else:
        yaml.indent(mapping=2, sequence=2, offset=0)
    return yaml


def _lists_are_indented(text: str) -> bool:
    """Tell whether the first block list stands deeper than the key that holds it."""
    before = ""
    for line in text.splitlines():
        content = line.lstrip(" ")
        if not content or content.startswith("#"):
            continue
        if content.startswith("- ") and before.rstrip().endswith(":"):
            held = before.lstrip(" -")
            return len(line) - len(content) > len(before) - len(held)
        before = line.split(" #")[0]
    return False


def _apply(tree: Any, edits: Sequence[Edit]) -> None:
    # Deep edits first: those above would change the paths of those below.
    for edit in sorted(edits, key=lambda one: -len(one.steps)):
        match edit:
            case Set(steps, value):
                _reach(tree, steps[:-1])[steps[-1]] = value
            case Rename(steps, name):
                holder = _reach(tree, steps[:-1])
                _insert(holder, list(holder).index(steps[-1]), name, holder.pop(steps[-1]))
            case Nest(steps, name, keys):
                _nest(_reach(tree, steps), name, keys)
            case Lift(steps):
                _lift(_reach(tree, steps[:-1]), str(steps[-1]))


def _reach(tree: Any, steps: Steps) -> Any:
    for step in steps:
        tree = tree[step]
    return tree


def _insert(holder: Any, at: int, name: str, value: Any) -> None:
    if hasattr(holder, "insert"):
        holder.insert(at, name, value)
        return
    items = list(holder.items())
    holder.clear()
    holder.update([*items[:at], (name, value), *items[at:]])


def _move(source: Any, target: Any, name: str) -> None:
    target[name] = source.pop(name)
    comments = getattr(source, "ca", None)
    if comments is not None and name in comments.items:
        target.ca.items[name] = comments.items.pop(name)


def _nest(holder: Any, name: str, keys: tuple[str, ...]) -> None:
    at = min(list(holder).index(key) for key in keys)
    inner = type(holder)()
    for key in keys:
        _move(holder, inner, key)
    flow = getattr(holder, "fa", None)
    if flow is not None and flow.flow_style():
        inner.fa.set_flow_style()
    _insert(holder, at, name, inner)


def _lift(holder: Any, name: str) -> None:
    at = list(holder).index(name)
    inner = holder.pop(name)
    for offset, key in enumerate(list(inner)):
        value = inner.pop(key)
        _insert(holder, at + offset, key, value)
        comments = getattr(inner, "ca", None)
        if comments is not None and key in comments.items:
            holder.ca.items[key] = comments.items.pop(key)
