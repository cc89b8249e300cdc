"""The deterministic budget of one review, shared by JSON Schema's keywords and CEL."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from dragoman.cel.budget import StepBudget

REVIEW_STEPS: Final = 800_000
"""Steps of one review; a step is about half a microsecond's work, whatever does it.

An honest worst case (32 entries of 10 KiB, every byte looked at) stays below it. A dearer schema
is at fault itself, and says so in the same words on every machine and under every load.
"""

current: Final[ContextVar[StepBudget]] = ContextVar("dragoman_steps")
"""The budget of the review under way; JSON Schema's keywords have no other way to learn of it."""
