"""What is said about a pod as a whole."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dragoman.allocation import BudgetExceeded
from dragoman.diagnosis.nearness import NodeAnswer
from dragoman.diagnosis.subject import Subject


class Answer(StrEnum):
    """What is said about a pod as a whole."""

    FITS = "Fits"
    """At least one node can serve it."""
    DOES_NOT_FIT = "DoesNotFit"
    """Every node lacks something."""
    NEVER_FITS = "NeverFits"
    """No node could serve it with all devices free, healthy and complete."""
    STOPPED = "Stopped"
    """The scheduler ends at the pod before it chooses a node."""
    ALLOCATED = "Allocated"
    """The pod has its devices, and a node."""
    UNKNOWN = "Unknown"
    """The search is too large, or takes too long."""


DEVICES = "Devices"
"""The kind of a cause that has to do with devices."""


class Hint(NamedTuple):
    """A name or value that may be a slip of the pen, and what was probably meant."""

    text: str  # In words, with what is wrong
    written: str = ""  # The name or value; empty where nothing is known that would help
    meant: str = ""  # What it is to be replaced by
    old: str = ""  # The conjunct, or attribute of a constraint, in which it stands
    new: str = ""  # The same with what was meant


class Cause(NamedTuple):
    """Why no node can ever serve a pod."""

    kind: str  # `Devices`, `NodeResources` or `NodeSelector`
    text: str  # In words, to follow a colon


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pod has no devices, or where it would get them."""

    subject: Subject  # The pod and its claims
    answer: Answer  # In one word
    nodes: tuple[NodeAnswer, ...] = ()  # In the order of their names
    # Errors of nodes that stop the pod on all of them; the scheduler reports the one that it meets
    # first, and it looks at nodes in parallel
    fatals: tuple[str, ...] = ()
    expensive: bool = False  # Whether the time for the answer ended before all nodes were looked at
    # Allocated claims of the pod, by name, that the scheduler deallocates first
    deallocated: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()  # Why it never fits; empty for every other answer
    # Pools whose missing slices decide whether the pod can ever fit, as `driver/pool`
    undecided: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()  # Probable slips in what it requests

    @property
    def waits(self) -> bool:
        """Whether nodes were looked at and none serves the pod."""
        return self.answer in (Answer.DOES_NOT_FIT, Answer.NEVER_FITS)

    @property
    def fitting(self) -> tuple[str, ...]:
        """Nodes where the pod can run; none where the scheduler stops at the pod."""
        if self.answer is not Answer.FITS:
            return ()
        return tuple(one.node for one in self.nodes if one.fits)


def times_out(explanation: Explanation) -> bool:
    """Whether the scheduler's own search may run into its time-out of 10 s."""
    return any(isinstance(one.outcome, BudgetExceeded) for one in explanation.nodes)


def scheduler_message(explanation: Explanation) -> str:
    """Rebuild the scheduler's message up to its words about preemption.

    Source: FitError of kube-scheduler: reasons with their counts, sorted as text.
    """
    counts: dict[str, int] = {}
    for node in explanation.nodes:
        for reason in node.refusals:
            counts[reason] = counts.get(reason, 0) + 1
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    total = len(explanation.nodes)
    return f"0/{total} nodes are available: {listed}."
