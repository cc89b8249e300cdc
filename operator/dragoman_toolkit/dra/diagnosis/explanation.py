"""What `kubectl dra explain` reads, and its reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dragoman.allocation import TimeBudget
from dragoman.inventory.facts.parser import parse, pod_fact
from dragoman.inventory.inventory import take
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.model.fields import MalformedObjectError
from dragoman.model.metadata import Metadata
from dragoman_base.words.nearnames import did_you_mean
from dragoman_toolkit.diagnosis.files import PlannedCluster, overlaid
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster import subjects
from dragoman_toolkit.dra.cluster.ended import with_pod
from dragoman_toolkit.dra.cluster.files import documents, require_valid
from dragoman_toolkit.dra.cluster.source import with_queues
from dragoman_toolkit.dra.diagnosis import object_reports, pods, workload_reports
from dragoman_toolkit.dra.diagnosis.autoscaling import Autoscaling
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView
from dragoman_toolkit.dra.inventory.hardwareids import devices_with
from dragoman_toolkit.dra.kinds import AUTOSCALER, WORKLOADS
from dragoman_toolkit.dra.output import ProgressLine, Report, Unusable
from dragoman_toolkit.queues.facts import Queues
from dragoman_toolkit.queues.reasons import HeldBack, is_held

if TYPE_CHECKING:
    from dragoman.inventory.snapshots.documents import Document
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman.model.metadata import Metadata
    from dragoman_toolkit.dra.cluster.source import Source


_NEEDS = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules", "resourcequotas"),
    # For the plan of preemption that an explanation names; few users may list them.
    *("poddisruptionbudgets", "namespaces"),
)


def reports(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    kind: str,
    names: tuple[str, ...],
    filenames: tuple[str, ...],
    node: str,
    timeout: float,
    *,
    devices: bool,
) -> list[Report]:
    """Explain objects of the cluster, or those of manifests.

    Args:
        source: The cluster, or a snapshot.
        kind: Of the names.
        names: `name` or `namespace/name` each.
        filenames: Manifests, in place of names.
        node: The only node that is looked at; empty for all.
        timeout: Seconds of CPU time.
        devices: Whether each device has a line.

    Raises:
        Unusable: The objects cannot be read, or nothing has these names.
    """
    if kind == AUTOSCALER:
        return [Autoscaling(source).report()]
    files = list(documents(filenames)) if filenames else []
    trees: Iterable[Any] = (document.tree for _, document in files)
    snapshot = source.read(_NEEDS)
    # A quota only says more of why a claim is not created: other answers are complete without.
    unseen = tuple(one for one in snapshot.unseen if one.plural != "resourcequotas")
    snapshot = replace(snapshot, unseen=unseen)
    named = None
    if kind in WORKLOADS:
        named, snapshot = subjects.named(source, snapshot, kind, names[0])
        trees = (one for one in (named.tree,) if one is not None)
        kind, names = (kind, names) if named.kind else ("pod", (named.key,))
    for name in names if kind == "pod" else ():
        snapshot = with_pod(source, snapshot, name)
    if files:
        require_valid(files, snapshot.kubernetes)
    snapshot = _with_queues(source, snapshot, kind, names)
    planned = overlaid(snapshot, trees, source.namespace)
    world = parse(planned.snapshot)
    inventory = take(world, source.profile(world))
    if node and node not in world.nodes and "nodes" in world.listed:
        raise Unusable(f"node {node} not found{did_you_mean(node, world.nodes)}")
    with ProgressLine() as progress, TimeBudget(timeout, clock=time.thread_time):
        unsure = tuple(notes.unknown_labels(source, planned))
        view = DiagnosisView(
            inventory,
            node,
            devices=devices,
            notes=unsure,
            progress=progress,
            snapshot=planned.snapshot,
            held=HeldBack(Queues(planned.snapshot, world), inventory),
            autoscaling=None if files else Autoscaling(source),
        )
        if filenames:
            return _of_files(view, planned)
        if named and named.kind:
            if named.tree is not None and planned.pods:
                return workload_reports.planned(view, named, planned.pods)
            return workload_reports.workload(view, named, lambda pod: _kubelet(source, pod))
        return [_of_object(source, view, kind, name) for name in names]


def _with_queues(source: Source, snapshot: Snapshot, kind: str, names: tuple[str, ...]) -> Snapshot:
    """Return the snapshot with the objects of queue managers, where they may hold a pod back."""
    if source.snapshot or not (kind in WORKLOADS or (kind == "pod" and names)):
        return snapshot
    wanted = {name.rpartition("/")[2] for name in names}
    pods_named = [
        one for one in snapshot.of("pods") if (one.get("metadata") or {}).get("name") in wanted
    ]
    if kind == "pod" and not any(map(_may_be_held, pods_named)):
        return snapshot
    return with_queues(source, snapshot)


def _may_be_held(pod: Document) -> bool:
    try:
        return is_held(pod_fact(pod))
    except MalformedObjectError:
        return False


def _of_object(source: Source, view: DiagnosisView, kind: str, name: str) -> Report:
    if kind in {"class", "node", "device"}:
        answers = {
            "class": object_reports.device_class,
            "node": object_reports.node,
            "device": object_reports.device,
        }
        return answers[kind](view.inventory, name)
    key = name if "/" in name else f"{_namespace(source, view, kind, name)}/{name}"
    if (
        kind == "pod"
        and key not in view.inventory.world.pods
        and devices_with(view.inventory, name)
    ):
        return object_reports.device(view.inventory, name)
    if kind == "pod":
        # Snapshots have no pods that had ended.
        absent = ", or it had ended" if source.snapshot else ""
        return pods.pod(view, key, kubelet=lambda pod: _kubelet(source, pod), absent=absent)
    return pods.claim(view, key) if kind == "claim" else pods.template(view, key)


def _namespace(source: Source, view: DiagnosisView, kind: str, name: str) -> str:
    """Return the namespace of a name: with -A, the only one that has it."""
    if not source.all_namespaces:
        return source.namespace
    world = view.inventory.world
    known = {"pod": world.pods, "claim": world.claims, "template": world.templates}[kind]
    found = sorted(one.partition("/")[0] for one in known if one.partition("/")[2] == name)
    if len(found) > 1:
        raise Unusable(f"{kind} {name} is in namespaces {', '.join(found)}: choose one with -n")
    return found[0] if found else source.namespace


def _of_files(view: DiagnosisView, planned: PlannedCluster) -> list[Report]:
    if planned.pods:
        return [
            one for found in planned.workloads for one in workload_reports.of_files(view, found)
        ]
    alone = [pods.claim(view, key) for key in planned.claims]
    alone += [pods.template(view, key) for key in planned.templates]
    if not alone:
        raise Unusable("the files have no pod, workload, ResourceClaim or ResourceClaimTemplate")
    return alone


def _kubelet(source: Source, pod: Metadata) -> str:
    """Return the kubelet's last warning about a pod; empty without one, or for a snapshot."""
    return "" if source.snapshot else source.call(lambda client: last_warning(client, pod))


KUBELET = "kubelet"
_TIMES = ("lastTimestamp", "eventTime")


async def last_warning(client: Client, pod: Metadata) -> str:
    """Return the kubelet's last warning about a pod; empty without one, or without rights.

    Args:
        client: The connection.
        pod: Identity of the pod.
    """
    path = f"/api/v1/namespaces/{pod.namespace}/events"
    # The scheduler warns about the same pod, and so does dragoman itself.
    selector = f"involvedObject.uid={pod.uid},type=Warning,source={KUBELET}"
    try:
        found = await client.get(path, fieldSelector=selector, limit="500")
    except ApiError:
        return ""
    latest: Mapping[str, Any] = max(found.get("items") or (), key=_time, default={})
    return str(latest.get("message") or "")


def _time(event: Mapping[str, Any]) -> str:
    return max(str(event.get(name) or "") for name in _TIMES)
