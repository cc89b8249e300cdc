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
    """One allocated device, as in `status.allocation.devices.results`.

    Attributes:
        request: `request` or `request/subrequest`.
        driver: Of the device.
        pool: Of the device.
        device: Its name.
        admin_access: Whether the request requests admin access.
        tolerations: Those of the request, in the API's form.
        share_id: Set for a share of a device that allows multiple allocations.
        consumed_capacity: Quantities by capacity, None if the device has no capacity to share.
        binding_conditions: Copied from the device.
        binding_failure_conditions: Copied from the device.
        skip_node_operations: Copied from the slice (1.37, alpha).
    """

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    tolerations: tuple[Document, ...] = ()
    share_id: str | None = None
    consumed_capacity: Mapping[str, str] | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    skip_node_operations: tuple[str, ...] = ()

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
    """A config of a class or a claim; `requests` empty means all of them.

    Attributes:
        source: "FromClass" or "FromClaim".
        requests: What the config is for.
        document: The config itself, such as `{"opaque": …}`.
    """

    source: str
    requests: tuple[str, ...]
    document: Document

    def as_document(self) -> dict[str, Any]:
        """Return the API's JSON form."""
        requests = {"requests": list(self.requests)} if self.requests else {}
        return {"source": self.source, **requests, **deepcopy(dict(self.document))}


class Allocation(NamedTuple):
    """What one claim gets, as in `status.allocation`.

    Attributes:
        devices: The devices in order of allocation.
        config: Configs of classes, then of the claim.
        node_selector: Where the claim can be used, in the API's form; None for everywhere.
    """

    devices: tuple[DeviceResult, ...]
    config: tuple[ConfigResult, ...] = ()
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
    """The claims cannot be served on the node; the scheduler tries other nodes.

    Attributes:
        steps: Effort of the search.
        reasons: What stood in the way, if that was wanted.
        message: What the scheduler says of the node.
        looks: How often the search looked at a device.
    """

    steps: int
    reasons: tuple[Reason, ...] = ()
    message: str = "cannot allocate all claims"
    looks: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class NodeError:
    """The claims cannot be served on the node because of broken pools.

    Attributes:
        message: The scheduler's text.
        steps: Effort of the search.
        reasons: What stood in the way, if that was wanted.
        looks: See `DoesNotFit`.
    """

    message: str
    steps: int
    reasons: tuple[Reason, ...] = ()
    looks: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FatalError:
    """The scheduler ends the attempt to schedule the pod, whatever other nodes offer.

    Attributes:
        message: The scheduler's text.
        steps: Effort of the search.
        code: What kind of problem it is.
        reasons: What stood in the way, if that was wanted.
        claim: `namespace/name` of the claim, empty if it is not about one.
        request: `request` or `request/subrequest`, empty if it is not about one.
        device: The device that the search looked at, None if it is not about one.
        looks: See `DoesNotFit`.
    """

    message: str
    steps: int
    code: Code
    reasons: tuple[Reason, ...] = ()
    claim: str = ""
    request: str = ""
    device: DeviceID | None = None
    looks: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class BudgetExceeded:
    """The search is too large: the scheduler would run into its time-out (10 s by default).

    Attributes:
        steps: Up to the end of the search; the budget, unless the looks at devices were too many.
        reasons: What stood in the way, if that was wanted.
        message: What the scheduler says of the node.
        looks: See `DoesNotFit`.
    """

    steps: int
    reasons: tuple[Reason, ...] = ()
    message: str = "timed out trying to allocate devices"
    looks: int = field(default=0, compare=False)


Refusal = DoesNotFit | NodeError | FatalError | BudgetExceeded
