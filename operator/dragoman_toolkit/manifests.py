"""Files of manifests: names, patterns, folders and standard input, read one by one."""

import os
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path, PurePath

from dragoman_base import files
from dragoman_toolkit.linting.findings.finding import UnreadableFile
from dragoman_toolkit.unusable import UnusableInput

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"


def texts(
    names: Iterable[str], exclude: Iterable[str] = ()
) -> Iterator[tuple[str, str] | UnreadableFile]:
    """Yield name and text of each file, or why it cannot be read; each file once.

    Args:
        names: Files, folders, patterns, `-` for standard input.
        exclude: Patterns of files to leave out.

    Raises:
        UnusableInput: A URL.
    """
    left_out = tuple(exclude)
    seen: set[str] = set()
    for name in names:
        if "://" in name:
            raise UnusableInput(
                f"{name}: URLs are not read; download the file first:"
                f" curl -fsSL {name} | dragoman check -"
            )
        for path in _paths(name):
            if isinstance(path, UnreadableFile):
                yield path
            elif path not in seen and not excluded(path, left_out):
                seen.add(path)
                yield read_text(path)


def excluded(path: str, patterns: Iterable[str]) -> bool:
    """Tell whether a pattern names a file, a folder above it, or a part of its name."""
    pure = PurePath(path)
    candidates = [pure.as_posix(), pure.name, *(str(folder) for folder in pure.parents)]
    candidates += pure.parts
    return any(fnmatchcase(one, pattern.rstrip("/")) for pattern in patterns for one in candidates)


def _paths(name: str) -> Iterator[str | UnreadableFile]:
    path = Path(name)
    if name == STANDARD_INPUT:
        yield name
    elif path.is_dir():
        found = sorted(
            str(one) for one in path.rglob("*") if one.suffix in SUFFIXES and not one.is_dir()
        )
        if not found:
            render = "; render it: jsonnet -y FILE | dragoman check -"
            others = render if any(path.rglob("*.jsonnet")) else ""
            yield UnreadableFile(name, 0, 0, f"no {', '.join(SUFFIXES)} file in it{others}")
        yield from found
    elif has_magic(name) and not path.exists():
        matches = sorted(set(_matches(path.anchor, path.relative_to(path.anchor).parts, set())))
        if not matches:
            yield UnreadableFile(name, 0, 0, "the pattern matches no file")
        yield from matches
    else:
        yield name


def _matches(folder: str, parts: tuple[str, ...], seen: set[tuple[str, int]]) -> Iterator[str]:
    """Yield the files that match a pattern; `**` stands for folders and follows no link.

    As in a shell, `*` matches no hidden name. Links that lead to folders above them would multiply
    the paths without end.
    """
    if (folder, len(parts)) in seen:
        return
    seen.add((folder, len(parts)))
    part, rest = parts[0], parts[1:]
    deep = part == "**"
    if deep and rest:
        yield from _matches(folder, rest, seen)
    for name in _names(folder) if has_magic(part) else [part]:
        if (name.startswith(".") and not part.startswith(".")) or not (
            deep or name == part or fnmatchcase(name, part)
        ):
            continue
        path = os.path.join(folder, name)  # noqa: PTH118 — `Path` would drop `./`
        one = Path(path)
        if one.is_dir():
            further = parts if deep else rest
            if further and not (deep and one.is_symlink()):
                yield from _matches(path, further, seen)
        elif not rest and one.exists():
            yield path


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder or "."))  # noqa: PTH208 — names alone
    except OSError:
        return []


def read_text(name: str) -> tuple[str, str] | UnreadableFile:
    """Return name and text of a regular file or of standard input, or why it cannot be read."""
    try:
        if name != STANDARD_INPUT:
            return name, files.read_text(name)
        content = sys.stdin.buffer.read(files.MAX_FILE + 1)
        return name, files.decoded(files.bounded(content))
    except files.UnreadableError as error:
        return UnreadableFile(name, error.line, error.column, str(error))
    except OSError as error:
        return UnreadableFile(name, 0, 0, error.strerror or str(error))
    except ValueError as error:  # a name that no file can have
        return UnreadableFile(name, 0, 0, str(error))
