"""Pods that can never fit, for `kubectl dra doctor`: one search for all pods that are alike."""

import time
from collections.abc import Iterator
from contextlib import suppress

from dragoman.allocation import TimeBudget, TooExpensiveError
from dragoman.diagnosis.answers import Answer
from dragoman.diagnosis.explain import cluster_of, explain
from dragoman.diagnosis.note import hint_texts, never_texts
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.doctor.waits import pod_subject
from dragoman_toolkit.workloadpods import alike

SECONDS = 20.0
"""CPU time for all searches; pods that are left wait for the next run."""


def never_fitting(facts: DoctorFacts) -> tuple[Finding, ...]:
    """Return a finding for each pod that no node serves even with all devices free."""
    found: list[Finding] = []
    with suppress(TooExpensiveError), TimeBudget(SECONDS, clock=time.thread_time):
        found.extend(_findings(facts))
    return tuple(found)


def _findings(facts: DoctorFacts) -> Iterator[Finding]:
    inventory = facts.inventory
    cluster = cluster_of(inventory)
    subjects = {one.pod.key: one for one in facts.waiting if not one.stopped}
    for group in alike(inventory.world, (one.pod for one in subjects.values())):
        found = explain(inventory, subjects[group[0].key], cluster=cluster)
        if found.answer is not Answer.NEVER_FITS:
            continue
        why = "; ".join(never_texts(found)).rstrip(".")
        hints = list(hint_texts(found))
        for pod in group:
            key = f"{pod.pod.metadata.name} -n {pod.pod.metadata.namespace}"
            command = f"kubectl dra explain pod {key}"
            todo = f"{hints[0]} ({command})" if hints else command
            since = pod.pod.metadata.created
            yield Finding(Id.POD_NEVER_FITS, pod_subject(pod), f"can never fit: {why}", todo, since)
