"""Watch a folder by inotify: every file that appears, is written, renamed or deleted, in order."""

import ctypes
import os
import select
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

MODIFY, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x8, 0x40, 0x80, 0x100, 0x200
_ALL = MODIFY | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE
_NAMES = {
    MODIFY: "modify",
    CLOSE_WRITE: "close",
    MOVED_FROM: "moved-from",
    MOVED_TO: "moved-to",
    CREATE: "create",
    DELETE: "delete",
}
SOCKET = ".sock"
"""Kubelets ignore sockets whose names start with a dot."""
_HEAD = struct.Struct("iIII")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a file."""

    kind: str  # `create`, `modify`, `close`, `moved-from`, `moved-to` or `delete`
    name: str  # Of the file
    at: float  # When it was seen, on the monotonic clock


class Folder:
    """Watch one folder in a thread, for as long as it is open.

    Attributes:
        events: What happened so far, in order.
    """

    def __init__(self, path: Path) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition()
        library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if library.inotify_add_watch(self._descriptor, os.fsencode(path), _ALL) < 0:
            raise OSError(ctypes.get_errno(), f"cannot watch {path}")
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Watch no longer."""
        self._closed.set()
        self._thread.join(2)
        os.close(self._descriptor)

    def wait(self, kinds: set[str], suffix: str, after: int, timeout: float) -> Event | None:
        """Return the first event of these kinds after the first `after` ones, or None."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                for event in self.events[after:]:
                    hidden = event.name.startswith(".") and suffix == SOCKET
                    if event.kind in kinds and event.name.endswith(suffix) and not hidden:
                        return event
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)

    def _read(self) -> None:
        while not self._closed.is_set():
            ready, _, _ = select.select([self._descriptor], [], [], 0.2)
            if ready:
                data = os.read(self._descriptor, 1 << 16)
                with self._changed:
                    self.events.extend(_events(data))
                    self._changed.notify_all()


def _events(data: bytes) -> list[Event]:
    found, at, now = [], 0, time.monotonic()
    while at < len(data):
        _, mask, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = data[at : at + length].rstrip(b"\0").decode(errors="replace")
        at += length
        found += [Event(kind, name, now) for bit, kind in _NAMES.items() if mask & bit]
    return found
