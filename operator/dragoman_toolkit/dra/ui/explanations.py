"""Explanations of pods that wait, as many as a bounded time allows."""

import time
from collections.abc import Callable, Iterable, Iterator

from dragoman.allocation import TimeBudget
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman_toolkit.dra.diagnosis import pods
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView
from dragoman_toolkit.dra.output import Exit, Report, Unusable
from dragoman_toolkit.queues.facts import Queues
from dragoman_toolkit.queues.reasons import HeldBack

Progress = Callable[[str, int], None]
SECONDS = 5.0
"""CPU time of one explanation."""


class Explainer:
    """Explains pods of one inventory; the second search of one pod serves the next.

    Args:
        inventory: What is known.
        snapshot: What it was taken from, with the objects of queue managers.
    """

    def __init__(self, inventory: Inventory, snapshot: Snapshot) -> None:
        held = HeldBack(Queues(snapshot, inventory.world), inventory)
        self._view = DiagnosisView(inventory, snapshot=snapshot, held=held)

    def explain(self, pod: str) -> Report:
        """Return what `kubectl dra explain pod` says; of a deleted pod, that it is not found."""
        try:
            with TimeBudget(SECONDS, clock=time.thread_time):
                return pods.pod(self._view, pod)
        except Unusable as error:
            return Report("Explanation", {}, (str(error),), Exit.UNKNOWN)

    def each(self, pods: Iterable[str], seconds: float) -> Iterator[tuple[str, Report]]:
        """Yield pods with their explanations until the time is over; at least one.

        Args:
            pods: `namespace/name` of each, the most urgent first.
            seconds: After which no further search begins.
        """
        end = time.monotonic() + seconds
        for pod in pods:
            yield pod, self.explain(pod)
            if time.monotonic() > end:
                return
