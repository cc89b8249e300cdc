"""Where a command's objects come from: a cluster or a snapshot, and the options that say so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from dragoman.cli.dra.completion import contexts as complete_contexts
from dragoman.cli.dra.completion import namespaces as complete_namespaces
from dragoman.cli.dra.output import FORMATS, Progress, Unusable

if TYPE_CHECKING:  # heavy, and not needed for --help
    from dragoman.allocation.features import Profile
    from dragoman.inventory.facts import World
    from dragoman.inventory.snapshot import Snapshot
    from dragoman.kube.client import Client

Answer = TypeVar("Answer")
Command = Callable[..., Any]
DEFAULT_NAMESPACE: Final = "default"
_MAX_SNAPSHOT: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """The options about clusters and namespaces.

    Attributes:
        snapshot: File to read instead of a cluster.
        kubeconfig: File; None for the usual places.
        context: Of the kubeconfig; None for its current one.
        user: To impersonate; empty for none.
        groups: To impersonate.
        namespace_option: As given; empty where it was not.
        all_namespaces: Whether names of all namespaces are meant.
        profile_option: Version and gates of the scheduler, as given.
    """

    snapshot: Path | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    namespace_option: str = ""
    all_namespaces: bool = False
    profile_option: str = ""

    @property
    def namespace(self) -> str:
        """The namespace of names without one: as kubectl finds it."""
        if self.namespace_option:
            return self.namespace_option
        if self.snapshot:
            return DEFAULT_NAMESPACE
        from dragoman.cli.dra.connection import current_namespace  # noqa: PLC0415 — heavy

        return current_namespace(self.kubeconfig, self.context) or DEFAULT_NAMESPACE

    @property
    def only_namespace(self) -> str:
        """The namespace whose objects are listed; empty for all of them."""
        if self.all_namespaces or (self.snapshot and not self.namespace_option):
            return ""
        return self.namespace

    def read(self, plurals: Iterable[str]) -> Snapshot:
        """Read objects; raise Unusable where neither cluster nor file gives any."""
        if self.snapshot:
            return _load(self.snapshot)
        with Progress() as progress:
            from dragoman.controllers.clusterreader import Reader  # noqa: PLC0415 — heavy

            return self.call(lambda client: Reader(client, self.namespace, progress).read(plurals))

    def world(self, plurals: Iterable[str]) -> World:
        """Read objects and parse them."""
        from dragoman.inventory.factparser import parse  # noqa: PLC0415 — heavy

        return parse(self.read(plurals))

    def call(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Call the API server; raise Unusable where it does not answer."""
        from dragoman.cli.dra.connection import call  # noqa: PLC0415 — heavy

        return asyncio.run(call(self, question))

    def profile(self, world: World) -> Profile:
        """Return how the cluster's scheduler behaves; raise Unusable for an unknown version."""
        from dragoman.inventory.profiles import server_profile  # noqa: PLC0415 — heavy

        version, gates = parse_profile(self.profile_option)
        try:
            return server_profile(world, version, gates)
        except ValueError as error:
            raise Unusable(f"{error}; --profile 1.36 chooses one") from error


def parse_profile(text: str) -> tuple[str, dict[str, bool]]:
    """Read `VERSION[,GATE=true|false]…`; raise Unusable for another form."""
    version, *rest = text.split(",")
    gates = {}
    for part in rest:
        name, equals, value = part.partition("=")
        if not equals or value not in ("true", "false"):
            raise Unusable(f"--profile: expected GATE=true or GATE=false, found {part!r}")
        gates[name] = value == "true"
    return version, gates


def connected(command: Command) -> Command:
    """Add the options about clusters and namespaces; the command gets a Source first."""

    @wraps(command)
    def run(**options: Any) -> Any:
        source = Source(**{name: options.pop(name) for name in _FIELDS})
        return command(source, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_OPTIONS: Final = (
    click.option(
        "--snapshot",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Read this file, made by `kubectl dra snapshot`, instead of a cluster.",
    ),
    click.option(
        "-n",
        "--namespace",
        "namespace_option",
        default="",
        metavar="NAME",
        shell_complete=complete_namespaces,
        help="Namespace of names without one; by default that of the context.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="Show objects of all namespaces."),
    click.option(
        "--context",
        metavar="NAME",
        shell_complete=complete_contexts,
        help="Context of the kubeconfig; by default its current one.",
    ),
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or a pod's service account.",
    ),
    click.option("--as", "user", default="", metavar="USER", help="User to impersonate."),
    click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="Group as well."),
    click.option(
        "--profile",
        "profile_option",
        default="",
        metavar="VERSION[,GATE=BOOL…]",
        help="The scheduler's version and feature gates; by default those of the server's version.",
    ),
)
_FIELDS: Final = (
    "snapshot",
    "kubeconfig",
    "context",
    "user",
    "groups",
    "namespace_option",
    "all_namespaces",
    "profile_option",
)


def output_option(command: Command) -> Command:
    """Add -o."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Form of the output; keys of json and yaml are stable.",
    )(command)


def _load(path: Path) -> Snapshot:
    from dragoman.inventory.snapshot import SnapshotError, load  # noqa: PLC0415 — heavy

    try:
        if path.stat().st_size > _MAX_SNAPSHOT:
            raise Unusable(f"{path}: larger than {_MAX_SNAPSHOT >> 20} MiB")
        with path.open("rb") as lines:
            return load(lines)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    except SnapshotError as error:
        raise Unusable(f"{path}: {error}") from None
