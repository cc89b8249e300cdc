"""What `explain` says about autoscalers: what they wrote, and which machine would have room."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dragoman import surroundings
from dragoman.allocation import Allocated
from dragoman.diagnosis import groups
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.explain import explain
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.inventory import Inventory, take
from dragoman.inventory.snapshots.documents import Tree, pruned
from dragoman.inventory.snapshots.snapshot import (
    API_VERSION,
    MIGRATION,
    MIGRATION_OBJECT,
    Snapshot,
)
from dragoman.kube.client import Client, items
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.model.fields import Document, part
from dragoman_toolkit.diagnosis import autoscalers
from dragoman_toolkit.diagnosis.autoscalers import STATUS, AutoscalerFacts
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.diagnosis import typednodes
from dragoman_toolkit.dra.output import Exit, Report
from dragoman_toolkit.shapes import known
from dragoman_toolkit.shapes.nodes import INSTANCE_TYPE, NodeOptions
from dragoman_toolkit.shapes.shape import Shape, ShapeError

MOST = 20
"""Shapes that are tried for a pod."""
LINE = "autoscaler"
"""Field of a snapshot's line that has an object of an autoscaler."""
NONE = "No autoscaler found: Cluster Autoscaler (its status ConfigMap) and Karpenter are known."
_METADATA = {"name": True, "uid": True, "creationTimestamp": True, "deletionTimestamp": True}
_CONDITIONS = [
    dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), True),
]
_TREES: Mapping[str, Tree] = {
    "Event": {
        **dict.fromkeys(("type", "reason", "message", "count", "lastTimestamp", "eventTime"), True),
        "series": {"lastObservedTime": True},
        "involvedObject": {"uid": True},
    },
    "ConfigMap": {"data": {"status": True}},
    "NodeClaim": {
        "metadata": {**_METADATA, "annotations": {autoscalers.REQUESTED_DRIVERS: True}},
        "status": {"conditions": _CONDITIONS},
    },
    "NodePool": {
        "metadata": _METADATA,
        "spec": {"template": {"spec": {"requirements": True}}},
        "status": {"conditions": _CONDITIONS},
    },
}
"""Fields that are kept, by kind."""
_FORBIDDEN, _NOT_FOUND = 403, 404
_CORE = {"events": "Event", "configmaps": "ConfigMap"}
_KARPENTER = {"nodeclaims": "NodeClaim", "nodepools": "NodePool"}
_GROUP = "karpenter.sh"
_UNREAD = "unread"


@dataclass(frozen=True)
class Autoscaling:
    """What autoscalers wrote: read when the first pod waits."""

    source: Source

    @cached_property
    def facts(self) -> AutoscalerFacts:
        """Everything that could be read."""
        if self.source.snapshot:
            return _of_snapshot(self.source.read(()))
        found = self.source.call(lambda one: _objects(one, self.source.namespace))
        return _facts(*found, surroundings.timestamp())

    def paragraph(
        self, inventory: Inventory, explanation: Explanation, *, held: bool = False
    ) -> tuple[str, ...]:
        """Return what autoscalers said about a pod, and what would have room for it."""
        if not self.facts.there:
            return ()
        lines = autoscalers.of_pod(self.facts, explanation.subject.pod, held=held)
        return (*lines, *tried(self.facts, inventory, explanation.subject))

    def report(self) -> Report:
        """Return what keeps autoscalers from adding nodes, whichever pod it is for."""
        facts = self.facts
        lines = tuple(autoscalers.of_themselves(facts)) if facts.there or facts.unread else (NONE,)
        lines = lines or ("Autoscalers report nothing that keeps them from adding nodes.",)
        status = Exit.UNKNOWN if facts.unread else Exit.CLEAR
        return Report("Autoscaler", {"autoscaler": list(lines)}, lines, status)


def tried(facts: AutoscalerFacts, inventory: Inventory, subject: Subject) -> Iterator[str]:
    """Yield on which machines that an autoscaler can add a pod would fit."""
    try:
        shapes = {one.machine: one for one in known.every()}
    except ShapeError:  # A file of the user's folder, which `shapes list` names.
        return
    there = {one.node.labels.get(INSTANCE_TYPE, "") for one in inventory.world.nodes.values()}
    machines = dict.fromkeys(sorted(there & shapes.keys()), False)
    machines |= dict(facts.machines(shapes))
    fits, not_on, empty = list[str](), list[str](), list[str]()
    for machine, none in [*machines.items()][:MOST]:
        text = _on(shapes[machine], inventory, subject)
        shown = text or ("" if shapes[machine].capacity else "cpu and memory are not checked")
        (not_on if text else fits).append(f"{machine} ({shown})" if shown else machine)
        empty += [machine] if none and not text else []
    if fits or not_on:
        parts = [f"fits on: {', '.join(fits)}"] if fits else []
        parts += [f"not on: {', '.join(not_on)}"] if not_on else []
        yield f"a new node, labels and taints of its group aside: {'; '.join(parts)}"
    if empty:
        yield (
            f"cluster-autoscaler has no node of {', '.join(empty)} from which it could learn "
            "ResourceSlices: its template of such a node has none"
        )


