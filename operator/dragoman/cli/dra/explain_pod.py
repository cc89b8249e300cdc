"""What `explain` says about pods, claims and templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dragoman.allocation import Allocated, BudgetExceeded, Claim, Cluster, Code, Reason, allocate
from dragoman.allocation.facts.claims import ExactRequest
from dragoman.cli.dra import notes, who_table
from dragoman.cli.dra.output import Cell, Exit, Report, Table, Unusable
from dragoman.diagnosis import groups as grouping
from dragoman.diagnosis import subject as subjects
from dragoman.diagnosis.answers import Answer, Explanation, scheduler_message, times_out
from dragoman.diagnosis.explain import asks, cluster_of, explain
from dragoman.diagnosis.extended import uses_extended_resources
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.diagnosis.suggestions import Guard, Kind, Suggestion, guard, suggest
from dragoman.inventory.ages import age
from dragoman.inventory.facts import PodFact
from dragoman.inventory.inventory import Inventory

DEFAULT_SCHEDULER = "default-scheduler"
SUGGESTIONS = 3
"""Suggestions of one kind that are printed."""
Kubelet = Callable[[str], str]


@dataclass(slots=True)
class View:
    """What is asked of all subjects of one command.

    Attributes:
        inventory: What is known.
        node: The only node that is looked at; empty for all.
        devices: Whether each device has its line.
        progress: Called with a thing and how many of it were looked at.
    """

    inventory: Inventory
    node: str = ""
    devices: bool = False
    progress: Callable[[str, int], None] = lambda thing, count: None  # noqa: ARG005 — nothing
    _cluster: Cluster | None = field(default=None)

    @property
    def cluster(self) -> Cluster:
        """What the allocator decides on."""
        if self._cluster is None:
            self._cluster = cluster_of(self.inventory)
        return self._cluster

    def explain(self, subject: Subject) -> Explanation:
        """Explain a subject."""
        return explain(
            self.inventory, subject, cluster=self.cluster, only=self.node, progress=self.progress
        )


def pod(view: View, key: str, *, planned: bool = False, kubelet: Kubelet = lambda _: "") -> Report:
    """Explain a pod; raise Unusable where there is none.

    Args:
        view: What is asked.
        key: `namespace/name`.
        planned: Whether the pod is not applied yet.
        kubelet: Returns the kubelet's last warning about a pod, by its UID.
    """
    world = view.inventory.world
    found = world.pods.get(key)
    if found is None:
        raise Unusable(_not_found(view, "pod", key))
    subject = subjects.of_pod(world, found, planned=planned)
    silent = not subject.wanted and not subject.allocated and not subject.obstacles
    if silent and not uses_extended_resources(view.cluster, subject):
        return _report(view, Explanation(subject, Answer.FITS), (f"Pod {key} uses no claims.",))
    if found.pod.node_name and not subject.wanted and not subject.stopped:
        return _allocated(view, subject, kubelet)
    return _searched(view, subject, f"Pod {key}", planned=planned)


def claim(view: View, key: str) -> Report:
    """Explain a claim; raise Unusable where there is none."""
    found = view.inventory.world.claims.get(key)
    if found is None:
        raise Unusable(_not_found(view, "resourceclaim", key))
    subject = subjects.of_claim(view.inventory.world, found.devices)
    if found.devices.held is None:
        return _searched(view, subject, f"Claim {key}", planned=False)
    who = who_table.answer(view.inventory, f"claim/{key}", "", wide=False)
    explanation = Explanation(subject, Answer.ALLOCATED)
    where = found.devices.held.node_selector
    blocks = (f"Claim {key} is allocated{'' if where else ', for every node'}.", "", *who.blocks)
    return _report(view, explanation, blocks)


def template(view: View, key: str) -> Report:
    """Explain a template; raise Unusable where there is none."""
    found = view.inventory.world.templates.get(key)
    if found is None:
        raise Unusable(_not_found(view, "resourceclaimtemplate", key))
    subject = subjects.of_claim(view.inventory.world, found, template=found.name)
    return _searched(view, subject, f"A claim from template {key}", planned=True)


def _not_found(view: View, kind: str, key: str) -> str:
    unseen = "; ".join(f"not seen: {one}" for one in view.inventory.world.unseen)
    return f"{kind} {key} not found{'; ' if unseen else ''}{unseen}"


# Pods with devices --------------------------------------------------------------------------------


def _allocated(view: View, subject: Subject, kubelet: Kubelet) -> Report:
    found = subject.pod
    blocks: list[Table | str | Cell] = [f"Pod {found.key} has its devices on {_node(found)}."]
    if subject.allocated:
        who = who_table.answer(view.inventory, f"pod/{found.key}", "", wide=False)
        blocks += ["", *who.blocks, "", _why_these(view, subject)]
    waits = _waits(found)
    status = Exit.CLEAR
    if waits:
        blocks += ["", f"Its claims are fine; the kubelet has not started it: {waits}."]
        message = kubelet(found.pod.metadata.uid)
        if message:
            blocks.append(f"Last warning of the kubelet: {message}")
            status = Exit.OBSTACLE
    return _report(view, Explanation(subject, Answer.ALLOCATED), tuple(blocks), status)


def _node(found: PodFact) -> str:
    return f"node {found.pod.node_name}"


def _waits(found: PodFact) -> str:
    """Return why containers wait, as ContainerCreating; empty where none does."""
    status = found.document.get("status")
    statuses = status.get("containerStatuses") if isinstance(status, dict) else None
    reasons = [
        str(((one.get("state") or {}).get("waiting") or {}).get("reason") or "")
        for one in statuses or ()
    ]
    return ", ".join(sorted(set(filter(None, reasons))))


def _why_these(view: View, subject: Subject) -> str:
    """Say why the scheduler chose these devices: search again as if the pod had none."""
    node = subject.pod.pod.node_name
    if node not in view.inventory.world.nodes:
        return "The scheduler takes the first devices that serve all requests, in their order."
    specs = tuple(one.devices for one in subject.allocated)
    for one in specs:
        view.cluster.remove_claim(one.key)
    try:
        again = allocate(node, specs, view.cluster)
        same = isinstance(again, Allocated) and [
            [(one.driver, one.pool, one.device) for one in made.devices]
            for made in again.allocations
        ] == [[tuple(one.id) for one in claim.results] for claim in subject.allocated]
    finally:
        for one in specs:
            view.cluster.put_claim(one)
    order = "drivers, pools, slices and devices are tried in the order of their names"
    if same:
        return f"These are the first devices that serve all requests: {order}."
    return f"Today the scheduler would choose others: {order}, and what was in use then is free."


# Pods without devices -----------------------------------------------------------------------------


def _searched(view: View, subject: Subject, title: str, *, planned: bool) -> Report:
    explanation = view.explain(subject)
    suggestions = suggest(view.inventory, explanation, view.cluster)
    blocks: list[Table | str | Cell] = [_headline(view, explanation, title, planned=planned)]
    for obstacle in subject.obstacles:
        remedy = f": {obstacle.remedy}" if obstacle.remedy else ""
        blocks.append(f"{obstacle.message}{remedy}")
    if explanation.fatals:
        blocks += [*_fatal(view, explanation)]
    blocks += _awaited(explanation)
    for wanted in explanation.subject.wanted:
        blocks += ["", *_claim_lines(wanted)]
    if view.devices:
        blocks += ["", _devices(explanation)]
    else:
        table = _groups(view, explanation)
        if table.rows:
            blocks += ["", table]
    advice = _advice(explanation, suggestions)
    if advice:
        blocks += ["", advice]
    message = _message(view, subject.pod)
    if message:
        blocks += ["", message]
    return _report(view, explanation, tuple(blocks), suggestions=suggestions)


def _headline(view: View, explanation: Explanation, title: str, *, planned: bool) -> str:
    total, fitting = len(explanation.nodes), explanation.fitting
    subject, world = explanation.subject, view.inventory.world
    since = ""
    found = subject.pod.unschedulable
    if found and not planned:
        since = f" since {age(world.now, str(found.get('lastTransitionTime') or ''))}"
    if explanation.answer is Answer.STOPPED:
        return f"The scheduler stops at {title[0].lower()}{title[1:]}, whatever the nodes are:"
    if explanation.answer is Answer.FITS:
        names = grouping.shortened(fitting)
        if planned or not since:
            return f"{title} fits on {len(fitting)} of {total} nodes: {names}."
        scheduler = subject.pod.scheduler
        if scheduler != DEFAULT_SCHEDULER:
            return (
                f"{title} waits{since}, but a legal allocation exists on {names}: "
                f"its scheduler {scheduler} has not made it."
            )
        return f"{title} waits{since}, but fits now on {len(fitting)} of {total} nodes: {names}."
    if explanation.answer is Answer.UNKNOWN:
        return f"{title}: the search is too large to say on which of {total} nodes it fits."
    if planned or not since:
        return f"{title} fits on none of {total} nodes."
    return f"{title} waits for devices{since}: it fits on none of {total} nodes."


def _awaited(explanation: Explanation) -> Iterator[str]:
    """Yield what a pod that has a place waits for."""
    unready = [one for node in explanation.nodes if node.fits for one in node.unready]
    for text in dict.fromkeys(map(grouping.unready_text, unready)):
        yield f"{text}: the scheduler waits for its driver before it binds the pod."


def _fatal(view: View, explanation: Explanation) -> Iterator[str]:
    yield from explanation.fatals[:SUGGESTIONS]
    found = next(_guards(view, explanation), None)
    if found is not None:
        listed = grouping.shortened(found.without)
        yield (
            f"  {found.have} of {found.devices} devices have attribute {found.attribute}; "
            f"not {listed}"
        )
        if found.guarded:
            yield f"  write: {found.guarded}"


def _guards(view: View, explanation: Explanation) -> Iterator[Guard]:
    for node in explanation.nodes:
        for reason in _reasons(node.requests):
            found = guard(view.inventory, reason) if reason.code is Code.CEL_ERROR else None
            if found is not None:
                yield found


def _reasons(requests: Iterable[Any]) -> Iterator[Reason]:
    for request in requests:
        yield from request.reasons


def _claim_lines(wanted: Wanted) -> Iterator[str]:
    source = f" (from template {wanted.template})" if wanted.template else ""
    yield f"claim {wanted.claim.name}{source}"
    for name, ask, alternative in asks(wanted.claim):
        yield f"  {'or ' if alternative else ''}request {name}: {ask_text(ask)}"
    for constraint in wanted.claim.spec.constraints:
        of = f" of requests {', '.join(constraint.requests)}" if constraint.requests else ""
        if constraint.match_attribute:
            yield f"  all devices{of} have the same {constraint.match_attribute}"
        else:
            yield f"  all devices{of} differ in {constraint.distinct_attribute}"


def ask_text(ask: ExactRequest) -> str:
    """Write what a request asks for: `2 x gpu.nvidia.com where …`."""
    many = "all" if ask.mode == "All" else str(ask.count)
    parts = [f"{many} x {ask.class_name}"]
    if ask.selectors:
        parts.append("where " + " and ".join(one or "(no expression)" for one in ask.selectors))
    if ask.capacity:
        listed = ", ".join(f"{name} {value}" for name, value in ask.capacity.items())
        parts.append(f"with {listed}")
    if ask.tolerations:
        listed = ", ".join(one.key or "every taint" for one in ask.tolerations)
        parts.append(f"tolerating {listed}")
    if ask.admin_access:
        parts.append("with admin access")
    return " ".join(parts)


def _groups(view: View, explanation: Explanation) -> Table:
    rows = [
        (_nodes(group.nodes), group.why, str(group.devices) if group.devices else "-")
        for group in grouping.groups(view.inventory, explanation.nodes)
    ]
    return Table(("NODES", "WHY", "DEVICES"), tuple(rows))


def _nodes(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:2])
    return shown if len(names) <= 2 else f"{shown}, {len(names) - 2} more"


def _devices(explanation: Explanation) -> Table:
    rows = []
    for node in explanation.nodes:
        for request in node.requests:
            for reason in request.reasons:
                words = grouping.words(reason)
                rows.append((node.node, request.name, str(reason.device), str(reason.code), words))
    return Table(("NODE", "REQUEST", "DEVICE", "CODE", "WHY"), tuple(rows))


def _advice(explanation: Explanation, suggestions: tuple[Suggestion, ...]) -> str:
    if explanation.answer not in (Answer.DOES_NOT_FIT, Answer.STOPPED):
        return ""
    parts = []
    near = [one for one in explanation.nodes if not one.filtered and one.short]
    if near and explanation.answer is Answer.DOES_NOT_FIT:
        nearest = min(near, key=lambda one: (one.short, one.node))
        if any(one.free for one in nearest.requests):
            many = "one device" if nearest.short == 1 else f"{nearest.short} devices"
            parts.append(f"Nearest: {nearest.node}, {many} short.")
    said = []
    for kind in Kind:
        of_kind = [one for one in suggestions if one.kind is kind]
        said += [one.text for one in of_kind[:SUGGESTIONS]]
    if said:
        parts.append(f"It fits {', or '.join(said)}.")
    if times_out(explanation):
        parts.append("The scheduler may run into its time-out of 10 s for this pod.")
    return " ".join(parts)


def _message(view: View, found: PodFact) -> str:
    condition = found.unschedulable
    message = str(condition.get("message") or "")
    if not message:
        return ""
    since = age(view.inventory.world.now, str(condition.get("lastTransitionTime") or ""))
    return f"Scheduler: {message} ({since} ago)"


# The document -------------------------------------------------------------------------------------

_STATUS = {
    Answer.FITS: Exit.CLEAR,
    Answer.ALLOCATED: Exit.CLEAR,
    Answer.DOES_NOT_FIT: Exit.OBSTACLE,
    Answer.STOPPED: Exit.OBSTACLE,
    Answer.UNKNOWN: Exit.UNKNOWN,
}


def _report(
    view: View,
    explanation: Explanation,
    blocks: tuple[Table | str | Cell, ...],
    status: Exit | None = None,
    suggestions: tuple[Suggestion, ...] = (),
) -> Report:
    world = view.inventory.world
    found = _STATUS[explanation.answer] if status is None else status
    # A pod that seems to fit may find its devices taken by claims that could not be read.
    if found is Exit.CLEAR and world.unseen:
        found = Exit.UNKNOWN
    return Report(
        "Explanation",
        {**notes.header(world), **document(view, explanation, suggestions)},
        blocks,
        found,
        tuple(notes.common(world)),
    )


def document(
    view: View, explanation: Explanation, suggestions: tuple[Suggestion, ...]
) -> dict[str, Any]:
    """Return an explanation for programs."""
    subject = explanation.subject
    metadata = subject.pod.pod.metadata
    searched = explanation.nodes and not explanation.fatals and not subject.stopped
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "answer": str(explanation.answer),
        "profile": view.inventory.profile.kubernetes,
        "fits": list(explanation.fitting),
        "errors": list(explanation.fatals),
        "obstacles": [
            {"code": str(one.code), "message": one.message, "remedy": one.remedy}
            for one in subject.obstacles
        ],
        "claims": [_claim_document(one) for one in subject.wanted],
        "groups": [
            {"nodes": list(one.nodes), "codes": list(one.codes), "why": one.why}
            for one in grouping.groups(view.inventory, explanation.nodes)
        ],
        "nodes": [
            {
                "name": one.node,
                "fits": one.fits,
                "filtered": list(one.filtered),
                "short": one.short,
                "searchTooLarge": isinstance(one.outcome, BudgetExceeded),
                "devices": _allocations(one.outcome) if one.fits else [],
                "reasons": [reason.document() for reason in (*one.others, *_reasons(one.requests))]
                if view.devices
                else [],
            }
            for one in explanation.nodes
        ],
        "suggestions": [
            {"kind": str(one.kind), "node": one.node, "text": one.text, **one.details}
            for one in suggestions
        ],
        "schedulerMessage": scheduler_message(explanation) if searched else None,
    }


def _allocations(outcome: object) -> list[dict[str, Any]]:
    if not isinstance(outcome, Allocated):
        return []
    return [one.document() for made in outcome.allocations for one in made.devices]


def _claim_document(wanted: Wanted) -> dict[str, Any]:
    claim: Claim = wanted.claim
    return {
        "name": claim.name,
        "entry": wanted.entry,
        "template": wanted.template or None,
        "requests": [
            {"name": name, "asksFor": ask_text(ask), "alternative": alternative}
            for name, ask, alternative in asks(claim)
        ],
    }
