"""Input that a command cannot use."""

from __future__ import annotations


class UnusableInput(Exception):  # noqa: N818 — about the input
    """Input that cannot be used, in words for the user."""
