"""The devices that a command line means, in the cluster as it was read."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import click

from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory, take
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.maintenance import holds, targets
from dragoman.maintenance.holds import Hold
from dragoman.maintenance.targets import Target, TargetSelection, near
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.maintenance.targeting import ASKED_ABOVE, WantedDevices
from dragoman_toolkit.dra.missing import missing
from dragoman_toolkit.dra.output import Unusable

NEEDS = ("resourceslices", "resourceclaims", "devicetaintrules", "pods")


SHOWN_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """The devices that a command line means, in the cluster as it was read."""

    wish: WantedDevices  # The command line
    snapshot: Snapshot  # What was read
    inventory: Inventory  # What is known about devices
    targets: tuple[Target, ...]  # The parsed command line
    selection: TargetSelection  # The devices
    holds: tuple[Hold, ...]  # All holds of the cluster

    def notes(self) -> Iterator[str]:
        """Yield what the answer leaves out."""
        failures = self.selection.failures
        if failures:
            more = len(failures) - SHOWN_FAILURES
            first = "; ".join(failures[:SHOWN_FAILURES]) + (
                f"; and {more} more" if more > 0 else ""
            )
            yield f"the expression fails on {len(failures)} devices, which are left out: {first}"
        yield from notes.common(self.inventory.world)


def choose(source: Source, wish: WantedDevices) -> Chosen:
    """Read the cluster and select the devices.

    Raises:
        Unusable: A target is malformed, or no device meets the targets.
    """
    if source.snapshot and not wish.dry_run:
        raise click.UsageError("a snapshot cannot be changed: add --dry-run")
    snapshot = source.read(NEEDS)
    world = parse(snapshot)
    inventory = take(world, source.profile(world))
    try:
        wanted = targets.targets(wish.names, inventory, node=wish.node, where=wish.where)
        selection = targets.select(inventory, wanted)
    except targets.TargetError as error:
        raise Unusable(str(error)) from None
    found = tuple(holds.read(snapshot.of("devicetaintrules"), snapshot.of("resourceclaims")))
    return Chosen(wish, snapshot, inventory, wanted, selection, found)


def require_devices(chosen: Chosen) -> None:
    """Raise Unusable where no device meets the targets."""
    if chosen.selection.devices:
        return
    world = chosen.inventory.world
    for target in chosen.targets:
        if hint := near(target, chosen.inventory):
            raise missing(world, f"{target}: no such device; {hint}", "resourceslices")
    if failures := chosen.selection.failures:
        raise Unusable(f"{chosen.targets[0]}: no device; the expression fails, as on {failures[0]}")
    text = f"{'; '.join(map(str, chosen.targets))}: no device meets this"
    raise missing(world, text, "resourceslices")


def confirm(count: int, wish: WantedDevices, verb: str) -> None:
    """Ask above ASKED_ABOVE devices; raise Abort, or Unusable where there is no terminal."""
    if wish.yes or count <= ASKED_ABOVE:
        return
    if not sys.stdin.isatty():
        raise Unusable(f"{verb} {count} devices? Confirm with --yes, or see --dry-run")
    click.confirm(f"{verb} {count} devices?", abort=True, err=True)
