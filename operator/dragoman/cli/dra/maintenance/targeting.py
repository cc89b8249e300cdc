"""Targets of commands that take devices out of service: options, selection, preview, question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.dra.cluster import completion
from dragoman.cli.dra.missing import missing
from dragoman.cli.dra.output import Unusable

if TYPE_CHECKING:  # heavy, and not needed for --help
    from click.shell_completion import CompletionItem

    from dragoman.cli.dra.cluster.source import Source
    from dragoman.inventory.inventory import Inventory
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman.maintenance.holds import Hold
    from dragoman.maintenance.targets import Selection, Target

Command = Callable[..., Any]
ASKED_ABOVE: Final = 8
"""Devices that a command takes without a question: the GPUs of one ordinary node."""
NEEDS: Final = ("resourceslices", "resourceclaims", "devicetaintrules", "pods")
SHOWN_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class Wish:
    """Which devices a command line means.

    Attributes:
        names: `driver/pool/device`, `driver/pool` or `node/NAME`.
        node: Node of the devices; empty for all.
        where: CEL expression; empty for all.
        dry_run: Whether only the preview is wanted.
        yes: Whether no question is wanted.
    """

    names: tuple[str, ...]
    node: str = ""
    where: str = ""
    dry_run: bool = False
    yes: bool = False

    def arguments(self) -> str:
        """Return the arguments that mean the same devices, for a shell."""
        import shlex  # noqa: PLC0415 — only for the last line

        words = [*self.names]
        words += ["--node", self.node] if self.node else []
        words += ["--where", self.where] if self.where else []
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The devices that a command line means, in the cluster as it was read.

    Attributes:
        wish: The command line.
        snapshot: What was read.
        inventory: What is known about devices.
        targets: The parsed command line.
        selection: The devices.
        holds: All holds of the cluster.
    """

    wish: Wish
    snapshot: Snapshot
    inventory: Inventory
    targets: tuple[Target, ...]
    selection: Selection
    holds: tuple[Hold, ...]

    def notes(self) -> Iterator[str]:
        """Yield what the answer leaves out."""
        from dragoman.cli.dra import notes  # noqa: PLC0415 — heavy

        failures = self.selection.failures
        if failures:
            more = len(failures) - SHOWN_FAILURES
            first = "; ".join(failures[:SHOWN_FAILURES]) + (
                f"; and {more} more" if more > 0 else ""
            )
            yield f"the expression fails on {len(failures)} devices, which are left out: {first}"
        yield from notes.common(self.inventory.world)


def _complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    devices = completion.devices(context)
    return completion.items([*devices, *(name.rpartition("/")[0] for name in devices)], begun)


def targeted(command: Command) -> Command:
    """Add TARGET, --node, --where, --dry-run and --yes; the command gets a Wish as `wish`."""

    @wraps(command)
    def run(**options: Any) -> Any:
        wish = Wish(**{name: options.pop(name) for name in _FIELDS})
        return command(wish=wish, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_FIELDS: Final = tuple(one.name for one in fields(Wish))
_OPTIONS: Final = (
    click.argument("names", metavar="[TARGET]…", nargs=-1, shell_complete=_complete),
    click.option(
        "--node",
        default="",
        metavar="NAME",
        shell_complete=completion.nodes,
        help="Only devices of this node.",
    ),
    click.option(
        "--where",
        default="",
        metavar="CEL",
        help="Only devices for which this expression, as in a DeviceClass, is true.",
    ),
    click.option("--dry-run", is_flag=True, help="Print what would happen, and change nothing."),
    click.option(
        "-y",
        "--yes",
        is_flag=True,
        help=f"Do not ask for confirmation (default: ask above {ASKED_ABOVE} devices).",
    ),
)


def choose(source: Source, wish: Wish) -> Chosen:
    """Read the cluster and select the devices.

    Raises:
        Unusable: A target is malformed, or no device meets the targets.
    """
    from dragoman.inventory.facts.parser import parse  # noqa: PLC0415 — heavy
    from dragoman.inventory.inventory import take  # noqa: PLC0415 — as above
    from dragoman.maintenance import holds, targets  # noqa: PLC0415 — as above

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
    from dragoman.maintenance.targets import near  # noqa: PLC0415 — heavy

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


def confirm(count: int, wish: Wish, verb: str) -> None:
    """Ask above ASKED_ABOVE devices; raise Abort, or Unusable where there is no terminal."""
    if wish.yes or count <= ASKED_ABOVE:
        return
    if not sys.stdin.isatty():
        raise Unusable(f"{verb} {count} devices? Confirm with --yes, or see --dry-run")
    click.confirm(f"{verb} {count} devices?", abort=True, err=True)
