"""The memory of request bodies, bounded over all connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self


@dataclass
class BodyBudget:
    """Bytes of request bodies that are in memory at the same time.

    Bodies up to `guaranteed` bytes are always accepted, because the number of connections is
    bounded. If a larger body exceeds the budget, the largest incomplete body gives way to it.
    """

    limit: int  # Bytes of all bodies
    guaranteed: int  # Bytes of a body that is accepted even if the budget is used up
    used: int = 0  # Bytes of all bodies now
    _incomplete: set[Body] = field(default_factory=set)

    def open(self, evict: Callable[[], None]) -> Body:
        """Return the body of a request that begins.

        Args:
            evict: Ends the request, so that its body is released; called while it is incomplete.
        """
        body = Body(self, evict)
        self._incomplete.add(body)
        return body

    def grow(self, body: Body, size: int) -> bool:
        """Reserve bytes for a body; return False if the budget does not suffice."""
        wanted = body.size + size
        while wanted > self.guaranteed and self.used + size > self.limit:
            largest = max(self._incomplete, key=lambda one: one.size, default=body)
            if largest.size <= wanted:
                return False
            largest.evict()
        self.used += size
        return True

    def completed(self, body: Body) -> None:
        """Protect a complete body from eviction."""
        self._incomplete.discard(body)

    def release(self, body: Body) -> None:
        """Return the bytes of a body to the budget."""
        self._incomplete.discard(body)
        self.used -= body.size


class Body:
    """The body of one request; a context manager that returns its bytes to the budget.

    Attributes:
        size: Bytes that count against the budget.
        evict: Ends the request.
    """

    __slots__ = ("_budget", "_content", "evict", "size")

    def __init__(self, budget: BodyBudget, evict: Callable[[], None]) -> None:
        self.size = 0
        self.evict = evict
        self._budget = budget
        self._content: bytes | bytearray = b""

    def add(self, piece: bytes) -> bool:
        """Append bytes; return False if the budget does not suffice."""
        if not self._budget.grow(self, len(piece)):
            return False
        if not self._content:
            self._content = piece
        else:
            # A list of pieces would take 20 times the budget where a client sends bytes singly.
            if isinstance(self._content, bytes):
                self._content = bytearray(self._content)
            self._content += piece
        self.size += len(piece)
        return True

    def complete(self) -> bytes:
        """Return the whole body; its bytes count until the body is released."""
        self._budget.completed(self)
        # A single piece is not copied: an API server sends an ordinary review in one TLS record.
        whole, self._content = bytes(self._content), b""
        return whole

    def release(self) -> None:
        """Return the bytes to the budget; further calls have no effect."""
        self._budget.release(self)
        self._content = b""
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
