"""The one reader of files that others wrote: manifests, kubeconfigs, logs, documents of drivers.

Such a file may be a FIFO without a writer, a link to a device without an end, gigabytes, or
a few bytes that stand for billions. Here only regular files are opened, so many bytes are read and
no more; `documents` bounds the values and the depth of what they say. Bytes and values bound the
time. What goes round it is found by a test, and has its reason there.
"""

import io
import os
import stat
from pathlib import Path

MAX_FILE = 16 << 20
"""Bytes of a file with documents; kubectl and the API server refuse far smaller objects."""
MAX_LINES = 4 << 30
"""Bytes of a log, whatever it takes compressed: a few minutes of reading."""
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Names that a shell gives to `<(…)`: pipes that the user asked for, and no file in a folder."""
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


class UnreadableError(ValueError):
    """A file that is not read, or a text that is no document; the words say why.

    Attributes:
        line: 1-based line where reading ended; 0 for the file as a whole.
        column: 1-based column; 0 as above.
    """

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(reason)
        self.line = line
        self.column = column


def opened(name: str | Path) -> io.BufferedReader:
    """Open a regular file, or a pipe that the shell made for this process.

    Raises:
        OSError: It is not there, or must not be read.
        UnreadableError: It is something else; /dev/null counts as an empty file.
    """
    regular = not str(name).startswith(_DESCRIPTORS)
    if regular:
        _refuse(os.stat(name))  # noqa: PTH116 — before it is opened, which a device may notice
    # It may have become a FIFO since; opened so, it waits for no writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_NONBLOCK | os.O_NOCTTY if regular else 0)
    file: io.BufferedReader = io.BufferedReader(io.FileIO(os.open(name, flags)))
    try:
        if regular:
            _refuse(os.fstat(file.fileno()))
    except UnreadableError:
        file.close()
        raise
    return file


def _refuse(status: os.stat_result) -> None:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind and status.st_rdev != os.stat(os.devnull).st_rdev:  # noqa: PTH116 — as above
        raise UnreadableError(f"{kind}, not a regular file")


def read(name: str | Path, limit: int = MAX_FILE) -> bytes:
    """Return the bytes of a file; raise as `opened`, and for more bytes than the limit."""
    with opened(name) as file:
        return bounded(file.read(limit + 1), limit)


def bounded(content: bytes, limit: int = MAX_FILE) -> bytes:
    """Return what was read of a file up to one byte more than the limit; raise beyond that."""
    if len(content) > limit:
        raise UnreadableError(f"larger than {limit >> 20} MiB")
    return content


def read_text(name: str | Path, limit: int = MAX_FILE) -> str:
    """Return the text of a file without its byte order mark; raise as `read`, and for no UTF-8."""
    return decoded(read(name, limit))


def decoded(content: bytes) -> str:
    """Return a text without its byte order mark; raise UnreadableError for what is no UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise UnreadableError("not UTF-8", line, column) from None


def read_end(name: str | Path, start: int = 0, limit: int = 1 << 20) -> str:
    """Return the end of a log: what follows a position, of that the last bytes; raise as `opened`.

    What is not UTF-8 becomes U+FFFD.
    """
    with opened(name) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(min(start, size), size - limit))
        return file.read(limit).decode(errors="replace")


def reason(error: OSError | UnreadableError) -> str:
    """Return why a file cannot be read, without its name; its line where one is known."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"line {error.line}: {error}" if error.line else str(error)
