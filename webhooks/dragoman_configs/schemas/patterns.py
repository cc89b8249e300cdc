"""Regular expressions of schemas: the `pattern` keywords, compiled by RE2.

RE2 matches in linear time. What is left to bound is the time to compile a pattern and its memory,
which grows with the texts it meets (RE2 caches the states of its automaton).
"""

from typing import Any

import re2

from dragoman_cel.budget import PatternBudget
from dragoman_cel.values.regex import SMALL_MEMORY, compile_steps, failed_small_steps

MAX_PATTERN_STEPS = 300_000
"""Steps of compiling all patterns of one object, those in rules included; a step is about 1 us."""

ADVICE = "use shorter repetitions or fewer Unicode classes"
"""How a pattern that is too large becomes smaller."""


class PatternError(ValueError):
    """A text that RE2 does not compile; the message gives RE2's reason."""


class PatternCompiler:
    """Compiles the patterns of one DriverConfigSchema, equal ones once.

    Args:
        budget: Pays for each pattern; by default a budget of its own.
    """

    def __init__(self, budget: PatternBudget | None = None) -> None:
        self._budget = budget or PatternBudget(MAX_PATTERN_STEPS)
        self._compiled: dict[str, Any] = {}

    def compile(self, text: str) -> Any:
        """Compile a pattern over UTF-8 bytes, without captures.

        Raises:
            PatternError: An invalid pattern, or one that needs more than `SMALL_MEMORY`.
            StepBudgetExceeded: Earlier patterns used up the budget.
        """
        if text not in self._compiled:
            self._budget.check()
            self._compiled[text] = self._compile(text)
        return self._compiled[text]

    def _compile(self, text: str) -> Any:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = SMALL_MEMORY
        try:
            # Not re2.compile, which keeps the last 128 patterns of all schemas, deleted ones too.
            compiled = re2._Regexp(text.encode("utf-8", "replace"), options)  # noqa: SLF001
        except re2.error as error:
            reason = _reason(error)
            if "too large" in reason:
                reason = f"needs more than {SMALL_MEMORY >> 10} KiB; {ADVICE}"
            self._budget.spend(failed_small_steps(text))
            raise PatternError(reason) from None
        self._budget.patterns.add(text)
        self._budget.spend(compile_steps(text, compiled.programsize))
        return compiled


def _reason(error: re2.error) -> str:
    reason = error.args[0] if error.args else "invalid"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
