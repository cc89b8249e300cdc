"""`dragoman delete-webhooks`: delete the webhook configuration before its webhook is removed."""

import asyncio
from pathlib import Path

import click

from dragoman.cli.asking import asked
from dragoman.cli.options import connection_options
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.settings import PREFIX

CONFIGURATIONS = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")


@click.command("delete-webhooks")
@connection_options
@click.option(
    "--webhook-configuration",
    "name",
    default="dragoman",
    show_default=True,
    envvar=f"{PREFIX}WEBHOOK_CONFIGURATION",
    metavar="NAME",
    help="The ValidatingWebhookConfiguration to delete.",
)
def delete_webhooks(kubeconfig: Path | None, context: str | None, name: str) -> None:
    """Delete the webhook configuration, as the first step of an uninstallation.

    A configuration that does not exist is not an error.
    """
    click.echo(asyncio.run(asked(kubeconfig, context, lambda api: _delete(api, name))))


async def _delete(api: Client, name: str) -> str:
    what = f"ValidatingWebhookConfiguration/{name}"
    try:
        await api.delete(CONFIGURATIONS.path(name=name), {})
    except ApiError as error:
        if error.code != 404:
            raise
        return f"{what} does not exist"
    return f"{what} deleted"
