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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.allocation.allocator import BUDGET as BUDGET
    from dragoman.allocation.allocator import Outcome as Outcome
    from dragoman.allocation.allocator import allocate as allocate
    from dragoman.allocation.allocator import fits as fits
    from dragoman.allocation.cluster import Cluster as Cluster
    from dragoman.allocation.cluster import UnknownNodeError as UnknownNodeError
    from dragoman.allocation.codes import Code as Code
    from dragoman.allocation.codes import Reason as Reason
    from dragoman.allocation.extendedresources import ContainerRequest as ContainerRequest
    from dragoman.allocation.extendedresources import ExtendedResources as ExtendedResources
    from dragoman.allocation.extendedresources import class_of as class_of
    from dragoman.allocation.extendedresources import extended_resources as extended_resources
    from dragoman.allocation.features import Features as Features
    from dragoman.allocation.features import Profile as Profile
    from dragoman.allocation.features import UnknownGateError as UnknownGateError
    from dragoman.allocation.features import Variant as Variant
    from dragoman.allocation.features import profile as profile
    from dragoman.allocation.features import profile_of as profile_of
    from dragoman.allocation.pools.nodeselector import NodeSelectorError as NodeSelectorError
    from dragoman.allocation.pools.pool import Pool as Pool
    from dragoman.allocation.pools.usage import Holder as Holder
    from dragoman.allocation.reasons.explaining import explain as explain
    from dragoman.allocation.results import Allocation as Allocation
    from dragoman.allocation.results import BudgetExceeded as BudgetExceeded
    from dragoman.allocation.results import ConfigResult as ConfigResult
    from dragoman.allocation.results import DeviceResult as DeviceResult
    from dragoman.allocation.results import DoesNotFit as DoesNotFit
    from dragoman.allocation.results import FatalError as FatalError
    from dragoman.allocation.results import NodeError as NodeError
    from dragoman.allocation.search.allocated import Allocated as Allocated
    from dragoman.allocation.timebudget import StoppedError as StoppedError
    from dragoman.allocation.timebudget import TimeBudget as TimeBudget
    from dragoman.allocation.timebudget import TooExpensiveError as TooExpensiveError
    from dragoman.model.amounts import Amount as Amount
    from dragoman.model.claim import Claim as Claim
    from dragoman.model.claimcontent import parse_claim as parse_claim
    from dragoman.model.device import Content as Content
    from dragoman.model.device import Device as Device
    from dragoman.model.deviceclass import DeviceClass as DeviceClass
    from dragoman.model.deviceclass import parse_class as parse_class
    from dragoman.model.deviceid import DeviceID as DeviceID
    from dragoman.model.deviceid import PoolID as PoolID
    from dragoman.model.fields import MalformedObjectError as MalformedObjectError
    from dragoman.model.nodes import Node as Node
    from dragoman.model.nodes import parse_node as parse_node
    from dragoman.model.requests import ClaimSpec as ClaimSpec
    from dragoman.model.slice import Slice as Slice
    from dragoman.model.slice import parse_slice as parse_slice
    from dragoman.model.taints import DeviceTaintRule as DeviceTaintRule
    from dragoman.model.taints import Taint as Taint
    from dragoman.model.taints import parse_taint_rule as parse_taint_rule

_MODULES = {
    "allocation.allocator": ("BUDGET", "Outcome", "allocate", "fits"),
    "allocation.cluster": ("Cluster", "UnknownNodeError"),
    "allocation.codes": ("Code", "Reason"),
    "allocation.extendedresources": (
        "ContainerRequest",
        "ExtendedResources",
        "class_of",
        "extended_resources",
    ),
    "allocation.features": (
        "Features",
        "Profile",
        "UnknownGateError",
        "Variant",
        "profile",
        "profile_of",
    ),
    "allocation.pools.nodeselector": ("NodeSelectorError",),
    "allocation.pools.pool": ("Pool",),
    "allocation.pools.usage": ("Holder",),
    "allocation.reasons.explaining": ("explain",),
    "allocation.results": (
        "Allocation",
        "BudgetExceeded",
        "ConfigResult",
        "DeviceResult",
        "DoesNotFit",
        "FatalError",
        "NodeError",
    ),
    "allocation.search.allocated": ("Allocated",),
    "allocation.timebudget": ("StoppedError", "TimeBudget", "TooExpensiveError"),
    "model.amounts": ("Amount",),
    "model.claim": ("Claim",),
    "model.claimcontent": ("parse_claim",),
    "model.device": ("Content", "Device"),
    "model.deviceclass": ("DeviceClass", "parse_class"),
    "model.deviceid": ("DeviceID", "PoolID"),
    "model.fields": ("MalformedObjectError",),
    "model.nodes": ("Node", "parse_node"),
    "model.requests": ("ClaimSpec",),
    "model.slice": ("Slice", "parse_slice"),
    "model.taints": ("DeviceTaintRule", "Taint", "parse_taint_rule"),
}
"""What each module defines: loaded on first use, because many commands search nothing."""


def __getattr__(name: str) -> Any:
    """Load a module on first use of what it defines."""
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(import_module(f"dragoman.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
