"""Writes the file of `kubectl dra snapshot`."""

from collections.abc import Iterable
from dataclasses import replace

import click

from dragoman import __version__
from dragoman.cli.terminal import say
from dragoman.inventory.snapshots.documents import KINDS
from dragoman.inventory.snapshots.snapshot import Snapshot, dump
from dragoman_toolkit.anonymous import anonymized
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Exit, Unusable


def write(source: Source, output: str, *, keep_names: bool, extras: Iterable[str] = ()) -> Exit:
    """Write what a cluster has to a file, `-` for standard output; return the exit status.

    Raises:
        Unusable: The cluster cannot be read, or the file not written.
    """
    taken = replace(source.read(KINDS.values()), extras=frozenset(extras))
    if not keep_names:
        taken = anonymized(taken)
    try:
        with click.open_file(output, "wb") as file:
            file.writelines(dump(taken, version=__version__))
    except OSError as error:
        raise Unusable(f"{output}: {error.strerror}") from None
    _summarise(taken)
    return Exit.UNKNOWN if taken.unseen else Exit.CLEAR


def _summarise(taken: Snapshot) -> None:
    counts = ", ".join(f"{len(found)} {plural}" for plural, found in taken.objects.items())
    say(f"written: {counts or 'no object'}")
    for one in taken.unseen:
        say(f"! not seen: {one}")
