"""Why claims cannot be served on a node, as data.

A reason names what stands in the way and the numbers that a person needs. `details` holds them by
name; which names a code has is written beside it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from dragoman.model.deviceid import DeviceID, PoolID
from dragoman.model.fields import NOTHING


class Code(StrEnum):
    """What stands in the way."""

    CLASS_NOT_FOUND = "ClassNotFound"
    """The DeviceClass does not exist; the pod's attempt ends. `class`, `message`."""
    FEATURE_DISABLED = "FeatureDisabled"
    """A feature gate is off; `message` if the pod's attempt ends, `gate` for a device."""
    TOO_MANY_DEVICES = "TooManyDevices"
    """A claim holds at most 32 devices; the pod's attempt ends. `message`."""
    INVALID_REQUEST = "InvalidRequest"
    """The scheduler does not understand the request; the pod's attempt ends. `message`."""
    NO_SLICE_FOR_NODE = "NoSliceForNode"
    """No ResourceSlice offers devices on the node."""
    NODE_SELECTOR_INVALID = "NodeSelectorInvalid"
    """A slice has an invalid node selector; the pod's attempt ends. `message`."""
    POOL_INCOMPLETE = "PoolIncomplete"
    """Slices of the pool are missing. `have`, `want`, `generation`."""
    POOL_INVALID = "PoolInvalid"
    """The pool contradicts itself. `reason`."""
    POOL_OBSOLETE = "PoolObsolete"
    """The node's slices are of an old generation. `generation`, `newer`, `slice`."""
    NOT_ENOUGH_DEVICES = "NotEnoughDevices"
    """Fewer devices than wanted can serve the request. `wanted`, `usable`, `seen`; for
    allocationMode All, which takes every device that selectors and capacity admit, `meant`."""
    SELECTOR_REJECTED = "SelectorRejected"
    """A selector is false. `origin` (class or claim), `index`, `expression`, `parts` of it that are
    false, `values` that these read."""
    CEL_ERROR = "CELError"
    """A selector has no result; the pod's attempt ends. As above, and `message`."""
    NODE_MISMATCH = "NodeMismatch"
    """The device belongs to other nodes. `node`."""
    DEVICE_IN_USE = "DeviceInUse"
    """Claims hold the device. `holders`; `taints` that would keep it away also once it is free, as
    for `TaintNotTolerated`."""
    NODE_OPERATIONS = "NodeOperations"
    """The node cannot do without operations of the driver (1.37, alpha). `operations`."""
    CAPACITY_UNKNOWN = "CapacityUnknown"
    """The device lacks a capacity that the request names. `capacity`."""
    CAPACITY_POLICY = "CapacityPolicy"
    """The request policy forbids the amount. `capacity`, `requested`, `rounded`."""
    CAPACITY_EXCEEDED = "CapacityExceeded"
    """Too little is left. `capacity`, `requested`, `rounded`, `free`, `value`, `holders`."""
    CAPACITY_ERROR = "CapacityError"
    """The amount cannot be computed; the pod's attempt ends. `message`."""
    COUNTERS_EXCEEDED = "CountersExceeded"
    """A counter does not suffice. `set`, `counter`, `need`, `free`, `short`, `holders`."""
    INCOMPATIBLE_GROUPS = "IncompatibleGroups"
    """Devices of another compatibility group are in use (1.37, alpha). `groups`."""
    TAINT_NOT_TOLERATED = "TaintNotTolerated"
    """A taint is not tolerated. `key`, `value`, `effect`, `rule` (empty: set by the driver) of the
    first; all of the device as `taints`, each as `key=value:effect`."""
    CONSTRAINT_FAILED = "ConstraintFailed"
    """The device lacks the attribute of a constraint: `index`, `attribute`, `kind`. Or too few
    devices have values that go together: `wanted`, and devices by value as `values`."""
    ATTRIBUTE_UNUSABLE = "AttributeUnusable"
    """A constraint is on a value that cannot be used (1.38); the pod's attempt ends. `message`."""
    NO_COMBINATION = "NoCombination"
    """Devices serve each request alone, but not all requests together. `constraints`, `counts`
    and `usable` devices of the requests, different `devices` in all, devices by value of each
    attribute that a constraint compares as `values`."""
    NODE_SELECTOR_MISMATCH = "NodeSelectorMismatch"
    """The claim is allocated for other nodes. `node`."""
    CLAIM_ALLOCATING = "ClaimAllocating"
    """The scheduler is allocating the claim for another pod; the attempt ends. `message`."""
    BINDING_PENDING = "BindingPending"
    """A device of an allocated claim is not ready, the pod waits to be bound. `conditions`."""
    BINDING_FAILED = "BindingFailed"
    """A device of an allocated claim failed; the scheduler deallocates the claim. `condition`,
    `reason`, `text`."""
    BINDING_TIMEOUT = "BindingTimeout"
    """A device was not ready in time; the scheduler deallocates the claim. `conditions`, `since`,
    `seconds`."""
    TIMEOUT = "Timeout"
    """The search is too large; kube-scheduler runs into its time-out. `steps`, `looks`."""


