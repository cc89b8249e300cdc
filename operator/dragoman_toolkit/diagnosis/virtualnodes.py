"""Virtual nodes: copies of real ones or nodes of files, with slices, and as objects to apply."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.allocation import Content, Device, Node, Slice
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import NodeFact, World
from dragoman.inventory.snapshots.documents import Document
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman_toolkit.diagnosis.files import overlaid

HOSTNAME = "kubernetes.io/hostname"


def is_count(text: str, most: int) -> bool:
    """Whether a text is a number from 1 on, however many digits it has."""
    return text.isdecimal() and len(text) < 10 and 0 < int(text) <= most


class ChangeError(ValueError):
    """A change names something that does not exist; the message says what."""


@dataclass(frozen=True, slots=True)
class Virtual:
    """A node that does not exist, with its slices."""

    node: NodeFact  # The node
    # Of its file, or copies of the slices of the node that it is like
    slices: tuple[Slice, ...] = field(default_factory=tuple)


def copied(world: World, like: str, number: int) -> Virtual:
    """Return a virtual node that has copies of the slices of another.

    Slices of several nodes, as of network devices, are shared and not copied. Names sort as those
    of the real node would: where its name is a part of them, the new name takes its place.

    Raises:
        ChangeError: The other node does not exist.
    """
    origin = world.nodes.get(like)
    if origin is None:
        raise ChangeError(f"--add-node like={like}: node {like} not found")
    name = f"{like}-virtual-{number}"
    labels = {**origin.node.labels}
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    node = NodeFact(
        Node(name, labels, origin.node.declared_features),
        origin.room,
        _renamed(origin.document, name, labels),
    )
    current = _current(world.slices)
    local = Counter(one.pool_id for one in current if one.node_name == like)
    there = Counter(one.pool_id for one in current)
    slices = []
    for one in current:
        key, wanted = one.pool_id, one.slice_count
        if one.node_name == like:
            # A pool of several nodes becomes one of the new node alone, as complete as that is.
            count = local[key] if there[key] == wanted else wanted
            slices.append(_copied_slice(one, like, name, count, world.now))
    return Virtual(node, tuple(slices))


def _current(slices: Iterable[Slice]) -> list[Slice]:
    """Return the slices of the highest generation of each pool."""
    found = list(slices)
    newest: dict[object, int] = {}
    for one in found:
        key = one.pool_id
        newest[key] = max(newest.get(key, 0), one.generation)
    return [one for one in found if one.generation == newest[one.pool_id]]


def _copied_slice(one: Slice, like: str, name: str, slice_count: int, created: str) -> Slice:
    return replace(
        one,
        slice_count=slice_count,
        name=_replaced(one.name, like, name),
        pool=_replaced(one.pool, like, name),
        generation=1,
        node_name=name,
        created=created,
        devices=tuple(
            Device(device.name, _on(device.content, like, name)) for device in one.devices
        ),
    )


def _on(content: Content, like: str, name: str) -> Content:
    """Return the content of a device on the new node; only its own node name can differ."""
    return replace(content, node_name=name) if content.node_name == like else content


def _replaced(text: str, like: str, name: str) -> str:
    found, count = re.subn(rf"(?<![a-z0-9]){re.escape(like)}(?![a-z0-9])", name, text)
    return found if count else f"{text}-{name}"


def _renamed(document: Document, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "labels": dict(labels)}
    spec = dict(document.get("spec") or {})
    return {"metadata": metadata, "spec": spec, "status": document.get("status") or {}}


def manifests(virtual: Iterable[Virtual]) -> list[dict[str, Any]]:
    """Return virtual nodes and their slices as objects that can be applied."""
    found: list[dict[str, Any]] = []
    for one in virtual:
        found.append({"apiVersion": "v1", "kind": "Node", **one.node.document})
        found += [_slice_document(part) for part in one.slices]
    return found


def _slice_document(one: Slice) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "driver": one.driver,
        "nodeName": one.node_name,
        "pool": {
            "name": one.pool,
            "generation": one.generation,
            "resourceSliceCount": one.slice_count,
        },
    }
    if one.shared_counters:
        spec["sharedCounters"] = [
            {
                "name": counters.name,
                "counters": {
                    name: {"value": str(value)} for name, value in counters.counters.items()
                },
            }
            for counters in one.shared_counters
        ]
    else:
        spec["devices"] = [
            {"name": device.name, **device.content.document} for device in one.devices
        ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": one.name},
        "spec": spec,
    }


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
    for found in world.slices:
        one = replace(found, created=found.created or world.now)
        node = one.node_name or ""
        if node not in local:
            there = ", ".join(sorted(local))
            raise ChangeError(
                f"{origin}: ResourceSlice {one.name} has no spec.nodeName of a node in the "
                f"file ({there}); put slices of other nodes into a file of -f"
            )
        local[node].append(one)
    return tuple(Virtual(world.nodes[name], tuple(slices)) for name, slices in local.items())
