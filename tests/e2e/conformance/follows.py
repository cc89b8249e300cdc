"""Which checks fail beside the one that a fault breaks, and why."""

FOLLOWS: dict[str, dict[str, str]] = {}
