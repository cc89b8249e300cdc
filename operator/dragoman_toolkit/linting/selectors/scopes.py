"""Which selectors are evaluated together, and in which order.

Source: the scheduler evaluates the selectors of the class before those of the request; the first
that is false ends it, and an error of any of them ends scheduling of the pod
(k8s.io/dynamic-resource-allocation/structured; docs/cel.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import (
    Object,
    expression_of,
    reach,
    sequence,
)

KNOWN_CLASSES = {
    "gpu.nvidia.com": (
        'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"',
    ),
    "mig.nvidia.com": (
        'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"',
    ),
    "vfio.gpu.nvidia.com": (
        'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "vfio"',
    ),
    "gpu.example.com": ('device.driver == "gpu.example.com"',),
    "gpu.amd.com": ('device.driver == "gpu.amd.com"',),
    "dra.cpu": ('device.driver == "dra.cpu"',),
}
"""Classes that a driver's own chart makes, where the input holds none of that name."""


@dataclass(frozen=True, slots=True)
class SelectorScope:
    """The selectors of one request or class, with those that are evaluated before them."""

    steps: Steps  # The list of selectors
    class_name: str  # The class of a request; empty for a class itself
    before: tuple[str, ...]  # Expressions of the class
    closed: bool  # Whether the class is known, so that nothing else narrows the devices
    own: tuple[tuple[Steps, str], ...]  # Path and expression of each selector

    @property
    def key(self) -> Key:
        """What decides what is wrong with the selectors."""
        return self.class_name, self.before, tuple(text for _, text in self.own)


Key = tuple[str, tuple[str, ...], tuple[str, ...]]


def scopes(obj: Object, context: Context) -> Iterator[SelectorScope]:
    """Yield the requests of a claim, or the class itself."""
    if obj.in_group and obj.kind == "DeviceClass":
        steps: Steps = ("spec", "selectors")
        own = _expressions(steps, reach(obj.tree, steps))
        yield SelectorScope(steps, class_name="", before=(), closed=True, own=own)
    for request in obj.requests:
        steps = (*request.steps, "selectors")
        name = request.class_name
        found = context.device_class(name)
        before = tuple(text for _, text in found.selectors()) if found else KNOWN_CLASSES.get(name)
        own = _expressions(steps, request.body.get("selectors"))
        yield SelectorScope(steps, name, before or (), before is not None, own)


def _expressions(steps: Steps, selectors: Any) -> tuple[tuple[Steps, str], ...]:
    return tuple(
        ((*steps, index, "cel", "expression"), expression)
        for index, one in enumerate(sequence(selectors))
        if (expression := expression_of(one)) is not None
    )
