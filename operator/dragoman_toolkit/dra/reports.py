"""Reports: one answer as a document for programs and as tables for people."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import click

from dragoman.inventory.snapshots.snapshot import API_VERSION
from dragoman_toolkit.dra.tables import Cell, Table


class Exit(IntEnum):
    """Exit statuses of all users' commands."""

    CLEAR = 0
    OBSTACLE = 1
    UNKNOWN = 2


class Unusable(click.ClickException):
    """Input, rights or a version that leave the question open; the message says what to do."""

    exit_code = Exit.UNKNOWN


class Nothing(Cell):
    """A sentence that something is not there: left out where it may only not have been seen."""


@dataclass(frozen=True, slots=True)
class Report:
    """One answer."""

    kind: str  # Of the document
    # Its fields beside `apiVersion` and `kind`; JSON types only, keys are stable
    document: Mapping[str, Any]
    # Tables and paragraphs for people, in order; empty paragraphs are blank lines
    blocks: tuple[Table | str | Cell, ...] = ()
    status: Exit = Exit.CLEAR  # The command's exit status
    notes: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return the whole document."""
        return {"apiVersion": API_VERSION, "kind": self.kind, **self.document}
