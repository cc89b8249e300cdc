"""Run the operator in this process until it is told to stop."""

import asyncio

import click
import kopf

from dragoman import logs
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials
from dragoman.operator import Operator
from dragoman.settings import Settings


def run_operator(settings: Settings) -> int:
    """Run the operator; returns the exit status: 0 after a clean stop, 1 after a fault."""
    logs.configure(json=settings.log_format == "json", level=settings.log_level.upper())
    try:
        Credentials(settings.kubeconfig, settings.context)
    except ConnectionSettingsError as error:
        click.echo(f"dragoman: {error}", err=True)
        return 1
    registry = kopf.OperatorRegistry()
    operator = Operator(settings)
    operator.register(registry)
    try:
        asyncio.run(
            kopf.operator(
                registry=registry,
                clusterwide=True,
                standalone=True,
                stop_flag=operator.stopping,
            )
        )
    except Exception as error:  # noqa: BLE001 — whatever it was, a person reads one line
        click.echo(f"dragoman: {operator.fault or error}", err=True)
        return 1
    if operator.fault:
        click.echo(f"dragoman: {operator.fault}", err=True)
        return 1
    return 0
