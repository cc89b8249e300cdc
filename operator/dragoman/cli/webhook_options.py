"""Options for serving reviews, the same for `dragoman webhook` and `dragoman operator`."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, get_args

import click

from dragoman.settings import PREFIX, SettingsError, TlsKind, WebhookSettings

Command = Callable[..., Any]
WEBHOOK = frozenset(one.name for one in fields(WebhookSettings)) - {"namespace"}
"""The settings that the options of `webhook_options` set."""
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_OPTIONS: Final = (
    click.option(
        "--tls",
        type=click.Choice(get_args(TlsKind)),
        default="files",
        help="files: certificate files that are renewed externally; self: a private CA, "
        "kept in a Secret and published in caBundle.",
    ),
    click.option(
        "--tls-certificate",
        type=_FILE,
        help="PEM file with the serving certificate and its chain; read again when it changes.",
    ),
    click.option("--tls-key", type=_FILE, help="PEM file with its key."),
    click.option(
        "--client-ca",
        type=_FILE,
        help="PEM file of the CA that signs the client certificates of API servers. With it, "
        "every other client is rejected; read at the start.",
    ),
    click.option(
        "--tls-secret",
        default="dragoman-webhook-tls",
        metavar="NAME",
        help="Secret for --tls=self; it must be there, empty at first.",
    ),
    click.option(
        "--tls-host",
        multiple=True,
        metavar="NAME|ADDRESS",
        help="By which the API server calls, for --tls=self; by default the Service "
        "dragoman-webhook of the namespace.",
    ),
    click.option(
        "--tls-lifetime",
        type=click.FloatRange(0.0001),
        default=90.0,
        metavar="DAYS",
        help="How long a certificate of --tls=self lasts; it is renewed after two thirds.",
    ),
    click.option(
        "--webhook-configuration",
        default="dragoman",
        metavar="NAME",
        help="ValidatingWebhookConfiguration whose caBundle --tls=self keeps.",
    ),
    click.option(
        "--review-targets/--no-review-targets",
        default=False,
        help="Whether to list ResourceSlices, and to reject DeviceMaintenances that match no "
        "device or every device.",
    ),
    click.option(
        "--deadline",
        type=click.FloatRange(0.1, 30.0),
        default=4.0,
        metavar="SECONDS",
        help="Time for one review; keep it below timeoutSeconds of the webhook configuration.",
    ),
)
"""The options behind the address, in the order of --help."""


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

    def decorate(command: Command) -> Command:
        for option in reversed((first, *_OPTIONS)):
            command = option(command)
        return command

    return decorate


def webhook_settings(options: dict[str, Any], **more: Any) -> WebhookSettings:
    """Take the settings out of a command's options; raise click.UsageError."""
    given = {name: options.pop(name) for name in WEBHOOK}
    try:
        return WebhookSettings(**given, **more)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
