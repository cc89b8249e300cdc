"""Whether kube-scheduler ends pods for their devices itself (KEP-5690): then dragoman does not.

What shows it are statuses of pods, which tenants may write for their own pods. So one namespace
says something about itself alone; the whole cluster needs evidence that two have to do with.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from dragoman.allocation import Cluster, TooExpensiveError
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.filters import Load
from dragoman.diagnosis.subject import of_pod
from dragoman.preemption.preemptionfacts import BoundPod, PreemptionFacts, priority_of
from dragoman.preemption.spending import Spending
from dragoman.preemption.trial import PreemptionTrial

CLUSTER = ""
"""Stands for all namespaces."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pod that needs the devices of pods that the scheduler ends for it."""

    pod: str  # `namespace/name`
    node: str  # What the scheduler promised to it
    namespaces: frozenset[str]  # Its own, and those of the pods that end


def evidence(facts: PreemptionFacts, cluster: Cluster) -> tuple[Evidence, ...]:
    """Return what shows that the scheduler preempts for devices, as far as there is time.

    A pod that has a promised node would not fit there if the pods that end kept their devices.
    """
    found: list[Evidence] = []
    with suppress(TooExpensiveError):
        found.extend(_evidence(facts, cluster))
    return tuple(found)


def stands_down(found: Iterable[Evidence]) -> frozenset[str]:
    """Return the namespaces whose pods do not preempt; with `CLUSTER`, none does."""
    namespaces: frozenset[str] = frozenset().union(*(one.namespaces for one in found))
    return frozenset({CLUSTER}) if len(namespaces) > 1 else namespaces


def _evidence(facts: PreemptionFacts, cluster: Cluster) -> Iterator[Evidence]:
    loads: dict[int, Load] = {}
    for pod in facts.world.pods.values():
        name = str((pod.document.get("status") or {}).get("nominatedNodeName") or "")
        if not name or pod.pod.node_name or name not in facts.world.nodes:
            continue
        check()
        priority = priority_of(pod.document)
        ending = [
            one
            for one in facts.by_node.get(name, ())
            if one.ending and one.preempted and one.priority < priority
        ]
        if not any(facts.claims_of.get(one.uid) for one in ending):
            continue
        if priority not in loads:
            loads[priority] = facts.load(priority)
        subject = of_pod(facts.world, pod)
        trial = PreemptionTrial(facts, cluster, loads[priority], subject, Spending())
        if subject.wanted and _needs_devices_of(ending, trial, name):
            namespaces = {pod.pod.metadata.namespace, *(one.namespace for one in ending)}
            yield Evidence(pod.key, name, frozenset(namespaces))


def _needs_devices_of(ending: Iterable[BoundPod], trial: PreemptionTrial, node: str) -> bool:
    """Whether a pod does not fit although the cpu and memory of pods that end is free."""
    trial.remove(ending, ())
    try:
        fits = trial.fits(trial.facts.world.nodes[node])
        return fits is None and not trial.spending.exceeded
    finally:
        trial.restore(ending, ())
