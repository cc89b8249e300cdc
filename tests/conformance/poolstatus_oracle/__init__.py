"""Asks kube-controller-manager for the status of pools: the function of its controller."""

from pathlib import Path

from tests.conformance.oracle import Oracle, build

SOURCES = Path(__file__).parent

MODULES = {"1.37": "go.mod", "1.38": "go138.mod"}
"""The file of pinned modules of each version."""


def oracle(kubernetes: str) -> Oracle:
    """Start the program of a version, building it once (some minutes without Go's cache)."""
    return Oracle(build(SOURCES, MODULES[kubernetes], f"pool status oracle of {kubernetes}"))
