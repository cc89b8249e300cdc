"""What commands share that ask an API server once and end."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from dragoman.kube.client import Client
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.discovery import NotServedError
from dragoman.kube.errors import ApiError
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials

Answer = TypeVar("Answer")


async def asked(
    kubeconfig: Path | None, context: str | None, ask: Callable[[Client], Awaitable[Answer]]
) -> Answer:
    """Send requests to an API server; raise click.ClickException where they fail."""
    try:
        async with Client(Credentials(ConnectionOptions(kubeconfig, context))) as api:
            return await ask(api)
    except (ApiError, ConnectionSettingsError, NotServedError) as error:
        raise click.ClickException(str(error)) from error
