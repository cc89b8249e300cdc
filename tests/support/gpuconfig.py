"""A config of drivers in tests, and its DriverConfigSchema as a vendor would publish it."""

from typing import Any

API_VERSION, KIND = "gpu.example.com/v1", "GpuConfig"
MODES = ("Exclusive", "Shared")
TYPED = {"apiVersion": API_VERSION, "kind": KIND}


def schema(driver: str) -> dict[str, Any]:
    """Return the schema for a driver: the same rules as its decoder's."""
    properties = {
        "mode": {"type": "string", "enum": [*MODES]},
        "label": {"type": "string", "maxLength": 63},
    }
    config = {**TYPED, "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}
    return {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "DriverConfigSchema",
        "metadata": {"name": driver},
        "spec": {"driver": driver, "configs": [config]},
    }
