"""What can go wrong between here and the server."""


class WireError(Exception):
    """There is no answer, or no whole one: what was asked for may have been done."""


class ConnectionLostError(WireError):
    """The connection ended before the first byte of an answer."""
