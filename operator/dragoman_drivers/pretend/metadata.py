"""Device metadata of KEP-5304: what a container reads of its devices, one file for a request. Pure.

The layout in containers is that of k8s.io/dynamic-resource-allocation/api/metadata. On the node,
files are kept by claim UID: a new claim of the same name gets files of its own.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dragoman_drivers.pretend.preparation import Preparation

FOLDER = "dra-device-metadata"
"""Below the driver's folder."""
INSIDE = "/var/run/kubernetes.io/dra-device-attributes"
"""Folder in which a container finds the files."""
API_VERSION = "metadata.resource.k8s.io/v1alpha1"
KIND = "DeviceMetadata"


def requests(ready: Preparation) -> list[str]:
    """Return the requests that a claim's devices are for."""
    return sorted({name for one in ready.devices for name in one.requests})


def text(driver: str, ready: Preparation, request: str) -> str:
    """Return the content of the file of one request."""
    claim = ready.claim
    devices = [
        {"driver": driver, "pool": one.pool, "name": one.device}
        for one in ready.devices
        if request in one.requests
    ]
    tree: dict[str, Any] = {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid},
        "requests": [{"name": request, "devices": devices}],
    }
    if ready.pod_claim:
        tree["podClaimName"] = ready.pod_claim
    return json.dumps(tree) + "\n"


def outside(folder: Path, uid: str, request: str) -> Path:
    """Return where the file of a request is on the node."""
    return folder / FOLDER / uid / request / "metadata.json"


def inside(driver: str, ready: Preparation, request: str) -> str:
    """Return where a container finds the file of a request."""
    kind, name = (
        ("resourceclaimtemplates", ready.pod_claim)
        if ready.pod_claim
        else ("resourceclaims", ready.claim.name)
    )
    return f"{INSIDE}/{kind}/{name}/{request}/{driver}-metadata.json"


def mounts(driver: str, folder: Path, ready: Preparation) -> Iterable[tuple[Path, str]]:
    """Yield each file of a claim, and where containers find it."""
    for request in requests(ready):
        yield outside(folder, ready.claim.uid, request), inside(driver, ready, request)
