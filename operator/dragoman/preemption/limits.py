"""Whether a preemption may begin now: what the journals of the last hour say about limits."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dragoman.preemption.candidates import Candidate
from dragoman.preemption.stored import Journal, Phase, PreemptionLimits, timestamp

EVERY = ""
"""Stands for all namespaces."""
HOUR = 3600.0
OWNER_RESTS = 600.0
"""Seconds in which a controller loses pods to one preemption only."""
LONGEST_REST = 1800.0
PAUSE = 300.0
"""Seconds without preemptions after failures; then one at a time, until one succeeds."""
SEVERAL = 3
"""Namespaces whose preemptions must have failed before that says anything about the cluster."""
BEGINNING = 20.0
"""Seconds for which a preemption without evictions takes a place: tenants can hold up their own."""
REST = 60.0
"""Seconds before the second attempt for a pod that failed; doubled for each further one."""


@dataclass(frozen=True)
class PreemptionBudget:
    """What may still be done."""

    journals: Sequence[Journal]  # Of the last hour, ended ones as well
    limits: PreemptionLimits  # What is allowed
    now: float  # Unix time
    # Others of the last hour, whose objects are gone: what they did counts
    deleted: Sequence[Journal] = ()
    # UIDs of those that this process has known for less than `BEGINNING`, whatever clocks say
    young: frozenset[str] = frozenset()

    @property
    def all(self) -> tuple[Journal, ...]:
        """Every preemption of the last hour."""
        return (*self.journals, *self.deleted)

    @property
    def running(self) -> list[Journal]:
        """The preemptions that have not ended."""
        return [one for one in self.journals if one.running]

    @property
    def paused(self) -> frozenset[str]:
        """The namespaces for whose pods none begins after failures; with `EVERY`, for no pod.

        A pause ends some minutes after the last failure. Objects that are deleted do not count, so
        that an administrator can end it before.
        """
        return frozenset(
            name
            for name, failed in self.failing.items()
            if self.now - max(one.ended for one in failed) < PAUSE
        )

    @cached_property
    def failing(self) -> Mapping[str, Sequence[Journal]]:
        """The failures since the last success, where they say something about a namespace or all.

        One namespace says something about itself alone, and so do two: their tenants can make their
        own preemptions fail.
        """
        recent = [one for one in self.journals if self.now - one.ended < HOUR]
        ended = sorted(
            (one for one in recent if one.phase in {Phase.PLACED, Phase.FAILED}),
            key=lambda one: one.ended,
        )
        found = {}
        for name in {EVERY, *(one.namespace for one in ended)}:
            failed = _last_failures([one for one in ended if name in {EVERY, one.namespace}])
            namespaces = {one.namespace for one in failed}
            if len(failed) >= self.limits.failures and (name or len(namespaces) >= SEVERAL):
                found[name] = failed
        return found

    def evictions(self, namespace: str = "") -> int:
        """Return how many evictions there were in the last hour, or are to come.

        Args:
            namespace: Of the pods that they are for; empty for all.
        """
        return sum(self._evictions(one) for one in self.all if namespace in {"", one.namespace})

    def _evictions(self, journal: Journal) -> int:
        recent = sum(1 for done in journal.evictions if self.now - done.at < HOUR)
        return max(recent, len(journal.victims)) if journal.running else recent

    def begun(self, namespace: str) -> int:
        """Return how many preemptions began in the last hour for pods of a namespace."""
        return sum(
            1 for one in self.all if one.namespace == namespace and self.now - one.created < HOUR
        )

    def attempt(self, uid: str) -> int:
        """Return the number of the next plan for a pod."""
        return max((one.attempt for one in self.all if one.pod_uid == uid), default=0) + 1

    def resting(self, journal: Journal | None = None) -> dict[str, float]:
        """Return when each controller lost a pod last, by the digest of its UID.

        Args:
            journal: Its own evictions are left out.
        """
        found: dict[str, float] = {}
        for one in self.all:
            if journal is not None and one.uid == journal.uid:
                continue
            for done in one.evictions:
                if done.owner:
                    found[done.owner] = max(done.at, found.get(done.owner, 0.0))
        return found

    @property
    def reserved(self) -> frozenset[str]:
        """The UIDs of preemptions whose devices are reserved: what is read from now on shows it."""
        return frozenset(one.uid for one in self.running if one.reserved)

    def refusals(
        self, namespace: str, uid: str, candidate: Candidate, known: Collection[str]
    ) -> Iterator[str]:
        """Yield why a preemption may not begin now.

        Args:
            namespace: Of the pod that waits.
            uid: Of that pod.
            candidate: The plan.
            known: UIDs of preemptions whose reservations the plan knows.
        """
        if self.paused & {namespace, EVERY}:
            failed = f"the last {self.limits.failures} preemptions failed"
            yield f"{failed}: delete their DevicePreemptions once the cause is found, or wait"
        yield from self._of_pod(uid)
        running = self.running
        # Whose pods were asked to end has what it needs: how long they take is up to tenants.
        # So it is up to them how long claims are replaced, which ends at the time limit.
        beginning = [one for one in running if not one.evictions and one.uid in self.young]
        if EVERY in self.failing and running:
            yield "after failures, one preemption is under way at a time"
        if len(beginning) >= self.limits.parallel:
            yield f"{self.limits.parallel} preemptions are under way, the most at a time"
        if any(one.namespace == namespace for one in running):
            yield "another preemption for this namespace is under way"
        if candidate.node in {one.node for one in running if one.uid not in known}:
            yield f"another preemption reserves devices on node {candidate.node} now"
        yield from self._too_many(namespace, len(candidate.victims))

    def _too_many(self, namespace: str, more: int) -> Iterator[str]:
        """Yield why no more pods are evicted; tenants learn of their own namespace's alone."""
        if self.evictions(namespace) + more > self.limits.per_namespace:
            yield (
                f"{self.evictions(namespace)} pods were evicted in the last hour for pods of the "
                f"namespace, and {self.limits.per_namespace} are the most"
            )
        if self.evictions() + more > self.limits.per_hour:
            yield f"{self.limits.per_hour} pods in an hour are the most in the cluster"

    def _of_pod(self, uid: str) -> Iterator[str]:
        own = [one for one in self.all if one.pod_uid == uid]
        if any(one.running for one in own):
            yield "a preemption for the pod is under way"
            return
        if len(own) >= self.limits.attempts:
            yield f"{len(own)} plans for the pod ended without a place, the most in an hour"
            return
        failed = [one for one in own if one.phase is Phase.FAILED]
        if failed:
            rest = min(REST * 2 ** (len(failed) - 1), LONGEST_REST)
            then = max(one.ended for one in failed) + rest
            if then > self.now:
                # A time, not what is left: a report is written, and said, where its text changes.
                yield f"the last plan failed; the next one follows at {timestamp(then)[:-5]}Z"


def _last_failures(ended: Sequence[Journal]) -> Sequence[Journal]:
    """Return the failures since the last success."""
    placed = [index for index, one in enumerate(ended) if one.phase is Phase.PLACED]
    return ended[placed[-1] + 1 :] if placed else ended
