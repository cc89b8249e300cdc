"""When a driver may pretend under a name: never where the real driver of that name could be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman_drivers.pretend.shapes import MARK

PREFIX = "pretend."
MAX_NAME = 63


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around a driver before it starts."""

    throwaway: bool  # Whether the API server is one of `dragoman conformance`
    known: bool  # Whether the user insists, by --i-know
    slices: tuple[Mapping[str, Any], ...] = ()  # ResourceSlices of the driver's name
    # Paths of sockets of the driver's name below the kubelet's folder
    sockets: tuple[Path, ...] = ()
    own: bool = False  # Whether a checkpoint of `dragoman pretend` lies beside the sockets


def pretended(driver: str) -> str:
    """Return the name under which a driver is pretended."""
    return driver if driver.startswith(PREFIX) else f"{PREFIX}{driver}"


def refusal(name: str, around: Surroundings) -> str:
    """Return why a driver must not start under a name; the empty text if it may."""
    if len(name) > MAX_NAME:
        return f"--driver-name {name}: has {len(name)} characters, at most {MAX_NAME} are allowed"
    real = [one["metadata"]["name"] for one in around.slices if not is_pretended(one)]
    if real:
        return f"driver {name} publishes {real[0]}: a pretended one must not stand in for it"
    if name.startswith(PREFIX):
        return ""
    if around.sockets and not around.own:
        return f"{around.sockets[0]} exists: driver {name} runs, or ran, on this node"
    if not around.throwaway and not around.known:
        return (
            f"{name} is the name of a real driver, and this API server is not a throwaway one; "
            f"use --driver-name {PREFIX}{name}, or --i-know on a cluster without that driver"
        )
    return ""


def is_pretended(manifest: Mapping[str, Any]) -> bool:
    """Whether all devices of a ResourceSlice have the mark; one without devices counts."""
    devices: Iterable[Mapping[str, Any]] = manifest["spec"].get("devices") or ()
    return all(MARK in (one.get("attributes") or {}) for one in devices)


def sockets(kubelet: Path, name: str) -> tuple[Path, ...]:
    """Return the sockets of a driver's name below the kubelet's folder."""
    registry, folder = kubelet / "plugins_registry", kubelet / "plugins" / name
    found = [*registry.glob(f"{name}*.sock"), *folder.glob("*.sock")]
    return tuple(sorted(found))
