"""Explanations as reports: for people in blocks, for programs as a document."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dragoman.allocation import Allocated, BudgetExceeded, Claim, Cluster
from dragoman.diagnosis.answers import Answer, Explanation, scheduler_message
from dragoman.diagnosis.explain import cluster_of, explain
from dragoman.diagnosis.groups import Group
from dragoman.diagnosis.nodeanswers import exact_requests
from dragoman.diagnosis.note import shown_hints
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman_toolkit.diagnosis.suggestions.secondsearch import Suggestion
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.diagnosis.autoscaling import Autoscaling
from dragoman_toolkit.dra.diagnosis.text import reasons_of, request_text
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table
from dragoman_toolkit.queues.reasons import HeldBack

_STATUS = {
    Answer.FITS: Exit.CLEAR,
    Answer.ALLOCATED: Exit.CLEAR,
    Answer.DOES_NOT_FIT: Exit.OBSTACLE,
    Answer.NEVER_FITS: Exit.OBSTACLE,
    Answer.STOPPED: Exit.OBSTACLE,
    Answer.UNKNOWN: Exit.UNKNOWN,
}


@dataclass(slots=True)
class DiagnosisView:
    """What one command looks at, for all its subjects."""

    inventory: Inventory  # What is known
    node: str = ""  # The only node that is looked at; empty for all
    devices: bool = False  # Whether each device has its line
    notes: tuple[str, ...] = ()  # What else could not be seen, so that no answer is certain
    # Called with a thing and how many of it were looked at
    progress: Callable[[str, int], None] = lambda thing, count: None  # noqa: ARG005 — nothing
    snapshot: Snapshot | None = None  # The objects behind the inventory, where they are at hand
    held: HeldBack | None = None  # Who holds pods back, where that was read
    autoscaling: Autoscaling | None = None  # What autoscalers wrote, where that can be read
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


def report(  # noqa: PLR0913, PLR0917 — one parameter for each part
    view: DiagnosisView,
    explanation: Explanation,
    blocks: tuple[Table | str | Cell, ...],
    status: Exit | None = None,
    suggestions: tuple[Suggestion, ...] = (),
    groups: tuple[Group, ...] = (),
) -> Report:
    """Return an explanation with its exit status.

    Args:
        view: What the command looks at.
        explanation: The answer.
        blocks: The answer for people.
        status: Exit status; by default that of the answer.
        suggestions: Changes that let the pod run.
        groups: The nodes that were looked at, by what they lack.
    """
    world = view.inventory.world
    found = _STATUS[explanation.answer] if status is None else status
    # A pod that seems to fit may find its devices taken by claims that could not be read.
    if view.notes or (found is Exit.CLEAR and world.unseen):
        found = Exit.UNKNOWN
    return Report(
        "Explanation",
        {**notes.header(world), **_document(view, explanation, suggestions, groups)},
        blocks,
        found,
        (*view.notes, *notes.common(world)),
    )


def _document(
    view: DiagnosisView,
    explanation: Explanation,
    suggestions: tuple[Suggestion, ...],
    groups: tuple[Group, ...],
) -> dict[str, Any]:
    subject = explanation.subject
    metadata = subject.pod.pod.metadata
    searched = explanation.nodes and not (
        explanation.fatals or subject.stopped or explanation.expensive
    )
    fitting = set(explanation.fitting)
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "answer": str(explanation.answer),
        "profile": view.inventory.profile.kubernetes,
        "tooExpensive": explanation.expensive,
        "deallocated": list(explanation.deallocated),
        "fits": list(explanation.fitting),
        "errors": list(explanation.fatals),
        "obstacles": [
            {"code": str(one.code), "message": one.message, "remedy": one.remedy}
            for one in subject.obstacles
        ],
        "causes": [{"kind": one.kind, "message": one.text} for one in explanation.causes],
        "undecided": list(explanation.undecided),
        "hints": [one.text for one in shown_hints(explanation)],
        "claims": [_claim_document(one) for one in subject.wanted],
        "groups": [
            {"nodes": list(one.nodes), "codes": list(one.codes), "why": one.why} for one in groups
        ],
        "nodes": [
            {
                "name": one.node,
                "fits": one.node in fitting,
                "filtered": list(one.filtered),
                "short": one.short,
                "searchTooLarge": isinstance(one.outcome, BudgetExceeded),
                "devices": _allocations(one.outcome) if one.node in fitting else [],
                "reasons": [
                    reason.document() for reason in (*one.others, *reasons_of(one.requests))
                ]
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
    return [one.document() for made in outcome.new for one in made.devices]


def _claim_document(wanted: Wanted) -> dict[str, Any]:
    claim: Claim = wanted.claim
    return {
        "name": claim.name,
        "entry": wanted.entry,
        "template": wanted.template or None,
        "requests": [
            {"name": name, "asksFor": request_text(request), "alternative": alternative}
            for name, request, alternative in exact_requests(claim)
        ],
    }
