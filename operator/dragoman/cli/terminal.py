"""Text for people: a terminal or the log of a pipeline finds nothing to obey in it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

_COMMAND = re.compile(r"(?m)^( *)::")
"""A workflow command of GitHub: `::error::…`, also after spaces."""
_OLD_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)")
"""Commands that runners of GitHub, Azure and TeamCity find anywhere in a line."""


def plain(text: str, *, keep: str = "\n") -> str:
    r"""Return a text that a terminal only prints and the log of a pipeline takes for no command.

    Control characters, direction marks and bytes that are no text are spelled out, such as `\x1b`;
    at the start of a line `::` becomes `\x3a:`.

    Args:
        text: What is printed.
        keep: Control characters that stay.
    """
    if not text.isprintable():
        text = "".join(
            letter if letter.isprintable() or letter in keep else _spelled(letter)
            for letter in text
        )
    if "::" in text:
        text = _COMMAND.sub(r"\1\\x3a:", text)
    return _OLD_COMMAND.sub(r"#\\x23", text) if "##" in text else text


def line(text: str) -> str:
    """Return a text as one line: like `plain`, with line breaks spelled out as well."""
    return plain(text, keep="")


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
