"""What the API server answers when it refuses a request."""

from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """The API server refused a request, or could not be asked.

    Attributes:
        code: HTTP status; 0 when there was no answer, so that the request may have been done.
        reason: The Status object's reason, as `AlreadyExists`; `NoAnswer` for code 0.
        details: The Status object's details: name, kind, causes.
        retry_after: Seconds that the server asks to wait, or None.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after

    def blames(self, path: str) -> bool:
        """Whether one of the causes is about the field with this path."""
        return any(cause.get("field") == path for cause in self.details.get("causes") or ())

    def has_cause(self, reason: str) -> bool:
        """Whether one of the causes has this reason."""
        return any(cause.get("reason") == reason for cause in self.details.get("causes") or ())
