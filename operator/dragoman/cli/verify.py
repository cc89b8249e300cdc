"""`dragoman verify`: whether the cluster's webhook refuses what it must."""

import asyncio
import sys
from pathlib import Path

import click

from dragoman.cli.asking import asked
from dragoman.cli.options import connection_options
from dragoman.cli.verification import verify as results
from dragoman.kube.client import Client


@click.command(
    epilog="""\b
Exit status:
  0  everything was rejected
  1  something was accepted; its line says why
"""
)
@connection_options
@click.option(
    "--timeout",
    type=click.FloatRange(0.0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to retry objects that are accepted: a new webhook takes effect with a delay.",
)
def verify(kubeconfig: Path | None, context: str | None, timeout: float) -> None:
    """Dry-run objects that the webhook must reject; nothing is stored.

    That is a DriverConfigSchema which does not compile and, for each driver that has a schema, a
    DeviceClass with a config that the driver does not know.
    """
    refused = asyncio.run(asked(kubeconfig, context, lambda api: _verify(api, timeout)))
    sys.exit(0 if refused else 1)


async def _verify(api: Client, seconds: float) -> bool:
    refused, count = True, 0
    async for result in results(api, seconds):
        count += 1
        refused = refused and not result.fault
        said = result.fault or f"was rejected: {result.answer}"
        click.echo(f"{'FAILED' if result.fault else 'ok'}  {result.trial.what} {said}")
    if count == 1:
        click.echo("no DriverConfigSchema enforces anything: no config could be tried")
    return refused
