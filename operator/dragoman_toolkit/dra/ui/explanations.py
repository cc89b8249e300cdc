"""Explanations of pods that wait, as many as a bounded time allows."""

import time
from collections.abc import Callable, Iterable, Iterator

from dragoman.allocation import TimeBudget
from dragoman.inventory.inventory import Inventory
from dragoman_toolkit.dra.diagnosis import pods
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView
from dragoman_toolkit.dra.output import Exit, Report, Unusable

Progress = Callable[[str, int], None]
SECONDS = 5.0
"""CPU time of one explanation."""


class Explainer:
    """Explains pods of one inventory; the second search of one pod serves the next.

    Args:
        inventory: What is known.
    """

    def __init__(self, inventory: Inventory) -> None:
        self._view = DiagnosisView(inventory)

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
