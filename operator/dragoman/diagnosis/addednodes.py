"""Nodes of files that a simulation adds, with their slices."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dragoman.diagnosis.files import overlaid
from dragoman.diagnosis.virtualnodes import ChangeError, Virtual
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import World
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.slice import Slice


def added(trees: Iterable[Any], taken: str, origin: str) -> tuple[Virtual, ...]:
    """Return the nodes of a file with the slices that are local to them.

    Args:
        trees: JSON trees of the file's documents; other kinds are ignored.
        taken: When the cluster was read: its slices are no older.
        origin: The option and the file, for messages.

    Raises:
        ChangeError: The file has no node, an object is malformed, or a slice is not local to a
            node of the file.
    """
    world = parse(overlaid(Snapshot(taken=taken), trees, "").snapshot)
    if world.malformed:
        first = world.malformed[0]
        raise ChangeError(f"{origin}: {first.plural} {first.name}: {first.problem}")
    if not world.nodes:
        raise ChangeError(f"{origin}: the file has no Node; one with its ResourceSlices is needed")
    local: dict[str, list[Slice]] = {name: [] for name in world.nodes}
    for one in _dated(world):
        node = one.node_name or ""
        if node not in local:
            there = ", ".join(sorted(local))
            raise ChangeError(
                f"{origin}: ResourceSlice {one.name} has no spec.nodeName of a node in the "
                f"file ({there}); put slices of other nodes into a file of -f"
            )
        local[node].append(one)
    return tuple(Virtual(world.nodes[name], tuple(slices)) for name, slices in local.items())


def _dated(world: World) -> Iterable[Slice]:
    return (replace(one, created=one.created or world.now) for one in world.slices)
