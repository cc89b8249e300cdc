"""Input that a command cannot use."""


class UnusableInput(Exception):  # noqa: N818 — about the input
    """Input that cannot be used, in words for the user."""
