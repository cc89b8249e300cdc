"""`kubectl dra ui`: the page in a browser, following the cluster; and `top --html`, as a file."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dragoman.cli.dra.cluster.options import connected
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.output import Exit, Progress, Unusable
from dragoman.cli.terminal import say

if TYPE_CHECKING:  # heavy, and not needed for --help
    from dragoman.cli.dra.ui.live import Cluster, Live
    from dragoman.cluster.watcher import Watcher
    from dragoman.inventory.inventory import Inventory
    from dragoman.inventory.snapshots.snapshot import Snapshot

NEEDS: Final = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules", "resourcequotas"),
)
"""What the page is computed from."""
LISTING: Final = 5.0
"""Least seconds between two lists where the cluster cannot be watched."""
EXPLAINING: Final = 30.0
"""Seconds for explanations of one file."""
_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra ui                        # opens the page in the browser
  kubectl dra ui --no-browser           # prints its address only
  kubectl dra ui --snapshot cluster.jsonl
  kubectl dra top --html devices.html   # the page as one file

\b
From another machine:
  ssh -L 8001:127.0.0.1:8001 HOST kubectl dra ui --no-browser --port 8001

\b
Exit status:
  0  ended by Ctrl-C
  2  the cluster could not be read, or bad input
"""


@click.command(epilog=_EXAMPLES)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port on 127.0.0.1; by default a random free one.",
)
@click.option(
    "--interval",
    type=click.FloatRange(0.5),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Minimum interval between updates of the page; at least 5 without permission to watch.",
)
@connected
def ui(source: Source, no_browser: bool, port: int, interval: float) -> None:  # noqa: FBT001 — click
    """Show a map of nodes and devices, their holders, and pods that wait, in the browser.

    The page is served on 127.0.0.1 to those who have its address, which contains a token. It
    follows the cluster, changes nothing in it, and loads nothing from any other host.
    """
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(source, port, interval, browser=not no_browser))
    sys.exit(Exit.CLEAR)


async def _serve(source: Source, port: int, interval: float, *, browser: bool) -> None:
    from dragoman.cli.dra.ui.live import Live  # noqa: PLC0415 — heavy
    from dragoman.cli.dra.ui.opening import Opener  # noqa: PLC0415 — heavy
    from dragoman.cli.dra.ui.serve import TOKEN_BYTES, listening  # noqa: PLC0415 — heavy

    async with _cluster(source, interval) as cluster:
        live = Live(title(source), cluster, source.profile, interval, _kind(source))
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
    """A snapshot, which never changes.

    Attributes:
        snapshot: What is in it.
    """

    snapshot: Snapshot

    async def read(self) -> Snapshot:
        """Return it."""
        return self.snapshot

    async def changed(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()


@dataclass
class _Watched:
    """A cluster that is watched.

    Attributes:
        watcher: Keeps its objects.
    """

    watcher: Watcher

    async def read(self) -> Snapshot:
        """Return the cluster as it is now; raise Unusable where it does not answer."""
        from dragoman.cli.dra.cluster.connection import explained  # noqa: PLC0415 — heavy

        with explained(), Progress() as progress:
            self.watcher.progress = progress
            return await self.watcher.read()

    async def changed(self) -> None:
        """Wait until it is to be read again."""
        await self.watcher.changed()


@asynccontextmanager
async def _cluster(source: Source, interval: float) -> AsyncIterator[Cluster]:
    """Yield what reads the source, over one connection."""
    if source.snapshot:
        yield _File(source.read(NEEDS))
        return
    from dragoman import logs  # noqa: PLC0415 — heavy
    from dragoman.cli.dra.cluster.connection import client_of  # noqa: PLC0415 — heavy
    from dragoman.cluster.watcher import Watcher  # noqa: PLC0415 — heavy

    # Watches log their retries; the page shows what is wrong.
    logs.configure(json=False, level="ERROR")
    async with client_of(source) as client:
        watcher = Watcher(client, source.namespace, NEEDS, max(interval, LISTING))
        async with watcher.watching():
            yield _Watched(watcher)


def _kind(source: Source) -> str:
    from dragoman.cli.dra.ui import render  # noqa: PLC0415 — heavy

    return render.SNAPSHOT if source.snapshot else render.CLUSTER


def title(source: Source) -> str:
    """Return the name of the cluster: the context's, or the snapshot's file name."""
    if source.snapshot:
        return source.snapshot.name
    from dragoman.cli.dra.cluster.connection import context_name  # noqa: PLC0415 — heavy

    return source.context or context_name(source.kubeconfig) or "cluster"


def write(source: Source, snapshot: Snapshot, inventory: Inventory, file: Path) -> None:
    """Write the page to a file that needs no other; raise Unusable where that fails."""
    from dragoman.cli.dra.ui import render  # noqa: PLC0415 — heavy
    from dragoman.cli.dra.ui.explanations import Explainer  # noqa: PLC0415 — heavy
    from dragoman.cli.dra.ui.page import page  # noqa: PLC0415 — heavy

    found = page(inventory, snapshot)
    explanations = {}
    with Progress() as progress:
        explainer = Explainer(inventory)
        for pod, report in explainer.each((one.key for one in found.waiting), EXPLAINING):
            explanations[pod] = report
            progress("pods explained", len(explanations))
    text = render.whole(
        render.document(found, explanations, live=False),
        title=title(source),
        taken=found.taken,
        kubernetes=found.kubernetes,
        revision=0,
        kind=_kind(source),
    )
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unusable(f"--html {file}: {error.strerror}") from error
    say(f"{file}: {len(found.rows)} nodes, {sum(found.states.values())} devices")
