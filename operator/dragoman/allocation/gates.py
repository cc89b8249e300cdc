"""Stages of the feature gates of Dynamic Resource Allocation, up to v1.38.0-beta.0.

Written by docs/generate_faults.py.
"""

from collections.abc import Mapping
from types import MappingProxyType

ALPHA, BETA, GA, LOCKED = "alpha", "beta", "GA", "locked"
BETA_OFF = "beta, off"
"""Off by default; also a default that needs the release as compatibility version."""

STAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "DRAAdminAccess": (BETA, BETA, LOCKED, LOCKED, LOCKED),
        "DRAConsumableCapacity": (ALPHA, ALPHA, BETA, BETA, GA),
        "DRADerivedAttributes": ("", "", "", ALPHA, ALPHA),
        "DRADeviceBindingConditions": (ALPHA, ALPHA, BETA, BETA, LOCKED),
        "DRADeviceCompatibilityGroups": ("", "", "", ALPHA, ALPHA),
        "DRADeviceTaintRules": ("", ALPHA, BETA_OFF, GA, LOCKED),
        "DRADeviceTaints": (ALPHA, ALPHA, BETA, GA, LOCKED),
        "DRAExtendedResource": (ALPHA, ALPHA, BETA, LOCKED, LOCKED),
        "DRAFractionalCapacityRange": ("", "", "", BETA_OFF, GA),
        "DRAListTypeAttributes": ("", "", ALPHA, ALPHA, ALPHA),
        "DRAOptionalNodeOperations": ("", "", "", ALPHA, ALPHA),
        "DRAPartitionableDevices": (ALPHA, ALPHA, BETA, BETA, LOCKED),
        "DRAPrioritizedList": (BETA, BETA, GA, LOCKED, LOCKED),
        "DRAResourceClaimDeviceStatus": (BETA, BETA, BETA, LOCKED, LOCKED),
        "DRASchedulerFilterTimeout": (BETA, BETA, BETA, BETA, BETA),
        "DynamicResourceAllocation": (GA, LOCKED, LOCKED, LOCKED, ""),
    }
)
"""Stage in each known version, the oldest first; empty where a gate does not exist."""
