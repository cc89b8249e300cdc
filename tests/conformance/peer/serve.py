"""dragoman's webhook over TLS on loopback with schemas from files: no cluster, nothing else.

python -m tests.conformance.peer.serve --help tells how.
"""

import asyncio
import contextlib
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import yaml

from dragoman import logs
from dragoman_configs import catalog
from dragoman_configs.compile.registry import Registry
from dragoman_webhooks.server import WebhookServer
from dragoman_webhooks.tls.files import CertificateFiles


def schemas(files: Iterable[Path], variables: Iterable[str]) -> Registry:
    """Compile the catalog and further DriverConfigSchemas.

    Args:
        files: YAML of one or several objects each.
        variables: `NAME=true` or `NAME=false` each, for every schema that has it.
    """
    documents: list[Any] = catalog.schemas()
    for path in files:
        documents += [made for made in yaml.safe_load_all(path.read_text()) if made]
    values = dict(setting.split("=") for setting in variables)
    for document in documents:
        for variable in document["spec"].get("variables") or ():
            if variable["name"] in values:
                variable["value"] = values[variable["name"]] == "true"
    return Registry.of(documents)


async def run(registry: Registry, port: int, certificate: Path, key: Path) -> None:
    """Serve until told to end."""
    server = WebhookServer(
        lambda: registry, lambda: None, tls=CertificateFiles(certificate, key).context
    )
    await server.start("127.0.0.1", port)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.stop()


@click.command()
@click.option("--port", type=int, required=True)
@click.option("--tls-cert-file", "certificate", type=click.Path(path_type=Path), required=True)
@click.option("--tls-private-key-file", "key", type=click.Path(path_type=Path), required=True)
@click.option("--variable", "variables", multiple=True)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
def main(
    port: int, certificate: Path, key: Path, variables: tuple[str, ...], files: tuple[Path, ...]
) -> None:
    """Serve reviews."""
    logs.configure(json=False, level="WARNING")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(schemas(files, variables), port, certificate, key))


if __name__ == "__main__":
    main()
