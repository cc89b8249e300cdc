"""The budget that all searches of one plan share."""

from dataclasses import dataclass, field

from dragoman.allocation import Outcome
from dragoman.diagnosis.nodeanswers import BUDGET

STEPS = 20_000_000
"""Steps of all searches of one plan."""
CALLS = 200_000
"""Searches of one plan; remembered ones count too."""


@dataclass(slots=True)
class Spending:
    """What is left for the searches of one plan."""

    steps: int = STEPS  # Steps of the allocator, CEL of selectors among them
    calls: int = CALLS  # Searches
    # Searches that ended for lack of steps: what they looked for is unknown
    exceeded: int = field(default=0)

    @property
    def empty(self) -> bool:
        """Whether nothing more can be searched."""
        return self.steps <= 0 or self.calls <= 0

    @property
    def limit(self) -> int:
        """Steps of the next search."""
        return min(max(self.steps, 0), BUDGET)

    def spend(self, outcome: Outcome) -> None:
        """Count a search."""
        self.steps -= outcome.steps
        self.calls -= 1
