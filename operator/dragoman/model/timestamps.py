"""Times as API objects have them: RFC 3339."""

from datetime import UTC, datetime
from functools import lru_cache


def moment(text: str) -> datetime | None:
    """Return an API timestamp with its zone, None where the text is not one."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else found


def seconds(now: str, then: str) -> float | None:
    """Return the seconds between two API timestamps, None where one of them is not a timestamp."""
    try:
        return (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    except (ValueError, TypeError):
        return None


@lru_cache(maxsize=4096)
def unix(timestamp: str) -> float:
    """Return the Unix time of an API timestamp; 0 for an empty or unreadable one."""
    try:
        found = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
