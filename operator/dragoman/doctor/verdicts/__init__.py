"""Verdicts of `dragoman conformance` on versions of drivers, and which of them a cluster runs.

The files next to this module are those that `dragoman conformance --verdict` writes. A version is
known from the plugin's image alone: by its digest, or by the last part of its name with its tag,
which mirrors of a registry keep.
"""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.doctor.pools import Plugins
from dragoman.inventory.facts.world import PodFact
from dragoman.model.fields import part, parts

FOLDER = Path(__file__).parent
SHOWN = 3
"""Rules of one driver that are written out."""


@dataclass(frozen=True, slots=True)
class DriverVerdict:
    """What the kit found in one version of a driver."""

    driver: str  # Name of the driver
    version: str  # Of the driver
    images: frozenset[str]  # Names of images with tags, without registries and folders
    digests: frozenset[str]  # Of images, as `sha256:…`
    failed: tuple[tuple[str, str], ...]  # Id and rule of each must that failed

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> Self:
        """Read a verdict file."""
        failed = (one for one in tree["failed"] if one["level"] == "must")
        return cls(
            tree["driver"],
            tree["version"],
            frozenset(tree["images"]),
            frozenset(tree["digests"]),
            tuple((one["id"], one["title"]) for one in failed),
        )

    def names(self, image: str) -> bool:
        """Whether an image is of this version."""
        name, _, digest = image.partition("@")
        return digest in self.digests or name.rpartition("/")[2] in self.images


@functools.cache
def shipped() -> tuple[DriverVerdict, ...]:
    """Return the verdicts that are shipped."""
    return tuple(
        DriverVerdict.of(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*.json"))
    )


def driver_not_conformant(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver runs in a version that breaks rules which the kubelet or an interface depends on."""
    for driver, images in sorted(_images(facts).items()):
        for one in shipped():
            pods = {pod for image, pods in images.items() if one.names(image) for pod in pods}
            if one.driver == driver and one.failed and pods:
                yield _finding(one, sorted(pods))


def unknown(facts: DoctorFacts) -> tuple[str, ...]:
    """Return drivers that verdicts exist for, but not for the images that run."""
    found = _images(facts)
    known = {one.driver for one in shipped()} & found.keys()
    return tuple(
        driver
        for driver in sorted(known)
        if not any(one.driver == driver and any(map(one.names, found[driver])) for one in shipped())
    )


def _finding(one: DriverVerdict, pods: Sequence[str]) -> Finding:
    where = f"{pods[0]}{f' and {len(pods) - 1} more' if len(pods) > 1 else ''}"
    rules = "; ".join(f"{key}: {title}" for key, title in one.failed[:SHOWN])
    more = f"; and {len(one.failed) - SHOWN} more" if len(one.failed) > SHOWN else ""
    count = f"{len(one.failed)} rule{'s' if len(one.failed) != 1 else ''}"
    return Finding(
        Id.DRIVER_NOT_CONFORMANT,
        FindingSubject(f"{one.driver} {one.version}"),
        f"this version runs in {where}, and breaks {count} for drivers: {rules}{more}",
        f"dragoman conformance --explain {one.failed[0][0]}; ask the driver's makers for a release "
        "that passes",
    )


def _images(facts: DoctorFacts) -> dict[str, dict[str, set[str]]]:
    """Return the images of each driver's plugins, by name and by digest, with the pods of each."""
    plugins = Plugins.of(facts)
    found: dict[str, dict[str, set[str]]] = {}
    seen: dict[str, set[int]] = {}
    for pool in facts.inventory.pools.values():
        images, looked = (
            found.setdefault(pool.id.driver, {}),
            seen.setdefault(pool.id.driver, set()),
        )
        for pods in plugins.of_driver(facts, pool):
            if id(pods) in looked:
                continue  # a driver has many pools, whose pods are looked at once
            looked.add(id(pods))
            for pod in pods:
                for image in _of_pod(pod):
                    images.setdefault(image, set()).add(pod.key)
    return found


def _of_pod(pod: PodFact) -> Iterator[str]:
    for container in parts(part(pod.document, "spec"), "containers"):
        yield str(container.get("image") or "")
    for status in parts(part(pod.document, "status"), "containerStatuses"):
        yield str(status.get("imageID") or "")
