"""What commands offer to a shell that completes a word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def offered(
    words: Iterable[str | tuple[str, str]], begun: str = "", *, kind: str = "plain"
) -> list[CompletionItem]:
    """Return the words that begin as what was typed, with their help lines where they have one."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 — heavy, and seldom needed

    pairs = (one if isinstance(one, tuple) else (one, None) for one in words)
    return [
        CompletionItem(word, type=kind, help=text) for word, text in pairs if word.startswith(begun)
    ]
