"""What is done for each check: a function that raises FailedError or NotRunError.

Those of one lane run one after the other on one node; lanes run side by side.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from dragoman_drivers.conformance.site import Site

MODULES = (
    "registration",
    "prepare",
    "configs",
    "unprepare",
    "concurrency",
    "cdi",
    "restart",
    "slices",
    "published",
    "sharing",
    "health",
    "rights",
    "operation",
)
Run = Callable[[Site], str | None]
"""Returns what was measured, if anything."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """How one check is done."""

    id: str  # Of the check
    run: Run  # Does it
    lane: str  # Whose node it uses
    waits: bool  # Whether it mostly waits: `--quick` leaves it out


_FOUND: dict[str, Scenario] = {}


def scenario(check: str, lane: str = "main", *, waits: bool = False) -> Callable[[Run], Run]:
    """Register what is done for a check."""

    def register(run: Run) -> Run:
        assert check not in _FOUND, check
        _FOUND[check] = Scenario(check, run, lane, waits)
        return run

    return register


def all_scenarios() -> Mapping[str, Scenario]:
    """Return all scenarios by the id of their check."""
    for name in MODULES:
        import_module(f"dragoman_drivers.conformance.scenarios.{name}")
    return _FOUND
