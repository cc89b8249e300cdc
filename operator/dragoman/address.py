"""Where to listen: `HOST:PORT`, as Go's programs take it."""

from typing import NamedTuple, Self


class Address(NamedTuple):
    """A host and a port.

    Attributes:
        host: Name or address, without brackets; empty for all interfaces.
        port: 0 for any free one.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `HOST:PORT`, `[::1]:PORT` or `:PORT`; raise ValueError saying what was found."""
        host, colon, port = text.rpartition(":")
        bare = ":" in host and not host.startswith("[")
        if not colon or bare or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise ValueError(f"expected HOST:PORT, as 127.0.0.1:8080 or :8080, found {text!r}")
        return cls(host.strip("[]"), int(port))
