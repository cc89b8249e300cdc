"""Table and document of the plan of `preempt`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dragoman.allocation import DeviceID
from dragoman.diagnosis import wording
from dragoman.diagnosis.nodeanswers import exact_requests
from dragoman.inventory.ages import age
from dragoman.inventory.facts.world import World
from dragoman.preemption.candidates import Candidate, RefusedNode, Victim, Why
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan
from dragoman.preemption.preemptionfacts import BoundPod
from dragoman_base.words import counted
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.diagnosis.text import request_text
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table
from dragoman_toolkit.dra.preemption import reading

OTHERS = 3
"""Next best nodes that are printed."""
SHOWN = 3
"""Reasons of one kind that are printed."""
_STATUS = {
    PreemptionOutcome.NONE: Exit.OBSTACLE,
    PreemptionOutcome.INELIGIBLE: Exit.OBSTACLE,
    PreemptionOutcome.UNKNOWN: Exit.UNKNOWN,
}
_WORDS = {
    Why.NO_VICTIM: "no pod on it could end for this one",
    Why.NOT_ENOUGH: "the pod would not fit even without all pods of lower priority",
    Why.NETWORK: "its devices belong to several nodes, which plans leave alone",
    Why.TOO_LARGE: "the search is too large",
    Why.NOT_EXAMINED: "not checked: enough other nodes can be made to fit",
}


def report(world: World, plan: PreemptionPlan, last: str = "") -> Report:
    """Return a plan as it is printed, with a last line."""
    said = (*reading.notes(world), *notes.common(world))
    status = _STATUS.get(plan.outcome, Exit.CLEAR)
    return Report(
        "PreemptionPlan",
        document(world, plan),
        (*_blocks(world, plan), *((last,) if last else ())),
        status,
        said,
    )


def _blocks(world: World, plan: PreemptionPlan) -> Iterator[Table | str | Cell]:
    key = plan.subject.pod.key
    yield f"{key} (priority {plan.priority}) needs {_need(plan)}."
    chosen = plan.chosen
    match plan.outcome:
        case PreemptionOutcome.INELIGIBLE:
            yield from (f"It cannot preempt: {one.text}." for one in plan.reasons)
        case PreemptionOutcome.FITS:
            assert chosen is not None
            yield f"It fits on {chosen.node} as it is: no pod has to end."
        case PreemptionOutcome.SCHEDULER:
            assert chosen is not None
            yield f"Devices are free on {chosen.node}: kube-scheduler itself ends pods there."
        case PreemptionOutcome.WAITS:
            assert chosen is not None
            names = wording.shortened([pod.key for pod in chosen.ending])
            yield f"It fits on {chosen.node} when {names} have ended, which end already."
        case PreemptionOutcome.PLANNED:
            assert chosen is not None
            yield from _chosen(world, plan, chosen)
        case PreemptionOutcome.NONE:
            yield "No node can be made to fit by the end of pods of lower priority."
        case PreemptionOutcome.UNKNOWN:
            yield "The search is too large to say which pods would have to end."
    yield from _refused(plan.refusals)


def _chosen(world: World, plan: PreemptionPlan, chosen: Candidate) -> Iterator[Table | str]:
    yield ""
    many = len(chosen.victims)
    yield f"{chosen.node}: {counted(many, 'victim')}, no PodDisruptionBudget violated"
    rows = tuple(
        (
            victim.pod.key,
            str(victim.pod.priority),
            age(world.now, victim.pod.started),
            ", ".join(one.device for one in victim.devices) or "-",
            owner(victim.pod),
        )
        for victim in chosen.victims
    )
    yield Table(("VICTIM", "PRIORITY", "RUNS", "DEVICES", "CONTROLLER"), rows)
    yield ""
    if len(plan.candidates) > 1:
        others = ", ".join(map(_other, plan.candidates[1 : OTHERS + 1]))
        rest = len(plan.candidates) - 1 - OTHERS
        yield f"Next best: {others}{f' and {rest} more' if rest > 0 else ''}."
    for one in plan.only_reported:
        yield f"It would only be reported: {one.text}."


def _other(candidate: Candidate) -> str:
    many = len(candidate.victims)
    top = max(victim.pod.priority for victim in candidate.victims)
    return f"{candidate.node} ({counted(many, 'victim')}, priority {top} at most)"


def _need(plan: PreemptionPlan) -> str:
    parts = [
        request_text(request)
        for claim in plan.subject.claims
        for _, request, alternative in exact_requests(claim)
        if not alternative
    ]
    several = any(
        alternative for claim in plan.subject.claims for _, _, alternative in exact_requests(claim)
    )
    parts += ["one of several alternatives"] if several else []
    return ", ".join(parts) or "the devices of its claims"


def _refused(refusals: Sequence[RefusedNode]) -> Iterator[Table | str]:
    """Yield the nodes that are no candidates, by why."""
    if not refusals:
        return
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for one in refusals:
        nodes[why_text(one)].append(one.node)
    rows = tuple((wording.shortened(names), text) for text, names in nodes.items())
    yield ""
    yield Table(("NOT", "BECAUSE"), rows)


def why_text(refusal: RefusedNode) -> str:
    """Say why a node is no candidate."""
    details = (*refusal.details, *(one.text for one in refusal.reasons))
    return listed(details) if details else _WORDS.get(refusal.why, "")


def listed(texts: Sequence[str]) -> str:
    """Join the first texts, and say how many more there are."""
    rest = len(texts) - SHOWN
    return "; ".join(texts[:SHOWN]) + (f"; and {rest} more" if rest > 0 else "")


def owner(pod: BoundPod) -> str:
    """Name the controller of a pod."""
    return f"{pod.owner.kind} {pod.owner.name}" if pod.owner else "none: it does not come back"


def document(world: World, plan: PreemptionPlan) -> dict[str, Any]:
    """Return a plan for programs."""
    metadata = plan.subject.pod.pod.metadata
    chosen = plan.chosen if plan.outcome is PreemptionOutcome.PLANNED else None
    return {
        **notes.header(world),
        "namespace": metadata.namespace,
        "name": metadata.name,
        "priority": plan.priority,
        "outcome": str(plan.outcome),
        "complete": plan.complete,
        "node": plan.chosen.node if plan.chosen else None,
        "victims": [_victim(one) for one in chosen.victims] if chosen else [],
        "devices": devices(chosen.devices) if chosen else [],
        "ending": [
            {"namespace": pod.namespace, "name": pod.name}
            for pod in (plan.chosen.ending if plan.chosen else ())
        ],
        "alternatives": [
            {"node": one.node, "victims": [_victim(victim) for victim in one.victims]}
            for one in (plan.candidates[1:] if chosen else ())
        ],
        "notEligible": [{"code": str(one.code), "text": one.text} for one in plan.reasons],
        "reportedOnly": [{"code": str(one.code), "text": one.text} for one in plan.only_reported],
        "refusals": [
            {
                "node": one.node,
                "why": str(one.why),
                "details": [*one.details, *(reason.text for reason in one.reasons)],
            }
            for one in plan.refusals
        ],
    }


def _victim(victim: Victim) -> dict[str, Any]:
    pod = victim.pod
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "priority": pod.priority,
        "started": pod.fact.started if pod.fact else "",
        "controller": controller(pod),
        "devices": devices(victim.devices),
    }


def controller(pod: BoundPod) -> dict[str, str] | None:
    """Return the controller of a pod for programs."""
    return {"kind": pod.owner.kind, "name": pod.owner.name} if pod.owner else None


def devices(found: Iterable[DeviceID]) -> list[dict[str, str]]:
    """Return devices for programs."""
    return [{"driver": one.driver, "pool": one.pool, "device": one.device} for one in found]
