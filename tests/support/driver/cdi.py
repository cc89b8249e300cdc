"""What containerd is told about devices: documents of the Container Device Interface. Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.driver.config import Config

CDI_VERSION = "0.6.0"
INSIDE = "/var/run/devices"
"""Folder in which a container finds one file for each of its devices."""
NODES = "/dev/devices"
"""Folder in which a container finds its device nodes."""


def kind(driver: str) -> str:
    """Return vendor and class of a driver's devices; a vendor must start with a letter."""
    return f"k8s.{driver}/claim"


def device_id(driver: str, uid: str, device: str) -> str:
    """Return the name by which containerd finds a claim's device."""
    return f"{kind(driver)}={uid}-{device}"


def file_name(driver: str, uid: str) -> str:
    """Return the name of the file that describes a claim's devices."""
    return f"{kind(driver).replace('/', '-')}-{uid}.json"


def document(
    driver: str, uid: str, devices: Mapping[str, Config], files: Mapping[str, Path]
) -> dict[str, Any]:
    """Return the description of all devices of a claim.

    Args:
        driver: Its name becomes the vendor's.
        uid: Of the claim.
        devices: Their configs by name.
        files: What is mounted into containers, by device.
    """
    return {
        "cdiVersion": CDI_VERSION,
        "kind": kind(driver),
        "devices": [
            {"name": f"{uid}-{name}", "containerEdits": edits(name, uid, config, files[name])}
            for name, config in devices.items()
        ],
    }


def edits(name: str, uid: str, config: Config, file: Path) -> dict[str, Any]:
    """Return what a device adds to a container: variables, a device node and a file."""
    variable = f"DEVICE_{name.upper().replace('-', '_')}"
    return {
        "env": [f"{variable}={uid}", f"{variable}_CONFIG={config.mode},{config.label}"],
        "deviceNodes": [{"path": f"{NODES}/{name}", "hostPath": "/dev/zero"}],
        "mounts": [
            {
                "hostPath": str(file),
                "containerPath": f"{INSIDE}/{name}",
                "options": ["ro", "bind", "nosuid", "nodev"],
            }
        ],
    }
