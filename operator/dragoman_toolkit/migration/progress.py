"""How far a node has come on its way between device sources, and which pods leave it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dragoman.inventory.facts.world import PodFact
from dragoman_toolkit.migration.steps import Amount


class NodeState(StrEnum):
    """Where a node gets its devices from."""

    PLUGIN = "plugin"
    NONE = "none"
    """Between both sources."""
    DRA = "dra"
    BOTH = "both"
    STALE = "stale"
    """Its plug-in has ended, and nothing has taken over."""
    MIXED = "mixed"
    """Some resources by a plug-in, others by DRA."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A pod that leaves a node."""

    pod: PodFact
    kind: str  # Of the controller at the top of its owners; `Pod` without one
    owner: str  # Its name
    asks: Counter[str]  # Devices by resource
    budget: str = "none"  # `ok`, `blocked` or `none`
    explicit: bool = False  # Whether its own claims hold the devices: no plug-in serves these

    @property
    def unmanaged(self) -> bool:
        """Whether nothing makes it again."""
        return self.kind == "Pod"

    @property
    def daemon(self) -> bool:
        """Whether a DaemonSet makes it again on the same node, cordoned or not."""
        return self.kind == "DaemonSet"

    def as_json(self) -> dict[str, Any]:
        """Return its fields."""
        return {
            "namespace": self.pod.pod.metadata.namespace,
            "name": self.pod.pod.metadata.name,
            "owner": {"kind": self.kind, "name": self.owner},
            "asks": dict(sorted(self.asks.items())),
            "budget": self.budget,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """How far a node has come."""

    name: str
    state: NodeState
    label: str  # Value of `SOURCE`; empty where the node has none
    amounts: Sequence[Amount]
    devices: Mapping[str, int]  # Usable ones of each resource
    allocatable: Mapping[str, int]
    cordoned: bool

    def first(self, *, left: bool) -> str:
        """Return the step with which it goes on to DRA; empty where it is there.

        Args:
            left: Whether pods have to leave.
        """
        last = "uncordon" if self.cordoned else ""
        match self.state, self.label:
            case NodeState.BOTH, _:
                return "source-none"
            case ((NodeState.NONE | NodeState.DRA), "dra"):
                whole = all(self.devices[one.resource] >= one.devices for one in self.amounts)
                return last if whole and self.state is NodeState.DRA else "wait-devices"
            case NodeState.DRA, _:
                return last
            case NodeState.NONE, _:
                # Pods may have come since then, or the label was set before they had left.
                return "cordon" if left or not self.cordoned else "wait-gone"
        return "cordon"

    def first_back(self, *, held: bool) -> str:
        """Return the step with which it goes back to its plug-in; empty where it is there.

        Args:
            held: Whether claims hold its devices.
        """
        last = "uncordon" if self.cordoned else ""
        if self.state is NodeState.BOTH:
            return "source-none"
        if self.label == "plugin" and not any(self.devices.values()):
            whole = all(self.allocatable[one.resource] >= one.plugin > 0 for one in self.amounts)
            return last if whole else "wait-resource"
        if self.state in (NodeState.PLUGIN, NodeState.STALE):
            return last if self.state is NodeState.PLUGIN else ""
        if self.state is NodeState.NONE and self.label != "dra":
            return "wait-no-slices" if self.cordoned and not held else "cordon"
        return "cordon"
