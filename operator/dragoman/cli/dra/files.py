"""Manifests that users name with -f."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.cli.dra.output import Unusable

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_MAX_FILE: Final = 16 * 1024 * 1024


def trees(filenames: Iterable[str]) -> Iterator[Any]:
    """Yield the JSON trees of all documents of files, folders and `-` for standard input.

    Raises:
        Unusable: A file cannot be read, or is neither YAML nor JSON.
    """
    from dragoman.driverconfigs.manifests.documents import ManifestError  # noqa: PLC0415 — heavy
    from dragoman.driverconfigs.manifests.review import documents  # noqa: PLC0415 — heavy

    for filename in filenames:
        for name, content in _contents(filename):
            try:
                for document in documents(_text(name, content)):
                    yield document.tree
            except ManifestError as error:
                raise Unusable(f"{name}:{error.line}: {error}") from None


def _contents(filename: str) -> Iterator[tuple[str, bytes]]:
    if filename == "-":
        yield "-", sys.stdin.buffer.read(_MAX_FILE + 1)
        return
    path = Path(filename)
    found = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES) if path.is_dir() else [path]
    if not found:
        raise Unusable(f"{filename}: no .yaml, .yml or .json file in it")
    for one in found:
        try:
            with one.open("rb") as file:
                yield str(one), file.read(_MAX_FILE + 1)
        except OSError as error:
            raise Unusable(f"{one}: {error.strerror}") from None


def _text(name: str, content: bytes) -> str:
    if len(content) > _MAX_FILE:
        raise Unusable(f"{name}: larger than {_MAX_FILE >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unusable(f"{name}: not UTF-8") from None
