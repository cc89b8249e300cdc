"""Asks kube-scheduler itself whom it preempts: one Go program for each version of Kubernetes."""

from pathlib import Path

from tests.conformance.oracle import Oracle, build

SOURCES = Path(__file__).parent
MODULES = {
    "1.34": ("go134.mod", "kube134"),
    "1.35": ("go135.mod", "kube135"),
    "1.36": ("go136.mod", ""),
    "1.37": ("go.mod", ""),
    "1.38": ("go138.mod", ""),
}
"""The file of pinned modules of each version, and the build tag of the files that differ."""


def oracle(kubernetes: str) -> Oracle:
    """Start the scheduler of a version, such as "1.36"; its first build takes minutes."""
    modules, tags = MODULES[kubernetes]
    return Oracle(build(SOURCES, modules, f"preemption oracle of {kubernetes}", tags))
