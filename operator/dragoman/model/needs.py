"""What kube-scheduler's node filters read of pods and nodes, devices left out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from dragoman.model.amounts import AmountError, amount
from dragoman.model.fields import NOTHING, Document, items, mapping
from dragoman.model.nodeselector import NodeSelector, node_selector

_POD_LEVEL = ("cpu", "memory")

Resources = Mapping[str, int]
"""Amounts in units of 10^-9, by resource name; `pods` counts pods."""


class NodeTaint(NamedTuple):
    """A taint of a node."""

    key: str = ""
    effect: str = ""
    value: str = ""


class NodeToleration(NamedTuple):
    """A toleration of a pod: unlike one of devices, without a key it needs `Exists`."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: NodeTaint) -> bool:
        """Whether it covers a taint of a node."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.operator in ("", "Equal") and self.value == taint.value


@dataclass(frozen=True, slots=True)
class Needs:
    """What a pod needs of a node beside devices."""

    # Its containers, and the pod as such
    requests: Resources = field(default_factory=lambda: NOTHING)
    tolerations: tuple[NodeToleration, ...] = ()  # `spec.tolerations`.
    labels: Document = field(default_factory=lambda: NOTHING)  # `spec.nodeSelector`.
    affinity: NodeSelector | None = None  # Required node affinity, None for every node

    @classmethod
    def parse(cls, spec: Document) -> Self:
        """Read the spec of a pod; raise MalformedObjectError naming the field."""
        within = "spec.affinity.nodeAffinity."
        affinity = mapping(mapping(spec, "affinity", "spec."), "nodeAffinity", "spec.affinity.")
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        return cls(
            _requests(spec),
            tuple(
                NodeToleration(*(str(one.get(key) or "") for key in NodeToleration._fields))
                for one in items(spec, "tolerations", "spec.")
            ),
            mapping(spec, "nodeSelector", "spec."),
            node_selector(affinity, required, within),
        )


@dataclass(frozen=True, slots=True)
class Room:
    """What a node offers beside devices."""

    amounts: Resources = field(default_factory=lambda: NOTHING)  # `status.allocatable`.
    taints: tuple[NodeTaint, ...] = ()  # `spec.taints`.
    unschedulable: bool = False  # Whether the node is cordoned

    @classmethod
    def parse(cls, node: Document) -> Self:
        """Read a Node; raise MalformedObjectError naming the field."""
        spec = mapping(node, "spec")
        return cls(
            amounts(mapping(mapping(node, "status"), "allocatable", "status.")),
            tuple(
                NodeTaint(*(str(one.get(key) or "") for key in NodeTaint._fields))
                for one in items(spec, "taints", "spec.")
            ),
            bool(spec.get("unschedulable")),
        )


def _requests(spec: Document) -> Resources:
    """Return what a pod requests in all: its containers, and a pod as such.

    Source: resourcehelper.PodRequests: the larger of all containers with sidecars, and of each init
    container with the sidecars before it; `spec.resources` replaces cpu and memory.
    """
    total = _of_containers(spec)
    level = amounts(mapping(mapping(spec, "resources", "spec."), "requests", "spec.resources."))
    total |= {name: level[name] for name in _POD_LEVEL if name in level}
    for name, count in amounts(mapping(spec, "overhead", "spec.")).items():
        total[name] = total.get(name, 0) + count
    total["pods"] = 10**9
    return total


def _of_containers(spec: Document) -> dict[str, int]:
    initial = items(spec, "initContainers", "spec.")
    running = [*map(_requested, items(spec, "containers", "spec."))]
    if not initial and len(running) == 1:  # nearly all pods, and counters take longer
        return {name: count for name, count in running[0].items() if count > 0}
    lasting: Counter[str] = Counter()
    for one in running:
        lasting.update(one)
    sidecars: Counter[str] = Counter()
    starting: Counter[str] = Counter()
    for container in initial:
        own = _requested(container)
        if container.get("restartPolicy") == "Always":
            sidecars.update(own)
            starting |= sidecars
        else:
            starting |= sidecars + Counter(own)
    return dict((lasting + sidecars) | starting)


def _requested(container: Document) -> dict[str, int]:
    resources = mapping(container, "resources", "spec.containers[].")
    within = "spec.containers[].resources."
    limits = amounts(mapping(resources, "limits", within))
    # The API server copies limits where requests are absent; files have not been there.
    return limits | amounts(mapping(resources, "requests", within))


def amounts(document: Mapping[str, Any]) -> dict[str, int]:
    """Return quantities in units of 10^-9; what is not a quantity counts as nothing."""
    found = {}
    for name, value in document.items():
        try:
            found[name] = amount(str(value)).nanos
        except (AmountError, ValueError):
            continue
    return found
