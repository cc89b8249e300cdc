"""What `unhold`, `undrain` and `untaint` do: delete holds, and name those that are not theirs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dragoman.controllers.maintenance.view import served_rules
from dragoman.controllers.maintenance.writer import Writer
from dragoman.kube.discovery import discover
from dragoman.maintenance.manifests import Origin
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.maintenance.choosing import Chosen, choose, confirm, require_devices
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices
from dragoman_toolkit.dra.output import Exit, Report, show
from dragoman_toolkit.releasing import Release, is_hold, is_taint, lines, release

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.kube.client import Client
    from dragoman.maintenance.holds import Hold


def undo(
    source: Source,
    wish: WantedDevices,
    command: str,
    output: Output,
    wanted: Callable[[Hold], bool] = is_hold,
) -> None:
    """Delete the holds of a target, and exit.

    Args:
        source: The cluster.
        wish: The target.
        command: For messages.
        output: Form of the output.
        wanted: Which objects the command is about; holds of `hold` and `drain` by default.
    """
    chosen = choose(source, wish)
    found = release(
        chosen.holds,
        tuple(chosen.inventory.devices),
        chosen.selection.ids,
        chosen.targets,
        wanted,
    )
    if not found.deleted and not found.kept:
        require_devices(chosen)
    if not wish.dry_run:
        confirm(len(chosen.selection.devices), wish, command)
        missing = source.call(lambda client: _delete(client, found.deleted))
    else:
        missing = set()
    report = _report(chosen, found, missing)
    show(report, output)
    sys.exit(report.status)


def untaint(source: Source, wish: WantedDevices, key: str, effect: str, output: Output) -> None:
    """Delete the rules of `taint` with a key and an effect, and exit; empty stands for any."""
    undo(source, wish, "untaint", output, is_taint(key, effect))


async def _delete(client: Client, deleted: tuple[Hold, ...]) -> set[str]:
    """Delete holds; return the names of those that were deleted already."""
    served = await discover(client, "off")
    writer = Writer(client, served.claims, await served_rules(client), "", Origin())
    return {hold.name for hold in deleted if not await writer.delete(hold)}


def _report(chosen: Chosen, found: Release, missing: set[str]) -> Report:
    dry_run = chosen.wish.dry_run
    verb = "would be deleted" if dry_run else "deleted"
    said = [
        f"{hold} {'was deleted already' if hold.name in missing else verb}"
        for hold in found.deleted
    ]
    if not said and not found.kept:
        said.append("Nothing to delete: no hold concerns the devices.")
    document = {
        **notes.header(chosen.inventory.world),
        "dryRun": dry_run,
        "devices": [one._asdict() for one in chosen.selection.ids],
        "deleted": [_document(hold) for hold in found.deleted],
        "kept": [{**_document(hold), "remedy": remedy} for hold, remedy in found.kept],
    }
    status = Exit.OBSTACLE if found.kept else Exit.CLEAR
    said += lines(found)
    return Report("Release", document, tuple(said), status, tuple(chosen.notes()))


def _document(hold: Hold) -> dict[str, str]:
    return {
        "kind": str(hold.kind),
        "name": hold.name,
        "namespace": hold.namespace,
        "devices": str(hold.selector),
    }
