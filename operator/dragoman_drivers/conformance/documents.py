"""CDI documents of a driver that is not trusted: read within bounds, and of a form to walk."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman_base import files
from dragoman_base.files import UnreadableError, documents
from dragoman_drivers.conformance.profile import strings

MAX_DOCUMENT = 1 << 20
"""Bytes of a document: those of real drivers have a few KiB."""
_LISTS = ("mounts", "deviceNodes", "hooks", "netDevices")
"""Fields of `containerEdits` with lists of objects."""
_PATHS = ("hostPath", "path", "containerPath")


def read(path: Path) -> Mapping[str, Any]:
    """Return a document.

    Raises:
        OSError: It cannot be read.
        UnreadableError: It is no regular file, too large, neither JSON nor YAML, or of another form
            than a document, so that nothing could be looked up in it.
    """
    text = files.read_text(path, MAX_DOCUMENT)
    found = [one[0] for one in documents.parts(text)]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise UnreadableError("it is not an object")
    tree = found[0]
    if place := next(_wrong(tree), ""):
        raise UnreadableError(place)
    return tree


def _wrong(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of another form than they have in a document."""
    devices = tree.get("devices")
    if not _objects(devices):
        yield "devices is no list of objects"
        return
    for name in ("cdiVersion", "kind"):
        if not isinstance(tree.get(name), str | None):
            yield f"{name} is no text"
    for place, one in (("", tree), *(("devices[].", one) for one in devices or ())):
        edits = one.get("containerEdits")
        if not isinstance(one.get("name"), str | None):
            yield f"{place}name is no text"
        if not isinstance(edits, dict | None):
            yield f"{place}containerEdits is no object"
        else:
            yield from (f"{place}containerEdits.{field}" for field in _edits(edits or {}))


def _edits(edits: Mapping[str, Any]) -> Iterator[str]:
    for name in _LISTS:
        if not _objects(edits.get(name)):
            yield f"{name} is no list of objects"
            continue
        for one in edits.get(name) or ():
            yield from (f"{name}[].{p} is no text" for p in _PATHS if not _text(one.get(p)))
    env = edits.get("env")
    if env is not None and not (isinstance(env, list) and all(map(_text, env))):
        yield "env is no list of texts"


def _objects(found: Any) -> bool:
    return found is None or (isinstance(found, list) and all(isinstance(o, dict) for o in found))


def _text(found: Any) -> bool:
    return isinstance(found, str | None)


def texts(path: Path) -> Iterator[str]:
    """Yield what a file of a driver says as bytes, and the texts of its tree: without escapes.

    Of a file that is larger than others may be, the beginning.
    """
    try:
        with files.opened(path) as file:
            content = file.read(files.MAX_FILE).decode(errors="replace")
    except (OSError, UnreadableError):
        return
    yield content
    try:
        for one in documents.parts(content[:MAX_DOCUMENT]):
            yield from strings(one[0])
    except UnreadableError:
        return