class Reason(NamedTuple):
    """One thing that stands in the way."""

    code: Code  # What it is
    claim: str = ""  # `namespace/name` of the claim, empty if it concerns all of them
    request: str = ""  # `request` or `request/subrequest`, empty if it concerns all of them
    device: DeviceID | None = None  # The device, None if it is not about one
    pool: PoolID | None = None  # The pool, None if it is not about one
    details: Mapping[str, Any] = NOTHING  # More by name; see `Code`

    def __str__(self) -> str:
        if "message" in self.details:
            return str(self.details["message"])
        text = WORDS[self.code].text
        if self.code is Code.CONSTRAINT_FAILED and "values" in self.details:
            text = _VALUES
        # A condition may lack the message at the end.
        text = text.format_map(_Details(self)).rstrip(": ")
        where = self.device or self.pool
        return f"{where}: {text}" if where else text

    def short(self) -> str:
        """Say what stands in the way without numbers and names of claims."""
        details = _Details(self)
        details["capacity"] = str(self.details.get("capacity")).rpartition("/")[2]
        return WORDS[self.code].short.format_map(details) or str(self.code)

    def kind(self) -> tuple[Any, ...]:
        """Return what reasons of one group have in common: the code, and some details."""
        return (self.code, *map(self.details.get, WORDS[self.code].same))

    def document(self) -> dict[str, Any]:
        """Return the reason as JSON, without what is empty."""
        full = {
            "code": str(self.code),
            "claim": self.claim,
            "request": self.request,
            "device": str(self.device or ""),
            "pool": str(self.pool or ""),
            **self.details,
            "message": str(self),
        }
        return {key: value for key, value in full.items() if value not in ("", (), None)}


