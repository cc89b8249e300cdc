"""The time, as API objects have it."""

from datetime import UTC, datetime


def now() -> str:
    """Return the time as `metav1.Time` is written: RFC 3339 in UTC, whole seconds."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
