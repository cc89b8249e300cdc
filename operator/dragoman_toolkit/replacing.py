"""Files that are replaced in one step: a reader, or a crash, sees the old content or the new."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def replace_file(
    path: Path, content: bytes, *, mode: int = 0o644, like: os.stat_result | None = None
) -> None:
    """Write a file, also onto the disk.

    Args:
        path: The file; its folder is there.
        content: What it has afterwards.
        mode: Permissions of the file, less those of the umask.
        like: Permissions and owner that it gets, as far as this user may give them.

    Raises:
        OSError: It is not written, and is as it was.
    """
    partial = path.with_name(f".{path.name[:64]}.{os.getpid()}-{os.urandom(4).hex()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if like is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
                with suppress(OSError):  # only root may give files away
                    os.fchown(file.fileno(), like.st_uid, like.st_gid)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    with suppress(OSError):  # not every file system can flush a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
