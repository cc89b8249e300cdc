"""Documents in a text, YAML or JSON: values with aliases written out, and depth, are bounded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman_base import files
from dragoman_base.files import UnreadableError, jsontext, yamltext

Part = tuple[Any, str, int, int, str]
"""A document: its tree; its text from the first line to the end; that line's number from 0, and its
offset in the file; the comments above it, back to the document before."""


def parts(text: str) -> Iterator[Part]:
    """Yield the documents of a text; empty ones are left out.

    Raises:
        UnreadableError: It is neither YAML nor JSON, or too large.
    """
    if len(text) > files.MAX_FILE:
        raise UnreadableError(f"larger than {files.MAX_FILE >> 20} MiB")
    if text.lstrip()[:1] not in ("{", "["):
        yield from _yaml(text)
        return
    try:
        yield from [(*one, "") for one in jsontext.read(text)]
    except UnreadableError as invalid:
        # Flow style YAML begins like JSON; where both are wrong, JSON is what was meant.
        try:
            found = [*_yaml(text)]
        except UnreadableError as error:
            raise (invalid if str(error).startswith(yamltext.INVALID) else error) from None
        yield from found


def _yaml(text: str) -> Iterator[Part]:
    before = 0
    for found, start, line, end in yamltext.read(text):
        yield found, text[start:end], line, start, text[before:start]
        before = end


def trees(name: str | Path, limit: int = files.MAX_FILE) -> list[Any]:
    """Return the trees of a file's documents.

    Raises:
        OSError: It cannot be read.
        UnreadableError: It is no regular file, too large, or neither YAML nor JSON.
    """
    return [one[0] for one in parts(files.read_text(name, limit))]


def tree(name: str | Path, limit: int = files.MAX_FILE) -> Any:
    """Return the tree of a file with one document, None for an empty one; raise as `trees`."""
    found = trees(name, limit)
    if len(found) > 1:
        raise UnreadableError("expected one document")
    return found[0] if found else None
