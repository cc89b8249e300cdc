"""Asks kube-scheduler's own allocator: one Go program for each version of the library."""

from pathlib import Path

from tests.conformance.oracle import Oracle, build

SOURCES = Path(__file__).parent
MODULES = {
    "1.34": ("go134.mod", "kube134"),
    "1.35": ("go135.mod", "kube135"),
    "1.36": ("go.mod", ""),
    "1.37": ("go137.mod", "kube137"),
    "1.38": ("go138.mod", "kube138"),
}
"""The file of pinned modules of each version, and the build tag of the files that differ."""


def oracle(kubernetes: str) -> Oracle:
    """Start the allocator of a version, such as "1.36"."""
    modules, tags = MODULES[kubernetes]
    return Oracle(build(SOURCES, modules, f"allocator oracle of {kubernetes}", tags))
