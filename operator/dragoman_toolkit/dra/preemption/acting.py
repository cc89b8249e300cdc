"""What `kubectl dra preempt` does: print a plan, carry it out, or stop what was begun."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.allocation import Cluster, TimeBudget, TooExpensiveError
from dragoman.cli.terminal import say
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.model.fields import part
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan, plan
from dragoman.preemption.policy import Policy, VictimChoice
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman.preemption.reservation import devices_to_reserve
from dragoman.preemption.stored import Journal, Phase
from dragoman_toolkit.diagnosis.files import overlaid
from dragoman_toolkit.dra.cluster import subjects
from dragoman_toolkit.dra.cluster.ended import with_pod
from dragoman_toolkit.dra.cluster.files import documents, require_valid
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import ProgressLine, Unusable, apart, show
from dragoman_toolkit.dra.preemption import preempt_report, reading
from dragoman_toolkit.dra.preemption.carrying import REFUSED, Carrying, ask

if TYPE_CHECKING:
    from dragoman.inventory.facts.world import World


def one_pod(source: Source, words: tuple[str, ...]) -> tuple[str, str]:
    """Return namespace and name of the pod that is meant: the first of a workload's that wait."""
    keys = subjects.waiting(source, words)
    if len(keys) > 1:
        say(f"{len(keys)} pods wait; this is about {keys[0]}")
    namespace, _, name = keys[0].partition("/")
    return namespace, name


def policy(gap: int, most: int, protected: tuple[str, ...], *, opted_in: bool) -> Policy:
    """Return whose pods may end, for a pod of any scheduler; see `preempt --help`."""
    select = VictimChoice.OPTED_IN if opted_in else VictimChoice.ALL
    return Policy(gap, most, select, protected, schedulers=None)


def print_plans(  # noqa: PLR0913 — those of Command
    source: Source,
    filenames: tuple[str, ...],
    of: Policy,
    timeout: float,
    output: str,
    *,
    priority: int | None,
) -> int:
    """Print a plan for each pod of manifests; return the exit status.

    Args:
        source: The cluster, or a snapshot.
        filenames: The manifests.
        of: Whose pods may end.
        timeout: Seconds of CPU time for each plan.
        output: As `--output` says.
        priority: Of the pods; None for what the files say.
    """
    files = list(documents(filenames))
    snapshot = source.read(reading.NEEDED)
    require_valid(files, snapshot.kubernetes)
    planned = overlaid(snapshot, (one.tree for _, one in files), source.namespace)
    if not planned.pods:
        raise Unusable("the files have no pod and no workload")
    world = parse(planned.snapshot)
    status = 0
    for index, key in enumerate(planned.pods):
        if index:
            apart(output)
        # Other pods of the files take no room: each plan is for one pod.
        others = {name: pod for name, pod in world.pods.items() if name not in planned.pods}
        found = reading.pod_that_waits(world, key, "preempt")
        spec = {
            **part(found.document, "spec"),
            **({} if priority is None else {"priority": priority}),
        }
        others[key] = replace(found, document={**found.document, "spec": spec})
        alone = replace(world, pods=others)
        subject = of_pod(alone, others[key], planned=True)
        cluster = cluster_of(take(alone, source.profile(alone)))
        made = _plan(alone, subject, cluster, of, timeout)
        report = preempt_report.report(alone, made, "Nothing was changed.")
        show(report, output)
        status = max(status, int(report.status))
    return status


def _plan(
    world: World, subject: Subject, cluster: Cluster, of: Policy, timeout: float
) -> PreemptionPlan:
    try:
        with ProgressLine() as progress, TimeBudget(timeout, clock=time.thread_time):
            facts = PreemptionFacts.of(world)
            return plan(facts, subject, cluster, policy=of, progress=progress)
    except TooExpensiveError:
        raise Unusable(f"took more than {timeout:g} s; --timeout gives more") from None


@dataclass(frozen=True, slots=True)
class Command:
    """One call of the command."""

    source: Source  # The cluster, or a snapshot
    namespace: str  # Of the pod
    pod: str  # Its name
    policy: Policy  # Whose pods may end
    timeout: float  # Seconds of CPU time for the plan
    output: str  # As `--output` says

    def print_plan(self) -> int:
        """Print the plan; return the exit status."""
        world, made, _ = self._planned()
        report = preempt_report.report(world, made, "Nothing was changed.")
        show(report, self.output)
        return int(report.status)

    def preempt(self, *, yes: bool) -> int:
        """Carry the plan out, or go on with what was begun; return the exit status."""
        following = Carrying(self.namespace, self.pod, self.policy)
        if self.source.call(following.active):
            say(f"A preemption for {self.namespace}/{self.pod} is under way")
            return self._carried(following)
        world, made, cluster = self._planned()
        report = preempt_report.report(world, made)
        show(report, self.output)
        if made.outcome is not PreemptionOutcome.PLANNED or made.chosen is None:
            return int(report.status)
        if made.only_reported:
            raise Unusable(f"nothing is evicted: {made.only_reported[0].text}")
        if Extended(cluster, made.subject).served:
            raise Unusable(
                "nothing is evicted: claims of extended resources tolerate no reservation"
            )
        count = len(made.chosen.victims)
        pods = "this pod" if count == 1 else f"these {count} pods"
        ask(
            f"Evict {pods} for {self.namespace}/{self.pod}?",
            yes=yes,
        )
        reserved = devices_to_reserve(cluster, made.chosen)
        return self._carried(replace(following, plan=made, reserved=reserved))

    def abort(self) -> int:
        """Stop the preemption for the pod; return the exit status."""
        carrying = Carrying(self.namespace, self.pod, self.policy)
        try:
            count = self.source.call(carrying.abort)
        except TimeoutError:
            raise Unusable("the DevicePreemption is deleted, but its finalizer is not") from None
        say(
            f"Stopped the preemption for {self.namespace}/{self.pod}: its devices are released"
            if count
            else f"No preemption for {self.namespace}/{self.pod} is under way"
        )
        return 0 if count else 1

    def _carried(self, carrying: Carrying) -> int:
        try:
            ended: Journal = self.source.call(carrying.run)
        except KeyboardInterrupt:
            key = f"{self.namespace}/{self.pod}"
            raise Unusable(
                f"Interrupted: devices stay reserved. `kubectl dra preempt {key}` goes on, "
                "and --abort releases them"
            ) from None
        say(f"{ended.phase}: {ended.message}")
        return 0 if ended.phase is Phase.PLACED else REFUSED

    def _planned(self) -> tuple[World, PreemptionPlan, Cluster]:
        key = f"{self.namespace}/{self.pod}"
        world = parse(with_pod(self.source, self.source.read(reading.NEEDED), key))
        reading.require(world)
        found = reading.pod_that_waits(world, key, "preempt")
        cluster = cluster_of(take(world, self.source.profile(world)))
        made = _plan(world, of_pod(world, found), cluster, self.policy, self.timeout)
        return world, made, cluster
