"""Plans for all pods that wait, from one snapshot, in a thread beside the event loop."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from dragoman.allocation import Profile, TimeBudget, TooExpensiveError
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.objects import PodFact, World
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.profiles import server_profile
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.preemption.facts import Facts, priority_of
from dragoman.preemption.planner import Outcome, Plan, plan
from dragoman.preemption.policy import Policy, ineligible

SECONDS: Final = 5.0
"""CPU time of one plan: at 5,000 nodes with 8 used devices each it takes two."""
SHARE: Final = 10.0
"""CPU time of the plans of one namespace in one pass: its pods cannot keep others from plans."""
ALL: Final = 30.0
"""CPU time of the plans of one pass; pods that come after have to wait for the next one."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What one pass found.

    Attributes:
        plans: One for each pod that waits, as far as there was time.
        left_out: Pods for which there was none.
        seconds: CPU time that it took.
    """

    plans: tuple[Plan, ...]
    left_out: int
    seconds: float


def compute(
    snapshot: Snapshot,
    waiting: Collection[str],
    policy: Policy,
    stopped: Callable[[], bool] = lambda: False,
) -> Planned:
    """Plan for each pod, the most important first, then the oldest; pods alike share a plan.

    Args:
        snapshot: The cluster.
        waiting: UIDs of the pods.
        policy: What is allowed.
        stopped: Whether the answer is not needed any more.
    """
    began = time.thread_time()
    world = parse(snapshot)
    profile: Profile = server_profile(world)
    cluster = cluster_of(Inventory(world, profile, {}, {}))
    facts = Facts.of(world)
    plans: list[Plan] = []
    known: dict[object, Plan] = {}
    spent: defaultdict[str, float] = defaultdict(float)
    left_out = 0
    for pod in sorted(_pods(world, waiting), key=_order):
        subject = of_pod(world, pod)
        namespace = pod.pod.metadata.namespace
        shape = _shape(subject, policy)
        found = known.get(shape)
        if found is None:
            start = time.thread_time()
            if start - began > ALL or spent[namespace] > SHARE:
                left_out += 1
                continue
            try:
                with TimeBudget(SECONDS, clock=time.thread_time, stopped=stopped):
                    found = plan(facts, subject, cluster, policy=policy)
            except TooExpensiveError:
                found = Plan(subject, priority_of(pod.document), Outcome.UNKNOWN, complete=False)
            known[shape] = found
            spent[namespace] += time.thread_time() - start
        plans.append(replace(found, subject=subject))
    return Planned(tuple(plans), left_out, time.thread_time() - began)


def _pods(world: World, waiting: Collection[str]) -> Iterable[PodFact]:
    return (pod for pod in world.pods.values() if pod.pod.metadata.uid in waiting)


def _order(pod: PodFact) -> tuple[int, str, str]:
    return (-priority_of(pod.document), pod.pod.metadata.created, pod.key)


def _shape(subject: Subject, policy: Policy) -> object:
    """Return what plans of pods have in common, as those of one Job."""
    if subject.allocated or subject.obstacles:
        return subject.pod.key
    document = subject.pod.document
    spec: dict[str, Any] = dict(document.get("spec") or {})
    spec.pop("resourceClaims", None)
    labels = (document.get("metadata") or {}).get("labels")
    claims = tuple(id(one.spec) for one in subject.claims)
    # A pod that is being deleted, or has a promised node, says nothing about its siblings.
    barred = tuple(one.code for one in ineligible(subject, policy))
    return (subject.pod.pod.metadata.namespace, claims, repr(spec), repr(labels), barred)
