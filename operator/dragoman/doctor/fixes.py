"""First releases with the fix of a fault, from the changelogs of v1.38.0-beta.0.

Written by docs/generate_faults.py.
"""

from collections.abc import Mapping
from types import MappingProxyType

FIXED: Mapping[int, Mapping[tuple[int, int], int]] = MappingProxyType(
    {
        134311: {(1, 35): 0},
        136450: {(1, 36): 0},
        138407: {(1, 34): 13, (1, 35): 10, (1, 36): 6, (1, 37): 0},
        140434: {(1, 36): 4, (1, 37): 0},
        140798: {(1, 38): 0},
        141110: {(1, 38): 0},
        141274: {(1, 38): 0},
        141290: {(1, 37): 2, (1, 38): 0},
        141422: {(1, 37): 1, (1, 38): 0},
        141829: {(1, 38): 0},
        143376: {(1, 38): 0},
    }
)
"""Patch release by version, by issue of kubernetes/kubernetes."""
