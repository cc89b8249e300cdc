"""What `explain` says about workloads: one answer for all of their pods that are alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.obstacles import Obstacle
from dragoman.diagnosis.subject import Subject
from dragoman.diagnosis.wording import shortened
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.documents import TEMPLATE_HASH
from dragoman.model.fields import mapping
from dragoman.model.metadata import Metadata
from dragoman.model.pod import Pod
from dragoman_base.words.spelling import closest
from dragoman_toolkit.diagnosis.files import PlannedWorkload
from dragoman_toolkit.diagnosis.simulate import place
from dragoman_toolkit.dra.cluster.subjects import NamedWorkload
from dragoman_toolkit.dra.diagnosis import pods
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView
from dragoman_toolkit.dra.diagnosis.report import report as explained
from dragoman_toolkit.dra.diagnosis.simulation import placed_workload
from dragoman_toolkit.dra.inventory import who_table
from dragoman_toolkit.dra.kinds import kind_of
from dragoman_toolkit.dra.missing import missing
from dragoman_toolkit.dra.output import Exit, Report
from dragoman_toolkit.workloadpods import alike, members, states, waits

ANSWERS = 8
"""Answers of one workload: pods of a DaemonSet each wait for a node of their own."""
LOOKED_AT = 50
"""Running pods that are asked for containers that have ended."""


def planned(view: DiagnosisView, named: NamedWorkload, keys: Iterable[str]) -> list[Report]:
    """Explain the pods that a workload would make, which it has not made yet."""
    why = suspended(named.tree or {})
    said = (
        f"{named.title} has no pods yet{f': it is {why}' if why else ''}. As if they were created:"
    )
    holds = [*view.held.suspended(named.key)] if why and view.held else []
    obstacles = [
        {"code": str(one.code), "message": one.message, "remedy": one.remedy} for one in holds
    ]
    lines = [f"{one.text[0].upper()}{one.text[1:]}" for one in holds[1:]]
    return [
        replace(
            one,
            document={
                **one.document,
                "obstacles": [*obstacles, *one.document["obstacles"]],
                "workload": document(named, ()),
            },
            blocks=(*([*lines, ""] if lines else ()), said, "", *one.blocks),
            status=Exit.OBSTACLE if why and one.status is Exit.CLEAR else one.status,
        )
        for one in (pods.pod(view, key, planned=True) for key in keys)
    ]


def workload(view: DiagnosisView, named: NamedWorkload, kubelet: pods.Kubelet) -> list[Report]:
    """Explain the pods of a workload that do not run; without such pods, say what they do.

    Raises:
        Unusable: It has no pods.
    """
    world = view.inventory.world
    assert named.kind is not None  # a pod has answers of its own
    found = members(world, named.kind, named.key)
    if not found:
        if view.held and (holds := [*view.held.of_job(named.key)]):
            return [_suspended(view, named, holds)]
        raise missing(world, _unknown(world, named), "pods")
    waiting = [one for one in found if waits(one)]

    def report(group: Sequence[PodFact]) -> Report:
        return pods.pod(view, group[0].key, kubelet=kubelet)

    groups = alike(world, waiting)
    answers = [(group, report(group)) for group in groups[:ANSWERS]]
    if not answers:
        running = [one for one in found if not one.pod.done][:LOOKED_AT]
        stuck = [(group, report(group)) for group in ([one] for one in running)]
        answers = [one for one in stuck if one[1].status is Exit.OBSTACLE][:ANSWERS]
    if not answers:
        return [_idle(view, named, found, report)]
    more = [pod for group in groups[ANSWERS:] for pod in group]
    return [
        _introduced(named, found, group, one, more if index == len(answers) - 1 else ())
        for index, (group, one) in enumerate(answers)
    ]


def _suspended(view: DiagnosisView, named: NamedWorkload, holds: Sequence[Obstacle]) -> Report:
    """Say why a Job of a file has no pods; what they would ask of nodes is not in it."""
    namespace, _, name = named.key.partition("/")
    pod = PodFact(Pod(metadata=Metadata(namespace, name)))
    explanation = Explanation(Subject(pod, obstacles=tuple(holds)), Answer.STOPPED)
    lines = tuple(f"{one.text[0].upper()}{one.text[1:]}." for one in holds)
    found = explained(view, explanation, (f"{named.title} does not run:", *lines))
    return replace(found, document={**found.document, "workload": document(named, ())})


def of_files(view: DiagnosisView, found: PlannedWorkload) -> list[Report]:
    """Explain the pods of a workload of files, and whether those of a gang fit together."""
    alone = [pods.pod(view, one.key, planned=True) for one in found.pods]
    if not found.gangs or view.node:
        return alone
    world = view.inventory.world
    own = {one.key for one in found.pods}
    others = {key: pod for key, pod in world.pods.items() if key not in own}
    inventory = take(replace(world, pods=others), view.inventory.profile)
    (placement,) = place(inventory, [placed_workload(world, found)])
    total = placement.placed + len(placement.refused)
    fits = not placement.refused or bool(found.least and placement.placed)
    if not placement.refused:
        said = f"{found.title}: all {total} pods fit together."
    elif fits:
        said = (
            f"{found.title}: {placement.placed} of {total} pods fit together; it needs "
            f"{found.least} at once."
        )
    else:
        some = f"; {placement.placed} do" if placement.placed else ""
        needed = f"at least {found.least} at once" if found.least else "all or not at all"
        said = (
            f"{found.title}: its {total} pods do not all fit together{some}. They are placed "
            f"{needed}; `kubectl dra simulate -f` shows what is short."
        )
    kind, _, key = found.title.partition(" ")
    namespace, _, name = key.partition("/")
    about = {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "pods": [],
        "fits": fits,
    }
    return [
        replace(
            one,
            document={**one.document, "workload": about},
            blocks=(said, "", *one.blocks) if index == 0 else one.blocks,
            status=one.status if fits or one.status is not Exit.CLEAR else Exit.OBSTACLE,
        )
        for index, one in enumerate(alone)
    ]


def _introduced(
    named: NamedWorkload,
    found: Sequence[PodFact],
    group: Sequence[PodFact],
    report: Report,
    more: Iterable[PodFact],
) -> Report:
    """Say which pods of a workload an answer is about."""
    names = [one.pod.metadata.name for one in group]
    said = f"{named.title}: {states(found)}."
    if len(names) > 1:
        said += f" {shortened(names)} are alike; this is the answer for {names[0]}."
    left = [one.pod.metadata.name for one in more]
    rest = ("", f"Not explained: {len(left)} more pods ({shortened(left)}).") if left else ()
    return replace(
        report,
        document={**report.document, "workload": document(named, names)},
        blocks=(said, "", *report.blocks, *rest),
    )


def document(named: NamedWorkload, alike: Sequence[str]) -> Mapping[str, Any]:
    """Return what an answer is about, for programs."""
    namespace, _, name = named.key.partition("/")
    kind = named.kind.kind if named.kind else "Pod"
    return {"kind": kind, "namespace": namespace, "name": name, "pods": list(alike)}


def _idle(
    view: DiagnosisView,
    named: NamedWorkload,
    found: Sequence[PodFact],
    report: Callable[[Sequence[PodFact]], Report],
) -> Report:
    """Say that no pod waits, and which devices those that run have."""
    inventory = view.inventory
    running = [one for one in found if not one.pod.done]
    own = report(running[:1] or found[:1])
    said = [f"No pod of {named.title} waits: {states(found)}."]
    who = who_table.of_pods(inventory, running)
    blocks = ["", *who.blocks] if who else [] if running else [*own.blocks[:1]]
    names = [one.pod.metadata.name for one in found]
    return replace(
        own,
        document={**own.document, "workload": document(named, names)},
        blocks=(*said, *blocks),
    )


def _unknown(world: World, named: NamedWorkload) -> str:
    """Say that there are no such pods, with names that are near, or the pod that is meant."""
    namespace, _, name = named.key.partition("/")
    kind = named.kind.name if named.kind else "pod"
    said = f"no pod of {kind} {named.key} found"
    for one in world.pods.values():
        of = one.pod.metadata.namespace
        if one.pod.metadata.name == name and kind_of(of) == kind:
            return f"{said}; for the pod of namespace {of} write `pod {one.key}`"
    if named.key in world.pods:
        return f"{said}; there is pod {named.key}"
    near = closest(name, owners := dict(_owners(world, namespace)))
    return f"{said}; did you mean {owners[near]}/{near}?" if near else said


def _owners(world: World, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield names and kinds of what makes pods, a Deployment in place of its ReplicaSets."""
    for one in world.pods.values():
        owner = one.pod.metadata.owner
        if owner and one.pod.metadata.namespace == namespace:
            digest = mapping(mapping(one.document, "metadata"), "labels").get(TEMPLATE_HASH)
            made = owner.kind == "ReplicaSet" and digest and owner.name.endswith(f"-{digest}")
            if made:
                yield owner.name.removesuffix(f"-{digest}"), "deployment"
            else:
                yield owner.name, owner.kind.lower()


def suspended(tree: Mapping[str, Any]) -> str:
    """Say that a workload makes no pods, and who lets it; empty where it is not suspended."""
    spec = mapping(tree, "spec")
    if not (spec.get("suspend") or mapping(spec, "runPolicy").get("suspend")):
        return ""
    labels = mapping(mapping(tree, "metadata"), "labels")
    namespace = str(mapping(tree, "metadata").get("namespace") or "")
    queue = labels.get("kueue.x-k8s.io/queue-name")
    if queue:
        return (
            f"suspended: Kueue has not admitted it from queue {queue} "
            f"(kubectl describe workloads.kueue.x-k8s.io -n {namespace})"
        )
    return "suspended: its controller makes no pods until spec.suspend is false"
