"""What if: the same world with nodes more or fewer, pods fewer, devices tainted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dragoman.allocation import Content, Device, DeviceTaintRule, Node, Slice, Taint
from dragoman.inventory.documents import Document
from dragoman.inventory.facts import NodeFact, SliceFact, World

HOSTNAME: Final = "kubernetes.io/hostname"
MAX_NODES: Final = 1000
"""Virtual nodes of one answer."""


class ChangeError(ValueError):
    """A change names something that does not exist; the message says what."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences to the world as it is.

    Attributes:
        copies: Pairs of a node and how many virtual nodes like it are added.
        added: Virtual nodes of files.
        without_nodes: Nodes that are taken away; pods on them are not placed elsewhere.
        without_pods: `namespace/name` of pods that end; claims that only they use come free.
        rules: Taints of devices.
    """

    copies: tuple[tuple[str, int], ...] = ()
    added: tuple[Virtual, ...] = ()
    without_nodes: tuple[str, ...] = ()
    without_pods: tuple[str, ...] = ()
    rules: tuple[DeviceTaintRule, ...] = ()

    def __bool__(self) -> bool:
        nodes = self.copies or self.added or self.without_nodes
        return bool(nodes or self.without_pods or self.rules)


@dataclass(frozen=True, slots=True)
class Virtual:
    """A node that does not exist, with its slices.

    Attributes:
        node: The node.
        slices: Of its file, or copies of the slices of the node that it is like.
    """

    node: NodeFact
    slices: tuple[SliceFact, ...] = field(default_factory=tuple)


def changed(world: World, changes: Changes) -> tuple[World, tuple[Virtual, ...]]:
    """Return the world after changes, and the virtual nodes in it.

    Raises:
        ChangeError: A node or pod does not exist, or there are too many nodes.
    """
    for name in changes.without_nodes:
        if name not in world.nodes:
            raise ChangeError(f"node {name} not found")
    gone = set(changes.without_nodes)
    nodes = {name: node for name, node in world.nodes.items() if name not in gone}
    virtual = _virtual(world, changes)
    for one in virtual:
        if nodes.setdefault(one.node.node.name, one.node) is not one.node:
            name = one.node.node.name
            raise ChangeError(f"node {name} is there already; --without-node {name} replaces it")
    slices = [one for one in world.slices if one.slice.node_name not in gone]
    slices += [one for copy in virtual for one in copy.slices]
    after = replace(
        world,
        nodes=nodes,
        slices=tuple(slices),
        rules=(*world.rules, *changes.rules),
    )
    return _without_pods(after, changes.without_pods), virtual


def _virtual(world: World, changes: Changes) -> tuple[Virtual, ...]:
    copies = (
        copied(world, like, number)
        for like, count in _counted(changes)
        for number in range(1, count + 1)
    )
    return (*copies, *changes.added)


def _counted(changes: Changes) -> Iterable[tuple[str, int]]:
    total: dict[str, int] = {}
    for like, count in changes.copies:
        total[like] = total.get(like, 0) + count
    if sum(total.values()) + len(changes.added) > MAX_NODES:
        raise ChangeError(f"at most {MAX_NODES} virtual nodes can be added")
    return total.items()


def _without_pods(world: World, names: Iterable[str]) -> World:
    gone = set(names)
    for name in gone:
        if name not in world.pods:
            raise ChangeError(f"pod {name} not found")
    uids = {world.pods[name].pod.metadata.uid for name in gone}
    claims = {
        key: claim
        for key, claim in world.claims.items()
        if not claim.claim.consumers or {one.uid for one in claim.claim.consumers} - uids
    }
    pods = {key: pod for key, pod in world.pods.items() if key not in gone}
    return replace(world, pods=pods, claims=claims)


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
        Node(name, labels, origin.node.declared_features), _renamed(origin.document, name, labels)
    )
    local = (one for one in world.slices if one.slice.node_name == like)
    slices = tuple(
        SliceFact(_copied_slice(one.slice, like, name), world.now) for one in _current(local)
    )
    return Virtual(node, slices)


def _current(slices: Iterable[SliceFact]) -> list[SliceFact]:
    """Return the slices of the highest generation of each pool."""
    found = list(slices)
    newest: dict[object, int] = {}
    for one in found:
        key = one.slice.pool_id
        newest[key] = max(newest.get(key, 0), one.slice.generation)
    return [one for one in found if one.slice.generation == newest[one.slice.pool_id]]


def _copied_slice(one: Slice, like: str, name: str) -> Slice:
    return replace(
        one,
        name=_replaced(one.name, like, name),
        pool=_replaced(one.pool, like, name),
        generation=1,
        node_name=name,
        devices=tuple(
            Device(device.name, _on(device.content, like, name)) for device in one.devices
        ),
    )


def _on(content: Content, like: str, name: str) -> Content:
    """Return the content of a device on the new node; only its own node name can differ."""
    return replace(content, node_name=name) if content.node_name == like else content


def _replaced(text: str, like: str, name: str) -> str:
    return text.replace(like, name) if like in text else f"{text}-{name}"


def _renamed(document: Document, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "labels": dict(labels)}
    spec = dict(document.get("spec") or {})
    return {"metadata": metadata, "spec": spec, "status": document.get("status") or {}}


def manifests(virtual: Iterable[Virtual]) -> list[dict[str, Any]]:
    """Return virtual nodes and their slices as objects that can be applied."""
    found: list[dict[str, Any]] = []
    for one in virtual:
        found.append({"apiVersion": "v1", "kind": "Node", **one.node.document})
        found += [_slice_document(part.slice) for part in one.slices]
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


def taint_rule(text: str) -> DeviceTaintRule:
    """Read `driver[/pool[/device]]=key[=value]:effect`.

    Raises:
        ChangeError: The text has another form.
    """
    target, equals, rest = text.partition("=")
    taint, colon, effect = rest.rpartition(":")
    key, _, value = taint.partition("=")
    if not (equals and colon and target and key and effect in ("NoSchedule", "NoExecute")):
        raise ChangeError(
            f"--taint {text}: expected DRIVER[/POOL[/DEVICE]]=KEY[=VALUE]:NoSchedule or :NoExecute"
        )
    driver, _, below = target.partition("/")
    pool, _, device = below.rpartition("/") if below.count("/") else (below, "", "")
    return DeviceTaintRule(
        name=f"simulated {text}",
        taint=Taint(key, effect, value, "simulated"),
        driver=driver,
        pool=pool or None,
        device=device or None,
    )
