"""Where a command's objects come from: a cluster or a snapshot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman_base import versions
from dragoman_toolkit.dra.output import ProgressLine, Unusable

if TYPE_CHECKING:  # heavy, and not needed for --help
    from dragoman.allocation.features import Profile
    from dragoman.inventory.facts.world import World
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman.kube.client import Client
    from dragoman_toolkit.dra.cluster.connection import ServerConnection
    from dragoman_toolkit.dra.cluster.selection import ObjectSelection

Answer = TypeVar("Answer")
DEFAULT_NAMESPACE = "default"
NAMESPACED = ("pods", "resourceclaims", "resourceclaimtemplates")


@dataclass(frozen=True)
class Source:
    """The options about clusters and namespaces."""

    snapshot: Path | None = None  # File to read instead of a cluster
    connection: ConnectionOptions = field(default=ConnectionOptions())  # To a cluster
    namespace_option: str = ""  # As given; empty where it was not
    all_namespaces: bool = False  # Whether names of all namespaces are meant
    profile_option: str = ""  # Version and gates of the scheduler, as given
    quiet: bool = False  # Whether no progress is shown, as where a table is redrawn in its place

    @property
    def namespace(self) -> str:
        """The namespace of names without one: as kubectl finds it."""
        if self.namespace_option:
            return self.namespace_option
        if self.snapshot:
            return DEFAULT_NAMESPACE
        return self._cluster.namespace() or DEFAULT_NAMESPACE

    @property
    def only_namespace(self) -> str:
        """The namespace whose objects are listed; empty for all of them."""
        if self.all_namespaces or (self.snapshot and not self.namespace_option):
            return ""
        return self.namespace

    @property
    def _cluster(self) -> ServerConnection:
        from dragoman_toolkit.dra.cluster.connection import ServerConnection  # noqa: PLC0415 — heavy

        return ServerConnection(self.connection)

    @cached_property
    def _file(self) -> Snapshot:
        from dragoman_toolkit.dra.cluster import dumps  # noqa: PLC0415 — not for --help

        assert self.snapshot is not None
        return dumps.load(self.snapshot)

    def read(self, plurals: Iterable[str], *, ended: bool = False) -> Snapshot:
        """Read objects; raise Unusable where neither cluster nor file gives any.

        Args:
            plurals: The resources.
            ended: Whether pods that have ended are read as well.
        """
        if self.snapshot:
            return self._file
        with ProgressLine(quiet=self.quiet) as progress:
            return self._cluster.read(self.namespace, plurals, progress, ended=ended)

    def call(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Call the API server; raise Unusable where it does not answer."""
        return self._cluster.call(question)

    def version(self) -> str:
        """Return the version of the API server, or of the one that a snapshot was taken of."""
        if self.snapshot:
            return self.read(()).kubernetes
        return self.call(_version)

    def selected(self, plural: str, selection: ObjectSelection) -> frozenset[str]:
        """Return the objects with labels and fields: names, or `namespace/name`.

        Raises:
            click.UsageError: There is no cluster to ask: snapshots have no labels.
            Unusable: A selector is malformed, or the objects may not be listed.
        """
        if self.snapshot:
            option = "-l" if selection.labels else "--field-selector"
            raise click.UsageError(f"{option}: a snapshot has no labels; ask a cluster")
        # Pods and claims of other namespaces may not be listed, and are not asked for.
        namespace = self.only_namespace if plural in NAMESPACED else ""
        return self._cluster.selected(plural, selection, namespace)

    def profile(self, world: World) -> Profile:
        """Return how the cluster's scheduler behaves; raise Unusable for an unknown version."""
        from dragoman.inventory.facts.profiles import server_profile  # noqa: PLC0415 — heavy

        version, gates = parse_profile(self.profile_option)
        try:
            return server_profile(world, version, gates)
        except ValueError as error:
            example = versions.name(versions.DEFAULT)
            raise Unusable(f"{error}; --profile {example} chooses one") from error


def with_queues(source: Source, snapshot: Snapshot) -> Snapshot:
    """Return objects with those of queue managers, as far as they may be read.

    Answers are complete without them: gates are then named as what they are.
    """
    from dragoman.inventory.snapshots.queuekinds import QUEUE_KINDS  # noqa: PLC0415 — not for --help

    if source.snapshot:
        return snapshot
    more = source.read(QUEUE_KINDS)
    return replace(snapshot, objects={**snapshot.objects, **more.objects})


async def _version(client: Client) -> str:
    return str((await client.get("/version")).get("gitVersion") or "")


def parse_profile(text: str) -> tuple[str, dict[str, bool]]:
    """Read `VERSION[,GATE=true|false]…`; raise Unusable for another form."""
    version, *rest = text.split(",")
    gates = {}
    for part in rest:
        name, equals, value = part.partition("=")
        if not equals or value not in ("true", "false"):
            raise Unusable(f"a feature gate is GATE=true or GATE=false, found {part!r}")
        gates[name] = value == "true"
    return version, gates
