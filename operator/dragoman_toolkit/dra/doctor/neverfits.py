"""Pods that can never fit, for `kubectl dra doctor`: one search for all pods that are alike."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from dragoman.allocation import Cluster, TimeBudget, TooExpensiveError
from dragoman.diagnosis.answers import Answer
from dragoman.diagnosis.explain import cluster_of, explain
from dragoman.diagnosis.note import hint_texts, never_texts
from dragoman.diagnosis.subject import Subject
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.doctor.waits import pod_subject
from dragoman.inventory.facts.world import PodFact
from dragoman_base.words import counted
from dragoman_toolkit.workloadpods import alike

SECONDS = 20.0
"""CPU time for all searches."""


def never_fitting(facts: DoctorFacts) -> tuple[tuple[Finding, ...], str]:
    """Return a finding for each pod that no node serves even with all devices free.

    Returns:
        The findings, and what was not looked at when the time ended; empty where nothing is left.
    """
    cluster = cluster_of(facts.inventory)
    subjects = {one.pod.key: one for one in facts.waiting if not one.stopped}
    found: list[Finding] = []
    left = len(subjects)
    with TimeBudget(SECONDS, clock=time.thread_time) as budget:
        for group in alike(facts.inventory.world, (one.pod for one in subjects.values())):
            here: list[Finding] = []
            with suppress(TooExpensiveError):
                here = [*_findings(facts, subjects[group[0].key], cluster, group)]
                found += here
            # Searches that the end of the time stops say nothing; an answer stands all the same.
            if not here and _over(budget):
                break
            left -= len(group)
    if not left:
        return tuple(found), ""
    many = f"{left} of {counted(len(subjects), 'waiting pod')}"
    return tuple(found), (
        f"{many} not looked at within {SECONDS:.0f} s of CPU time: kubectl dra explain pod POD "
        "looks at one"
    )


def _over(budget: TimeBudget) -> bool:
    try:
        budget.left()
    except TooExpensiveError:
        return True
    return False


def _findings(
    facts: DoctorFacts, subject: Subject, cluster: Cluster, group: Sequence[PodFact]
) -> Iterator[Finding]:
    found = explain(facts.inventory, subject, cluster=cluster)
    if found.answer is not Answer.NEVER_FITS:
        return
    why = "; ".join(never_texts(found)).rstrip(".")
    hints = list(hint_texts(found))
    for pod in group:
        key = f"{pod.pod.metadata.name} -n {pod.pod.metadata.namespace}"
        command = f"kubectl dra explain pod {key}"
        todo = f"{hints[0]} ({command})" if hints else command
        since = pod.pod.metadata.created
        yield Finding(Id.POD_NEVER_FITS, pod_subject(pod), f"can never fit: {why}", todo, since)
