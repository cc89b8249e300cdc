"""What container runtimes read about devices: documents of the Container Device Interface. Pure."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CDI_VERSION = "0.5.0"
"""The least that its fields need (`hostPath` of device nodes): older runtimes read it too."""
INSIDE = "/var/run/devices"
"""Folder in which a container finds one file for each of its devices."""
NODES = "/dev/devices"
"""Folder in which a container finds its device nodes."""
CLAIM = "dragoman.dev/claim"
"""Annotation of a document: namespace, name and UID of the claim."""
SECRET = ("secret", "token", "password")
"""Fields of parameters whose values containers and the folder's readers do not see."""


def kind(driver: str) -> str:
    """Return vendor and class of a driver's devices; a vendor must start with a letter."""
    return f"k8s.{driver}/claim"


def device_name(uid: str, device: str, share: str = "") -> str:
    """Return the name of a claim's device in its document."""
    return f"{uid}-{device}{f'-{share}' if share else ''}"


def device_id(driver: str, uid: str, device: str, share: str = "") -> str:
    """Return the name by which a container runtime finds a claim's device."""
    return f"{kind(driver)}={device_name(uid, device, share)}"


def file_name(driver: str, uid: str) -> str:
    """Return the name of the file that describes a claim's devices."""
    return f"{kind(driver).replace('/', '-')}-{uid}.json"


def document(
    driver: str,
    uid: str,
    devices: Mapping[tuple[str, str], Any],
    files: Mapping[str, Path],
    common: Iterable[tuple[Path, str]] = (),
) -> dict[str, Any]:
    """Return the description of all devices of a claim.

    Args:
        driver: Its name becomes the vendor's.
        uid: Of the claim.
        devices: Their parameters by name and share.
        files: What is mounted into containers, by device.
        common: Files for every container that has any device of the claim, and where they are
            mounted.
    """
    mounts = [_mount(file, inside) for file, inside in common]
    return {
        **({"containerEdits": {"mounts": mounts}} if mounts else {}),
        "cdiVersion": CDI_VERSION,
        "kind": kind(driver),
        "devices": [
            {
                "name": device_name(uid, name, share),
                "containerEdits": edits(name, uid, parameters, files[name]),
            }
            for (name, share), parameters in devices.items()
        ],
    }


def edits(name: str, uid: str, parameters: Any, file: Path) -> dict[str, Any]:
    """Return what a device adds to a container: variables, a device node and a file."""
    variable = f"DEVICE_{name.upper().replace('-', '_')}"
    shown = json.dumps(without_secrets(parameters or {}), sort_keys=True)
    return {
        "env": [f"{variable}={uid}", f"{variable}_CONFIG={shown}"],
        "deviceNodes": [{"path": f"{NODES}/{name}", "hostPath": "/dev/zero"}],
        "mounts": [_mount(file, f"{INSIDE}/{name}")],
    }


def _mount(file: Path, inside: str) -> dict[str, Any]:
    options = ["ro", "bind", "nosuid", "nodev"]
    return {"hostPath": str(file), "containerPath": inside, "options": options}


def without_secrets(value: Any) -> Any:
    """Return parameters with the values of fields in SECRET replaced."""
    if isinstance(value, Mapping):
        return {
            key: "…" if any(word in str(key).lower() for word in SECRET) else without_secrets(inner)
            for key, inner in value.items()
        }
    return [without_secrets(one) for one in value] if isinstance(value, list) else value
