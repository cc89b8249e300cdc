"""Options of commands that take devices out of service: their targets, reason and mechanism."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from dragoman_toolkit.dra.cluster import completion

if TYPE_CHECKING:  # heavy, and not needed for --help
    from click.shell_completion import CompletionItem


Command = Callable[..., Any]
ASKED_ABOVE = 8
"""Devices that a command takes without a question: the GPUs of one ordinary node."""

reason_option = click.option(
    "--reason", default="", metavar="TEXT", help="Shown by `kubectl dra holds`."
)
mechanism_option = click.option(
    "--with",
    "mechanism",
    type=click.Choice(("auto", "rule", "claim")),
    default="auto",
    show_default=True,
    help="Hold devices by DeviceTaintRules or by held claims; auto: by rules where served.",
)


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """Which devices a command line means."""

    names: tuple[str, ...]  # `driver/pool/device`, `driver/pool` or `node/NAME`
    node: str = ""  # Node of the devices; empty for all
    where: str = ""  # CEL expression; empty for all
    dry_run: bool = False  # Whether only the preview is wanted
    yes: bool = False  # Whether no question is wanted

    def arguments(self) -> str:
        """Return the arguments that mean the same devices, for a shell."""
        words = [*self.names]
        words += ["--node", self.node] if self.node else []
        words += ["--where", self.where] if self.where else []
        return shlex.join(words)


def _complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    devices = completion.devices(context)
    return completion.items([*devices, *(name.rpartition("/")[0] for name in devices)], begun)


def targeted(command: Command) -> Command:
    """Add TARGET, --node, --where, --dry-run and --yes; then it gets WantedDevices as `wish`."""

    @wraps(command)
    def run(**options: Any) -> Any:
        wish = WantedDevices(**{name: options.pop(name) for name in _FIELDS})
        return command(wish=wish, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_FIELDS = tuple(one.name for one in fields(WantedDevices))
_OPTIONS = (
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
