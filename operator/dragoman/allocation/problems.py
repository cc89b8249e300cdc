"""What ends the attempt to schedule a pod."""

from __future__ import annotations

from dragoman.allocation.reasons.codes import Code


class FatalProblemError(Exception):
    """The pod's attempt ends on all nodes; the message is the scheduler's.

    Attributes:
        code: What kind of problem it is.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
