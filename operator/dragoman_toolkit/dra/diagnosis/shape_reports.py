"""What `kubectl dra shapes` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from dragoman.cli.terminal import say
from dragoman.model.fields import part
from dragoman_base.words.nearnames import did_you_mean
from dragoman_toolkit.dra.output import Exit, Report, Table, Unusable
from dragoman_toolkit.shapes import known
from dragoman_toolkit.shapes.nodes import INSTANCE_TYPE
from dragoman_toolkit.shapes.record import recorded
from dragoman_toolkit.shapes.shape import Shape, ShapeError

if TYPE_CHECKING:
    from dragoman.inventory.snapshots.documents import Document
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman_toolkit.dra.cluster.source import Source


def listed(folder: Path | None, *, wide: bool) -> Report:
    """Return all shapes; raise Unusable for a file that is none."""
    try:
        found = known.every(folder)
    except ShapeError as error:
        raise Unusable(str(error)) from None
    headers = (
        "NAME",
        "MACHINE TYPE",
        "DRIVERS",
        "DEVICES",
        "WHOLE",
        *(("SOURCE",) if wide else ()),
    )
    rows = tuple(
        (
            one.name,
            one.machine,
            ", ".join(pool.driver for pool in one.pools),
            ", ".join(str(pool.total) for pool in one.pools),
            ", ".join("yes" if pool.complete else "no" for pool in one.pools),
            *(("; ".join(dict.fromkeys(pool.source for pool in one.pools)),) if wide else ()),
        )
        for one in found
    )
    return Report("NodeShapes", {"shapes": [*map(_row, found)]}, (Table(headers, rows),))


def _row(one: Shape) -> dict[str, Any]:
    return {
        "name": one.name,
        "machineType": one.machine,
        "pools": [
            {
                "driver": pool.driver,
                "devices": pool.total,
                "recorded": len(pool.devices),
                "complete": pool.complete,
                "source": pool.source,
            }
            for pool in one.pools
        ],
    }


def shown(name: str, folder: Path | None) -> Report:
    """Return one shape, as its file has it."""
    try:
        one = known.named(name, folder)
    except ShapeError as error:
        raise Unusable(str(error)) from None
    text = yaml.safe_dump(dict(one.document), sort_keys=False, allow_unicode=True).rstrip()
    fields = {key: one.document[key] for key in one.document if key not in ("apiVersion", "kind")}
    return Report("NodeShape", fields, (text,))


def record(source: Source, node: str, name: str) -> Exit:
    """Print the shape of a node; return the exit status."""
    snapshot = source.read(("nodes", "resourceslices"))
    nodes = {str(part(one, "metadata").get("name") or ""): one for one in snapshot.of("nodes")}
    if node not in nodes:
        raise Unusable(f"node {node} not found{did_you_mean(node, nodes)}")
    slices = _slices(snapshot, node)
    if not slices:
        raise Unusable(f"node {node} has no ResourceSlices: there is nothing to record")
    machine = _machine(nodes[node])
    twins = [
        other for other in nodes if other != node and machine and _machine(nodes[other]) == machine
    ]
    others = [_slices(snapshot, other) for other in twins]
    made = recorded(name, nodes[node], slices, others)
    click.echo(yaml.safe_dump(made, sort_keys=False, allow_unicode=True), nl=False)
    if not twins:
        say(
            "! one node of this machine type: values that differ from machine to machine are known "
            "by name alone; look for serials and addresses before you share the file"
        )
    return Exit.CLEAR


def _slices(snapshot: Snapshot, node: str) -> list[Document]:
    found = snapshot.of("resourceslices")
    return [one for one in found if part(one, "spec").get("nodeName") == node]


def _machine(node: Document) -> str:
    return str(part(node, "metadata", "labels").get(INSTANCE_TYPE) or "")
