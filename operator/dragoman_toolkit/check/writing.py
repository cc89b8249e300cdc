"""Files that `--fix` changes: written beside and put into place, or left as they are."""

import os
from collections.abc import Iterable
from glob import has_magic
from pathlib import Path

from dragoman_base import files
from dragoman_toolkit.linting.findings.finding import UnreadableFile
from dragoman_toolkit.replacing import replace_file

_MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, which reading leaves out."""


def write(name: str, before: str, after: str, arguments: Iterable[str]) -> UnreadableFile | None:
    """Put a changed text into a file; return why it stays as it is, None where it changed.

    A crash at any time leaves the old content or the new one. Mode and owner stay. Where the name
    is a link, the file that it leads to changes, if it is below a folder that the user named.

    Args:
        name: The file, as it was read.
        before: Its text then; a file that says something else by now stays as it is.
        after: Its text from now on.
        arguments: Files, folders and patterns that the user named.
    """
    path = Path(name)
    try:
        if path.is_symlink() and not _within(path.resolve(strict=True), arguments):
            target = path.resolve()
            reason = f"a link to {target}, outside of the folders that were named; name that file"
            return UnreadableFile(name, 0, 0, f"not fixed: {reason}")
        return _replace(name, path.resolve(strict=True), before, after)
    except (OSError, RuntimeError, files.UnreadableError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return UnreadableFile(name, 0, 0, f"not fixed: {reason}")


def _within(target: Path, arguments: Iterable[str]) -> bool:
    """Tell whether a file is below a named folder, or below the fixed part of a pattern."""
    for one in arguments:
        folder = Path(one)
        if has_magic(one) and not folder.exists():
            parts = folder.parts
            fixed = next(index for index, part in enumerate(parts) if has_magic(part))
            folder = Path(*parts[:fixed])
        if folder.is_dir() and target.is_relative_to(folder.resolve()):
            return True
    return False


def _replace(name: str, path: Path, before: str, after: str) -> UnreadableFile | None:
    with files.opened(path) as file:
        old = file.read(files.MAX_FILE + 4)
        status = os.fstat(file.fileno())
    mark = _MARK if old.startswith(_MARK) else b""
    if old == mark + after.encode():
        return None  # changed under another name of it
    if old != mark + before.encode():
        return UnreadableFile(name, 0, 0, "not fixed: it changed while it was checked")
    # A file can be replaced in a writable folder even where it must not be written itself.
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        return UnreadableFile(name, 0, 0, "not fixed: it is read-only")
    replace_file(path, mark + after.encode(), like=status)
    return None
