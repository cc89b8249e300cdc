"""Options for serving reviews, the same for `dragoman webhook` and `dragoman operator`."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from dragoman.cli.options import Command, setting_options
from dragoman.settings import PREFIX, SettingsError, WebhookSettings

WEBHOOK = frozenset(one.name for one in fields(WebhookSettings)) - {"namespace"}
"""The settings that the options of `webhook_options` set."""


def webhook_options(address: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options.

    Args:
        address: The flag for the address, since a process may serve more than reviews.
    """
    first = click.option(
        address,
        "address",
        default=":9443",
        envvar=PREFIX + address.lstrip("-").replace("-", "_").upper(),
        metavar="HOST:PORT",
        help="Where to serve reviews, at the path /validate; no host means all interfaces.",
    )

    return lambda command: first(setting_options(WebhookSettings)(command))


def webhook_settings(options: dict[str, Any], **more: Any) -> WebhookSettings:
    """Take the settings out of a command's options; raise click.UsageError."""
    given = {name: options.pop(name) for name in WEBHOOK}
    try:
        return WebhookSettings(**given, **more)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
