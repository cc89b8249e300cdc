"""The outcome of an allocation: what each claim gets, or why it gets nothing."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dragoman.allocation.codes import Code, Reason
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import Document, items, mapping, texts

ShareIDs = Callable[[], str]


class DeviceResult(NamedTuple):
    """One allocated device, as in `status.allocation.devices.results`."""

    request: str  # `request` or `request/subrequest`
    driver: str  # Of the device
    pool: str  # Of the device
    device: str  # Its name
    admin_access: bool = False  # Whether the request requests admin access
    tolerations: tuple[Document, ...] = ()  # Those of the request, in the API's form
    share_id: str | None = None  # Set for a share of a device that allows multiple allocations
    # Quantities by capacity, None if the device has no capacity to share
    consumed_capacity: Mapping[str, str] | None = None
    binding_conditions: tuple[str, ...] = ()  # Copied from the device
    binding_failure_conditions: tuple[str, ...] = ()  # Copied from the device
    skip_node_operations: tuple[str, ...] = ()  # Copied from the slice (1.37, alpha).

    def document(self) -> dict[str, Any]:
        """Return the API's JSON form."""
        full = {
            "request": self.request,
            "driver": self.driver,
            "pool": self.pool,
            "device": self.device,
            "adminAccess": self.admin_access,
            "tolerations": [dict(toleration) for toleration in self.tolerations],
            "shareID": self.share_id,
            "consumedCapacity": dict(self.consumed_capacity or {}),
            "bindingConditions": list(self.binding_conditions),
            "bindingFailureConditions": list(self.binding_failure_conditions),
            "skipNodeOperations": list(self.skip_node_operations),
        }
        return {key: value for key, value in full.items() if value}


class ConfigResult(NamedTuple):
    """A config of a class or a claim; `requests` empty means all of them."""

    source: str  # "FromClass" or "FromClaim"
    requests: tuple[str, ...]  # What the config is for
    document: Document  # The config itself, such as `{"opaque": …}`

    def as_document(self) -> dict[str, Any]:
        """Return the API's JSON form."""
        requests = {"requests": list(self.requests)} if self.requests else {}
        return {"source": self.source, **requests, **deepcopy(dict(self.document))}


class Allocation(NamedTuple):
    """What one claim gets, as in `status.allocation`."""

    devices: tuple[DeviceResult, ...]  # The devices in order of allocation
    config: tuple[ConfigResult, ...] = ()  # Configs of classes, then of the claim
    # Where the claim can be used, in the API's form; None for everywhere
    node_selector: Document | None = None

    def document(self) -> dict[str, Any]:
        """Return the API's JSON form, without `allocationTimestamp`."""
        devices: dict[str, Any] = {}
        if self.devices:
            devices["results"] = [device.document() for device in self.devices]
        if self.config:
            devices["config"] = [config.as_document() for config in self.config]
        document: dict[str, Any] = {"devices": devices} if devices else {}
        if self.node_selector is not None:
            document["nodeSelector"] = deepcopy(dict(self.node_selector))
        return document


def of_document(document: Document) -> Allocation:
    """Read the allocation of a claim that was allocated before."""
    devices = mapping(document, "devices")
    results = tuple(
        DeviceResult(
            request=str(item.get("request", "")),
            driver=str(item.get("driver", "")),
            pool=str(item.get("pool", "")),
            device=str(item.get("device", "")),
            admin_access=item.get("adminAccess") is True,
            tolerations=tuple(items(item, "tolerations")),
            share_id=item.get("shareID"),
            consumed_capacity=mapping(item, "consumedCapacity") or None,
            binding_conditions=texts(item, "bindingConditions"),
            binding_failure_conditions=texts(item, "bindingFailureConditions"),
            skip_node_operations=texts(item, "skipNodeOperations"),
        )
        for item in items(devices, "results")
    )
    config = tuple(
        ConfigResult(
            str(item.get("source", "")),
            texts(item, "requests"),
            {key: value for key, value in item.items() if key not in ("source", "requests")},
        )
        for item in items(devices, "config")
    )
    return Allocation(results, config, document.get("nodeSelector"))


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """The claims cannot be served on the node; the scheduler tries other nodes."""

    steps: int  # Effort of the search
    reasons: tuple[Reason, ...] = ()  # What stood in the way, if that was wanted
    message: str = "cannot allocate all claims"  # What the scheduler says of the node
    looks: int = field(default=0, compare=False)  # How often the search looked at a device


@dataclass(frozen=True, slots=True)
class NodeError:
    """The claims cannot be served on the node because of broken pools."""

    message: str  # The scheduler's text
    steps: int  # Effort of the search
    reasons: tuple[Reason, ...] = ()  # What stood in the way, if that was wanted
    looks: int = field(default=0, compare=False)  # See `DoesNotFit`


@dataclass(frozen=True, slots=True)
class FatalError:
    """The scheduler ends the attempt to schedule the pod, whatever other nodes offer."""

    message: str  # The scheduler's text
    steps: int  # Effort of the search
    code: Code  # What kind of problem it is
    reasons: tuple[Reason, ...] = ()  # What stood in the way, if that was wanted
    claim: str = ""  # `namespace/name` of the claim, empty if it is not about one
    request: str = ""  # `request` or `request/subrequest`, empty if it is not about one
    # The device that the search looked at, None if it is not about one
    device: DeviceID | None = None
    looks: int = field(default=0, compare=False)  # See `DoesNotFit`


@dataclass(frozen=True, slots=True)
class BudgetExceeded:
    """The search is too large: the scheduler would run into its time-out (10 s by default)."""

    steps: int  # Up to the end of the search; the budget, unless the looks at devices were too many
    reasons: tuple[Reason, ...] = ()  # What stood in the way, if that was wanted
    message: str = "timed out trying to allocate devices"  # What the scheduler says of the node
    looks: int = field(default=0, compare=False)  # See `DoesNotFit`


Refusal = DoesNotFit | NodeError | FatalError | BudgetExceeded
