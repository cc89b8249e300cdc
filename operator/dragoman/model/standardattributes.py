"""Attributes that Kubernetes itself defines for devices of every driver."""

from collections.abc import Mapping

STANDARD_TYPES: Mapping[str, str] = {
    "pcieRoot": "string",
    "pciBusID": "string",
    "numaNode": "int",
}
"""Types by name (k8s.io/dynamic-resource-allocation/deviceattribute)."""
