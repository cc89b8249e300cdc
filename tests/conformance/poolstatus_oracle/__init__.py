"""Asks kube-controller-manager 1.37.2 for the status of pools: the function of its controller."""

from pathlib import Path

from tests.conformance.oracle import Oracle, build

SOURCES = Path(__file__).parent


def oracle() -> Oracle:
    """Start the program, building it once (some minutes without Go's build cache)."""
    return Oracle(build(SOURCES, name="pool status oracle"))
