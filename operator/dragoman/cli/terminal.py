"""Text for people: whatever a name or a message holds, a terminal finds nothing to obey in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click


def plain(text: str) -> str:
    """Return a text whose control characters are spelled out; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _spelled(letter) for letter in text
    )


def line(text: str) -> str:
    """Return a text as one line: like `plain`, with line breaks spelled out as well."""
    return plain(text).replace("\n", _spelled("\n"))


def say(text: str, *, err: bool = True) -> None:
    """Print a line, by default to standard error: names in it come from anywhere."""
    click.echo(line(text), err=err)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Spell out the control characters in the messages of click's errors, however they are made."""
    try:
        yield
    except click.ClickException as error:
        message = plain(error.format_message())
        error.format_message = lambda: message  # type: ignore[method-assign]  # each class makes its own
        raise


def _spelled(letter: str) -> str:
    return f"\\x{ord(letter):02x}"
