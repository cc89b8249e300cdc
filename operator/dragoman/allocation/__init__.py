"""kube-scheduler's allocator of Dynamic Resource Allocation, exact, with reasons.

Facts are parsed once, a `Cluster` is kept up to date by them, and `allocate` decides what the
claims of a pod get on a node: the devices that kube-scheduler would choose, in the same order, with
the same errors. Everything is pure: no effects, and a search is bounded by its steps; the clock of
a `TimeBudget` only ends what takes too long.

    cluster = Cluster(profile("1.36"), nodes=[...], slices=[...], classes=[...], claims=[...])
    match allocate("node-1", [parse_claim(claim)], cluster, reasons=True):
        case Allocated(allocations=(allocation,)):
            print(allocation.document())
        case DoesNotFit(reasons=reasons):
            print(*reasons)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.allocation.allocator import BUDGET, Outcome, allocate, fits
    from dragoman.allocation.cluster import Cluster, UnknownNodeError
    from dragoman.allocation.codes import Code, Reason
    from dragoman.allocation.extendedresources import (
        ContainerRequest,
        ExtendedResources,
        class_of,
        extended_resources,
    )
    from dragoman.allocation.features import (
        Features,
        Profile,
        UnknownGateError,
        Variant,
        profile,
        profile_of,
    )
    from dragoman.allocation.pools.nodeselector import NodeSelectorError
    from dragoman.allocation.pools.pool import Pool
    from dragoman.allocation.pools.usage import Holder
    from dragoman.allocation.reasons.explaining import explain
    from dragoman.allocation.results import (
        Allocation,
        BudgetExceeded,
        ConfigResult,
        DeviceResult,
        DoesNotFit,
        FatalError,
        NodeError,
    )
    from dragoman.allocation.search.allocated import Allocated
    from dragoman.allocation.timebudget import StoppedError, TimeBudget, TooExpensiveError
    from dragoman.model.amounts import Amount
    from dragoman.model.claim import Claim
    from dragoman.model.claimcontent import parse_claim
    from dragoman.model.device import Content, Device
    from dragoman.model.deviceclass import DeviceClass, parse_class
    from dragoman.model.deviceid import DeviceID, PoolID
    from dragoman.model.fields import MalformedObjectError
    from dragoman.model.nodes import Node, parse_node
    from dragoman.model.requests import ClaimSpec
    from dragoman.model.slice import Slice, parse_slice
    from dragoman.model.taints import DeviceTaintRule, Taint, parse_taint_rule

_LATE = {
    "Allocated": "allocation.search.allocated",
    "Allocation": "allocation.results",
    "Amount": "model.amounts",
    "BUDGET": "allocation.allocator",
    "BudgetExceeded": "allocation.results",
    "Claim": "model.claim",
    "ClaimSpec": "model.requests",
    "Cluster": "allocation.cluster",
    "Code": "allocation.codes",
    "ConfigResult": "allocation.results",
    "ContainerRequest": "allocation.extendedresources",
    "Content": "model.device",
    "Device": "model.device",
    "DeviceClass": "model.deviceclass",
    "DeviceID": "model.deviceid",
    "DeviceResult": "allocation.results",
    "DeviceTaintRule": "model.taints",
    "DoesNotFit": "allocation.results",
    "ExtendedResources": "allocation.extendedresources",
    "FatalError": "allocation.results",
    "Features": "allocation.features",
    "Holder": "allocation.pools.usage",
    "MalformedObjectError": "model.fields",
    "Node": "model.nodes",
    "NodeError": "allocation.results",
    "NodeSelectorError": "allocation.pools.nodeselector",
    "Outcome": "allocation.allocator",
    "Pool": "allocation.pools.pool",
    "PoolID": "model.deviceid",
    "Profile": "allocation.features",
    "Reason": "allocation.codes",
    "Slice": "model.slice",
    "StoppedError": "allocation.timebudget",
    "Taint": "model.taints",
    "TimeBudget": "allocation.timebudget",
    "TooExpensiveError": "allocation.timebudget",
    "UnknownGateError": "allocation.features",
    "UnknownNodeError": "allocation.cluster",
    "Variant": "allocation.features",
    "allocate": "allocation.allocator",
    "class_of": "allocation.extendedresources",
    "explain": "allocation.reasons.explaining",
    "extended_resources": "allocation.extendedresources",
    "fits": "allocation.allocator",
    "parse_claim": "model.claimcontent",
    "parse_class": "model.deviceclass",
    "parse_node": "model.nodes",
    "parse_slice": "model.slice",
    "parse_taint_rule": "model.taints",
    "profile": "allocation.features",
    "profile_of": "allocation.features",
}
"""The module of each name, loaded on first use: commands that search nothing start without most."""

__all__ = [
    "BUDGET",
    "Allocated",
    "Allocation",
    "Amount",
    "BudgetExceeded",
    "Claim",
    "ClaimSpec",
    "Cluster",
    "Code",
    "ConfigResult",
    "ContainerRequest",
    "Content",
    "Device",
    "DeviceClass",
    "DeviceID",
    "DeviceResult",
    "DeviceTaintRule",
    "DoesNotFit",
    "ExtendedResources",
    "FatalError",
    "Features",
    "Holder",
    "MalformedObjectError",
    "Node",
    "NodeError",
    "NodeSelectorError",
    "Outcome",
    "Pool",
    "PoolID",
    "Profile",
    "Reason",
    "Slice",
    "StoppedError",
    "Taint",
    "TimeBudget",
    "TooExpensiveError",
    "UnknownGateError",
    "UnknownNodeError",
    "Variant",
    "allocate",
    "class_of",
    "explain",
    "extended_resources",
    "fits",
    "parse_claim",
    "parse_class",
    "parse_node",
    "parse_slice",
    "parse_taint_rule",
    "profile",
    "profile_of",
]


def __getattr__(name: str) -> Any:
    """Load a module on first use of what it defines."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"dragoman.{_LATE[name]}"), name)
    globals()[name] = found
    return found
