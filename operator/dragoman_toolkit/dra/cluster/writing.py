"""Writes the file of `kubectl dra snapshot`."""

from collections.abc import Iterable
from dataclasses import replace

import click

from dragoman import __version__
from dragoman.cli.terminal import say
from dragoman.inventory.snapshots.documents import KINDS
from dragoman.inventory.snapshots.queuekinds import QUEUE_KINDS
from dragoman.inventory.snapshots.snapshot import MIGRATION, QUEUES, Snapshot, dump
from dragoman_base.versions import beyond
from dragoman_toolkit.anonymous import anonymized
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.diagnosis.autoscaling import with_autoscalers
from dragoman_toolkit.dra.migration.reading import with_companions
from dragoman_toolkit.dra.output import Exit, Unusable


def write(source: Source, output: str, *, keep_names: bool, extras: Iterable[str] = ()) -> Exit:
    """Write what a cluster has to a file, `-` for standard output; return the exit status.

    Raises:
        Unusable: The cluster cannot be read, or the file not written.
    """
    taken = source.read((*KINDS.values(), *QUEUE_KINDS))
    kept = frozenset(extras)
    taken = replace(taken if QUEUES in kept else _without_many(taken), extras=kept)
    if MIGRATION in kept:
        taken = with_companions(source, taken)
    if "autoscaler" in kept:
        taken = with_autoscalers(source, taken)
    if not keep_names:
        taken = anonymized(taken)
    try:
        with click.open_file(output, "wb") as file:
            file.writelines(dump(taken, version=__version__))
    except OSError as error:
        raise Unusable(f"{output}: {error.strerror}") from None
    _summarise(taken)
    return Exit.UNKNOWN if taken.unseen else Exit.CLEAR


WORKLOADS = 5000
"""Workloads of Kueue from which on a snapshot has queues only where they are asked for."""


def _without_many(taken: Snapshot) -> Snapshot:
    """Leave out the objects of queue managers where they are many, and kinds that are not there."""
    many = len(taken.of("workloads.kueue.x-k8s.io")) >= WORKLOADS
    objects = {
        plural: found
        for plural, found in taken.objects.items()
        if plural not in QUEUE_KINDS or (found and not many)
    }
    return replace(taken, objects=objects)


def _summarise(taken: Snapshot) -> None:
    counts = ", ".join(f"{len(found)} {plural}" for plural, found in taken.objects.items())
    say(f"written: {counts or 'no object'}")
    if newer := beyond(taken.kubernetes):
        say(f"! {newer}")
    for one in taken.unseen:
        say(f"! not seen: {one}")