class _Details(dict[str, Any]):
    """The values of a text; lists are joined, and what is missing is shown as nothing."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.details)
        self.reason = reason

    def __getitem__(self, key: str) -> Any:
        value = self.get(key, "")
        if isinstance(value, tuple):
            return ", ".join(map(str, value)) or "nothing"
        if isinstance(value, Mapping):
            return ", ".join(f"{name}={item}" for name, item in value.items()) or "nothing"
        return value


_VALUES = (
    "{kind} #{index} compares {attribute} of {wanted} devices, whose values do not go together "
    "(devices by value: {values})"
)


class Words(NamedTuple):
    """What is said of a code; names in braces are details."""

    text: str  # A sentence with numbers and names
    short: str = ""  # The same in an Event, without numbers and names of claims; empty for the code
    same: tuple[str, ...] = ()  # Details in which reasons of one group are equal


WORDS: Mapping[Code, Words] = {
    Code.CLASS_NOT_FOUND: Words("DeviceClass {class} does not exist"),
    Code.FEATURE_DISABLED: Words(
        "feature gate {gate} is off", "feature gate {gate} is off", ("gate",)
    ),
    Code.TOO_MANY_DEVICES: Words("a claim holds at most 32 devices"),
    Code.INVALID_REQUEST: Words("the scheduler does not understand the request"),
    Code.NO_SLICE_FOR_NODE: Words("no ResourceSlice offers devices on the node", "no devices"),
    Code.NODE_SELECTOR_INVALID: Words("a ResourceSlice has an invalid node selector"),
    Code.POOL_INCOMPLETE: Words(
        "the pool is incomplete: {have} of {want} slices of generation {generation}",
        "pool incomplete",
        ("have", "want"),
    ),
    Code.POOL_INVALID: Words("the pool is invalid: {reason}", "pool invalid", ("reason",)),
    Code.POOL_OBSOLETE: Words(
        "slice {slice} has generation {generation}, other nodes have {newer}", "pool obsolete"
    ),
    Code.NOT_ENOUGH_DEVICES: Words(
        "the request wants {wanted} devices, {usable} of {seen} can serve it"
    ),
    Code.SELECTOR_REJECTED: Words(
        "selector #{index} of {origin} is false: {expression} (read: {values})",
        "selector false",
        ("origin", "index"),
    ),
    Code.CEL_ERROR: Words("a CEL expression fails", "selector fails", ("origin", "index")),
    Code.NODE_MISMATCH: Words("the device belongs to other nodes than {node}"),
    Code.DEVICE_IN_USE: Words("the device is in use by {holders}", "in use", ("taints",)),
    Code.NODE_OPERATIONS: Words(
        "the node does not declare DRAOptionalNodeOperations ({operations})",
        "node operations missing",
    ),
    Code.CAPACITY_UNKNOWN: Words(
        "the device has no capacity {capacity}", "no capacity {capacity}", ("capacity",)
    ),
    Code.CAPACITY_POLICY: Words(
        "the request policy of capacity {capacity} forbids {rounded} (requested: {requested})",
        "amount of {capacity} not allowed",
        ("capacity",),
    ),
    Code.CAPACITY_EXCEEDED: Words(
        "capacity {capacity} has {free} of {value} free, the request takes "
        "{rounded} (held by {holders})",
        "too little {capacity} left",
        ("capacity", "taints"),
    ),
    Code.CAPACITY_ERROR: Words("the amount of capacity cannot be computed"),
    Code.COUNTERS_EXCEEDED: Words(
        "counter {counter} of {set} has {free} left, the device needs {need} (held by {holders})",
        "too little {counter} left in {set}",
        ("set", "counter", "taints"),
    ),
    Code.INCOMPATIBLE_GROUPS: Words(
        "devices of other compatibility groups than {groups} are in use",
        "other compatibility groups in use",
    ),
    Code.TAINT_NOT_TOLERATED: Words(
        "taint {key}={value}:{effect} is not tolerated", same=("taints",)
    ),
    Code.CONSTRAINT_FAILED: Words(
        "the device has no attribute {attribute}, which {kind} #{index} needs",
        "no attribute {attribute}",
        ("attribute",),
    ),
    Code.ATTRIBUTE_UNUSABLE: Words("an attribute that a constraint compares has no usable value"),
    Code.NO_COMBINATION: Words(
        "devices serve each request alone, but not all requests together "
        "(wanted: {counts}; usable: {usable}, {devices} different ones)",
        "no combination for all requests",
    ),
    Code.NODE_SELECTOR_MISMATCH: Words("the claim is allocated for other nodes than {node}"),
    Code.CLAIM_ALLOCATING: Words("the claim is being allocated for another pod"),
    Code.BINDING_PENDING: Words(
        "the device is not ready: waits for {conditions}", same=("conditions",)
    ),
    Code.BINDING_FAILED: Words(
        "binding failed: condition {condition} is true: {reason}: {text}",
        same=("condition", "reason"),
    ),
    Code.BINDING_TIMEOUT: Words(
        "the device was not ready within {seconds} s after {since}: {conditions}",
        same=("conditions",),
    ),
    Code.TIMEOUT: Words(
        "the search takes more than {steps} steps, or {looks} looks at devices; "
        "kube-scheduler times out"
    ),
}
