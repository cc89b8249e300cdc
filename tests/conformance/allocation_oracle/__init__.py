"""Asks kube-scheduler's own allocator: one Go program for each version of the library."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.conformance.oracle import Oracle, build

SOURCES: Final = Path(__file__).parent
MODULES: Final = {"1.36": "go.mod", "1.37": "go137.mod"}


def oracle(kubernetes: str) -> Oracle:
    """Start the allocator of a version, "1.36" or "1.37"."""
    return Oracle(build(SOURCES, MODULES[kubernetes], f"allocator oracle of {kubernetes}"))
