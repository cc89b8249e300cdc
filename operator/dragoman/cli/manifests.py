"""Files of manifests: names, patterns, folders and standard input, read one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path, PurePath
from typing import Final

from dragoman.cli.unusable import Unusable
from dragoman.linting.findings.finding import Failure

SUFFIXES: Final = (".yaml", ".yml", ".json")
MAX_FILE: Final = 16 * 1024 * 1024
STANDARD_INPUT: Final = "-"


def texts(names: Iterable[str], exclude: Iterable[str] = ()) -> Iterator[tuple[str, str] | Failure]:
    """Yield name and text of each file, or why it cannot be read; each file once.

    Args:
        names: files, folders, patterns, `-` for standard input.
        exclude: patterns of files to leave out.

    Raises:
        Unusable: a URL.
    """
    left_out = tuple(exclude)
    seen: set[str] = set()
    for name in names:
        if "://" in name:
            raise Unusable(
                f"{name}: URLs are not read; download the file first:"
                f" curl -fsSL {name} | dragoman check -"
            )
        for path in _paths(name):
            if isinstance(path, Failure):
                yield path
            elif path not in seen and not excluded(path, left_out):
                seen.add(path)
                yield _read(path)


def excluded(path: str, patterns: Iterable[str]) -> bool:
    """Tell whether a pattern names a file, a folder above it, or a part of its name."""
    pure = PurePath(path)
    candidates = [pure.as_posix(), pure.name, *(str(folder) for folder in pure.parents)]
    candidates += pure.parts
    return any(fnmatchcase(one, pattern.rstrip("/")) for pattern in patterns for one in candidates)


def _paths(name: str) -> Iterator[str | Failure]:
    path = Path(name)
    if name == STANDARD_INPUT:
        yield name
    elif path.is_dir():
        found = sorted(str(one) for one in path.rglob("*") if one.suffix in SUFFIXES)
        if not found:
            yield Failure(name, 0, 0, f"no {', '.join(SUFFIXES)} file in it")
        yield from found
    elif has_magic(name) and not path.exists():
        matches = sorted(one for one in glob(name, recursive=True) if Path(one).is_file())  # noqa: PTH207 — of any root
        if not matches:
            yield Failure(name, 0, 0, "the pattern matches no file")
        yield from matches
    else:
        yield name


def _read(name: str) -> tuple[str, str] | Failure:
    try:
        if name == STANDARD_INPUT:
            content = sys.stdin.buffer.read(MAX_FILE + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_FILE + 1)
    except OSError as error:
        return Failure(name, 0, 0, error.strerror or str(error))
    if len(content) > MAX_FILE:
        return Failure(name, 0, 0, f"larger than {MAX_FILE >> 20} MiB")
    try:
        return name, content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        return Failure(name, line, column, "not UTF-8")
