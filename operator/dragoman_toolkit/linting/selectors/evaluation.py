"""Selectors on the devices of given slices."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman_cel.budget import StepBudget
from dragoman_cel.errors import CostLimitExceeded, EvaluationError, StepBudgetExceeded
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.devices import Given
from dragoman_toolkit.linting.selectors.compilation import CompiledSelector, compiled

_STEPS = 20_000_000
"""Steps for the selectors of one request on all devices."""


@dataclass(slots=True)
class SelectorOutcome:
    """What selectors make of the given devices."""

    matched: list[Given] = field(default_factory=list)  # Devices that satisfy all
    # By index of the own selector: on how many devices it fails, and how
    failures: dict[int, tuple[int, str]] = field(default_factory=dict)
    # By index of the own selector: on how many devices it was evaluated
    considered: dict[int, int] = field(default_factory=dict)
    compiled: bool = True  # Whether all selectors compile


def outcome(before: Sequence[str], own: Sequence[str], context: Context) -> SelectorOutcome:
    """Evaluate the selectors of a class and then those of a request on every given device."""
    result = SelectorOutcome()
    programs = [compiled(text, context) for text in (*before, *own)]
    if any(one.selector is None for one in programs):
        result.compiled = False
        return result
    budget = StepBudget(_STEPS)
    for device in context.devices.given:
        if _satisfies(device, programs, len(before), result, (budget, context.memory)):
            result.matched.append(device)
    return result


def _satisfies(
    device: Given,
    programs: Sequence[CompiledSelector],
    skipped: int,
    result: SelectorOutcome,
    shared: tuple[StepBudget, dict[Any, Any]],
) -> bool:
    budget, memory = shared
    for index, program in enumerate(programs):
        selector, own = program.selector, index - skipped
        assert selector is not None
        ready = memory.setdefault(("device", selector.list_attributes, device.title), None)
        if ready is None:
            ready = selector.prepare(device.body, driver=device.driver)
            memory["device", selector.list_attributes, device.title] = ready
        if own >= 0:
            result.considered[own] = result.considered.get(own, 0) + 1
        try:
            if not selector.matches(ready, budget=budget):
                return False
        except (EvaluationError, CostLimitExceeded, StepBudgetExceeded) as error:
            if own >= 0:
                count, _ = result.failures.get(own, (0, ""))
                result.failures[own] = (count + 1, str(error))
            return False
    return True
