"""Serves the page of `kubectl dra ui`, which follows the cluster or shows a snapshot."""

import asyncio
import secrets
import tempfile
import time
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Self

import click

from dragoman import logs
from dragoman.cli.terminal import say
from dragoman.cluster.reader import Reader
from dragoman.inventory.snapshots.queuekinds import QUEUE_KINDS
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.client import Client
from dragoman_toolkit.dra.cluster.connection import client_of, explained
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.cluster.watcher import Watcher
from dragoman_toolkit.dra.output import ProgressLine
from dragoman_toolkit.dra.ui.file import NEEDS, kind_of, title
from dragoman_toolkit.dra.ui.live import Live, ObjectSource
from dragoman_toolkit.dra.ui.objects import described
from dragoman_toolkit.dra.ui.serve import TOKEN_BYTES, listening

_REDIRECT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>kubectl dra ui</title>
<p>The page is at <a href="{address}">{address}</a>.
"""


class Opener:
    """A file, readable by its user alone, that leads a browser to an address.

    The arguments of processes can be read by all users of a machine, so that the browser gets the
    name of the file. It is deleted on exit: browsers may start slowly.

    Args:
        address: Of the page, with its token.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._file: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def open(self) -> bool:
        """Open the browser; return whether there is one."""
        try:
            # Made with mode 0600.
            with tempfile.NamedTemporaryFile(
                "w", prefix="dragoman-ui-", suffix=".html", delete=False, encoding="utf-8"
            ) as file:
                self._file = Path(file.name)
                file.write(_REDIRECT.format(address=escape(self._address)))
        except OSError:
            return False
        return webbrowser.open(self._file.as_uri())


QUEUES_AGE = 15.0
"""Seconds for which lists of the objects of queue managers are used."""
LISTING = 5.0
"""Least seconds between two lists where the cluster cannot be watched."""


async def serve(source: Source, port: int, interval: float, *, browser: bool) -> None:
    """Serve the page until cancelled."""
    async with _cluster(source, interval) as cluster:
        show = cluster.show if isinstance(cluster, _Watched) else None
        live = Live(title(source), cluster, source.profile, interval, kind_of(source), show)
        await live.start()
        async with listening(live, secrets.token_urlsafe(TOKEN_BYTES), port) as address:
            click.echo(f"The page is at {address}\nCtrl-C ends it.")
            with Opener(address) as opener:
                if browser and not await asyncio.to_thread(opener.open):
                    say("There is no browser to open: follow the address above.")
                await _until_interrupted(live, follow=source.snapshot is None)


async def _until_interrupted(live: Live, *, follow: bool) -> None:
    """Follow the cluster; a snapshot has nothing to follow but its explanations."""
    if follow:
        await live.run()
    await live.search_all()
    await asyncio.Event().wait()


@dataclass
class _File:
    """A snapshot, which never changes."""

    snapshot: Snapshot  # What is in it

    async def read(self) -> Snapshot:
        """Return it."""
        return self.snapshot

    async def changed(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()


@dataclass
class _Watched:
    """A cluster that is watched."""

    watcher: Watcher  # Keeps its objects
    client: Client  # The connection
    # Objects of queue managers, as they were listed last
    queues: Snapshot = field(default_factory=lambda: Snapshot(""))
    _until: float = 0.0

    async def read(self) -> Snapshot:
        """Return the cluster as it is now; raise Unusable where it does not answer."""
        with explained(), ProgressLine() as progress:
            self.watcher.progress = progress
            found = await self.watcher.read()
            # There are few changes of quotas, and many kinds of them.
            if time.monotonic() >= self._until:
                self.queues = await Reader(self.client, self.watcher.namespace).read(QUEUE_KINDS)
                self._until = time.monotonic() + QUEUES_AGE
        return replace(found, objects={**found.objects, **self.queues.objects})

    async def changed(self) -> None:
        """Wait until it is to be read again."""
        await self.watcher.changed()

    async def show(self, kind: str, namespace: str, name: str) -> str:
        """Return an object and its Events; see `objects.described`."""
        return await described(self.client, kind, namespace, name)


@asynccontextmanager
async def _cluster(source: Source, interval: float) -> AsyncIterator[ObjectSource]:
    """Yield what reads the source, over one connection."""
    if source.snapshot:
        yield _File(source.read(NEEDS))
        return
    # Watches log their retries; the page shows what is wrong.
    logs.configure(json=False, level="ERROR")
    async with client_of(source.connection) as client:
        watcher = Watcher(client, source.namespace, NEEDS, max(interval, LISTING))
        async with watcher.watching():
            yield _Watched(watcher, client)
