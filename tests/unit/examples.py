"""How many random examples a property is tried with: few each time, many in `make test-slow`."""

import os

SCALE = float(os.environ.get("DRAGOMAN_EXAMPLES", "1"))


def examples(count: int) -> int:
    """Return how many to try where this many are enough for every day."""
    return max(1, round(count * SCALE))
