"""A network of its own for a command: the vendors' webhooks listen on every interface there is.

`python -m tests.conformance.peer.isolation COMMAND…` runs a command where loopback is the only
interface and nobody else's. It needs Linux and util-linux, and no rights.
"""

import fcntl
import functools
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

INSIDE = "DRAGOMAN_TEST_ENCLOSED"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_REQUEST = struct.Struct("16sh14x")  # struct ifreq: name, flags


def command(inner: Sequence[str]) -> list[str]:
    """Return the command that runs a command in a network of its own."""
    unshare = shutil.which("unshare") or "unshare"
    apart = [unshare, "--user", "--map-root-user", "--net", "--"]
    return [*apart, sys.executable, "-m", __name__, *inner]


@functools.cache
def obstacle() -> str:
    """Return why no network of its own can be had here, or nothing when it can."""
    try:
        done = subprocess.run(
            command([sys.executable, "-c", ""]), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"networks of their own need Linux and util-linux: {error}"
    return f"networks of their own are not allowed here: {done.stderr}" if done.returncode else ""


def is_inside() -> bool:
    """Tell whether this process runs in a network of its own already."""
    return INSIDE in os.environ


def main(inner: Sequence[str]) -> None:
    """Switch loopback on and become the command."""
    with socket.socket() as any_socket:
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _REQUEST.pack(b"lo", 0))
        name, flags = _REQUEST.unpack(answer)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _REQUEST.pack(name, flags | _IFF_UP))
    os.execvpe(inner[0], list(inner), os.environ | {INSIDE: "1"})


if __name__ == "__main__":
    main(sys.argv[1:])