def _on(shape: Shape, inventory: Inventory, subject: Subject) -> str:
    """Return why a pod does not fit on a new node of a shape; empty where it does."""
    typed = typednodes.TypedNodes(shape, 1, NodeOptions())
    (new,) = typednodes.virtual(typed, inventory.world.now)
    world = inventory.world
    found = take(
        replace(world, nodes={new.node.node.name: new.node}, slices=new.slices), inventory.profile
    )
    explanation = explain(found, replace(subject, obstacles=()))
    devices = [
        device.device
        for node in explanation.nodes
        if isinstance(node.outcome, Allocated)
        for made in node.outcome.new
        for device in made.devices
    ]
    for doubt in typednodes.unrecorded(typed, world, [subject.pod], devices):
        return doubt
    if explanation.answer is Answer.FITS:
        return ""
    lines = groups.groups(found, explanation.nodes)
    return lines[0].why if lines else "can not tell"


def with_autoscalers(source: Source, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot that has what autoscalers wrote, also where it is made of another one."""
    if source.snapshot:
        lines = [one for one in source.read(()).of(MIGRATION) if LINE in one]
    else:
        objects, unread = source.call(lambda client: _objects(client, source.namespace))
        head = {"apiVersion": API_VERSION, "kind": MIGRATION_OBJECT}
        lines = [{**head, LINE: one} for one in (*objects, *({_UNREAD: name} for name in unread))]
    others = (one for one in snapshot.of(MIGRATION) if LINE not in one)
    return replace(snapshot, objects={**snapshot.objects, MIGRATION: (*others, *lines)})


def _of_snapshot(snapshot: Snapshot) -> AutoscalerFacts:
    lines = [part(one, LINE) for one in snapshot.of(MIGRATION) if LINE in one]
    unread = (str(one[_UNREAD]) for one in lines if _UNREAD in one)
    return _facts([one for one in map(_reduced, lines) if one], unread, snapshot.taken)


def _reduced(document: Document) -> Document | None:
    """Return the fields of an object that are kept; None for one of another kind."""
    kind = str(document.get("kind") or "")
    return {"kind": kind, **pruned(document, _TREES[kind])} if kind in _TREES else None


def _facts(objects: Iterable[Document], unread: Iterable[str], now: str) -> AutoscalerFacts:
    kinds: defaultdict[str, list[Document]] = defaultdict(list)
    for one in objects:
        kinds[str(one["kind"])].append(one)
    texts = [part(one, "data").get("status") for one in kinds["ConfigMap"]]
    status = next((one for one in texts if isinstance(one, str)), None)
    claims, pools = (tuple(kinds[kind]) for kind in _KARPENTER.values())
    return AutoscalerFacts(now, tuple(kinds["Event"]), status, claims, pools, tuple(unread))


async def _objects(client: Client, namespace: str) -> tuple[list[Document], list[str]]:
    """Read what autoscalers wrote, as far as the rights go; return what could not be read, too.

    Args:
        client: The connection.
        namespace: Whose Events are read where those of all namespaces are forbidden.
    """
    served = (await client.get("/apis")).get("groups") or []
    versions = [
        str(version["version"])
        for one in served
        if one["name"] == _GROUP
        for version in one["versions"]
    ]
    version = next((one for one in ("v1", "v1beta1") if one in versions), "")
    core = {plural: Resource("", "v1", plural) for plural in _CORE}
    wanted = [(core["configmaps"], "kube-system", f"metadata.name={STATUS}")]
    wanted += [(core["events"], "", f"source={one}") for one in ("cluster-autoscaler", "karpenter")]
    if version:
        wanted += [(Resource(_GROUP, version, plural), "", "") for plural in _KARPENTER]
    lists = await asyncio.gather(*(_list(client, *one, namespace) for one in wanted))
    unread = {
        f"{resource.plural}.{resource.group}".rstrip(".")
        for (resource, _, _), rows in zip(wanted, lists, strict=True)
        if rows is None
    }
    return [one for rows in lists for one in rows or ()], sorted(unread)


async def _list(
    client: Client, resource: Resource, namespace: str, selector: str, instead: str
) -> list[Document] | None:
    """Return reduced objects; None where they cannot be listed."""
    kind = (_CORE | _KARPENTER)[resource.plural]
    query = {"fieldSelector": selector} if selector else {}
    found: list[Document] = []
    try:
        async for one in items(client, resource.path(namespace), **query):
            found += [made for made in (_reduced({**one, "kind": kind}),) if made]
    except ApiError as error:
        if error.code == _FORBIDDEN and not namespace and resource.plural == "events" and instead:
            return await _list(client, resource, instead, selector, "")
        return [] if error.code == _NOT_FOUND else None
    return found
