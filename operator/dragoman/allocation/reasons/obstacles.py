"""What keeps devices of one content from a request, whatever the node is and claims hold."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dragoman.allocation.codes import Code
from dragoman.allocation.pools.taints import all_untolerated
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.expressions import Failure, hinted
from dragoman.allocation.requests.plans import Plan
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.rules.capacity import CapacityError, PolicyError
from dragoman.model.amounts import Amount, printed
from dragoman.model.device import Content, qualified
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import NOTHING
from dragoman.model.taints import Taint

Details = Mapping[str, Any]
_ANY_DEVICE = DeviceID("", "", "")


class DeviceObstacle(NamedTuple):
    """What keeps one device from one request."""

    code: Code  # What it is
    details: Details = NOTHING  # See `Code`
    left_out: bool = False  # Whether a request for all devices does not mean the device at all
    # Whether no search comes to it, as the device is in use: then no error at it ends the attempt
    unreached: bool = False

    @property
    def ends_attempt(self) -> bool:
        """Whether the pod's attempt would end at the device."""
        return self.code in _ENDING and not self.unreached


_ENDING = frozenset({Code.CEL_ERROR, Code.CAPACITY_ERROR, Code.NODE_SELECTOR_INVALID})


class Judged(NamedTuple):
    """What a request finds out about every device of one content, in the order of the search."""

    selecting: DeviceObstacle | None  # Of the selectors
    capacity: DeviceObstacle | None = None  # Of the capacity that the device has without shares
    gate: DeviceObstacle | None = None  # Of a feature that is off
    taint: DeviceObstacle | None = None  # Of the taints
    constraint: DeviceObstacle | None = None  # Of an attribute that a constraint needs
    # What the request takes of the device, None where nothing can be taken
    plan: Plan | None = None

    @property
    def unsuited(self) -> DeviceObstacle | None:
        """What keeps a device away also once it is free: no end of a holder helps the pod."""
        found = self.selecting or self.capacity or self.gate or self.constraint
        return found and found._replace(unreached=True)

    @property
    def last(self) -> DeviceObstacle | None:
        """What the search finds last, after all that depends on the node and on claims."""
        return self.taint or self.constraint


class _Positions:
    """Names a device in errors that are not shown."""

    def id(self, _position: int) -> DeviceID:
        return _ANY_DEVICE


_POSITIONS = _Positions()


def judge(request: PreparedRequest, content: Content, origin: str) -> Judged:
    """Find everything that keeps the devices of a content from a request.

    Args:
        request: The request.
        content: The content.
        origin: What the reasons call the claim.
    """
    features = request.profile.features
    if content.binding_conditions and not features.DeviceBindingAndStatus:
        gate = {"gate": "DRADeviceBindingConditions"}
        return Judged(DeviceObstacle(Code.FEATURE_DISABLED, gate, left_out=True))
    found = rejected(request, content, origin)
    if found is not None:
        return Judged(found)
    capacity = _too_little(request, content)
    if capacity is not None and capacity.ends_attempt:
        return Judged(None, capacity)
    gate_off = content.consumes and not features.PartitionableDevices
    return Judged(
        None,
        capacity,
        DeviceObstacle(Code.FEATURE_DISABLED, {"gate": "DRAPartitionableDevices"})
        if gate_off
        else None,
        _taint(request, content),
        _constraint(request, content),
        request.plan(content, _POSITIONS, 0),
    )


def rejected(request: PreparedRequest, content: Content, origin: str) -> DeviceObstacle | None:
    """Find the first selector that does not match."""
    for place, index, expression in request.selectors:
        whose = place if place.startswith("class ") else f"claim {origin}"
        if expression is None:
            return DeviceObstacle(Code.CEL_ERROR, {"origin": whose, "index": index})
        result = expression.on(content)
        if result is True:
            continue
        details = {
            "origin": whose,
            "index": index,
            "expression": expression.text,
        }
        false = expression.false_parts(content)
        values = [item for one in false for item in one.values(content).items()]
        details |= {"parts": tuple(one.text for one in false), "values": dict(values)}
        if isinstance(result, Failure):
            message = (
                hinted(result.message) if request.profile.selectors_advised else result.message
            )
            return DeviceObstacle(Code.CEL_ERROR, {**details, "message": message})
        return DeviceObstacle(Code.SELECTOR_REJECTED, details, left_out=True)
    return None


def _taint(request: PreparedRequest, content: Content) -> DeviceObstacle | None:
    if not content.taints or not request.profile.features.DeviceTaints:
        return None
    found = [*all_untolerated(content.taints, request.exact.tolerations)]
    if not found:
        return None
    taint = found[0]
    details = {
        "key": taint.key,
        "value": taint.value,
        "effect": taint.effect,
        "rule": taint.rule,
        "taints": tuple(dict.fromkeys(_printed(one) for one in found)),
    }
    return DeviceObstacle(Code.TAINT_NOT_TOLERATED, details)


def _printed(taint: Taint) -> str:
    """Return a taint as kubectl writes those of nodes."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _constraint(request: PreparedRequest, content: Content) -> DeviceObstacle | None:
    for index in request.constraints:
        constraint = request.claim.constraints[index]
        details = {"index": index, "attribute": constraint.attribute, "kind": constraint.kind}
        try:
            value = request.value(index, content, _POSITIONS, 0)
        except FatalProblemError as error:
            return DeviceObstacle(error.code, {**details, "message": str(error)})
        if value is None:
            return DeviceObstacle(Code.CONSTRAINT_FAILED, details)
    return None


def _too_little(request: PreparedRequest, content: Content) -> DeviceObstacle | None:
    """Find the first capacity that can never serve the request."""
    try:
        consumed = request.consumption(content)
    except PolicyError as error:
        if error.amount is None:
            return DeviceObstacle(Code.CAPACITY_UNKNOWN, {"capacity": error.name}, left_out=True)
        details = {
            "capacity": error.name,
            "requested": _requested(request, content, error.name),
            "rounded": str(error.amount),
        }
        return DeviceObstacle(Code.CAPACITY_POLICY, details, left_out=True)
    except CapacityError as error:
        code = Code.CAPACITY_ERROR if request.profile.amounts_checked else Code.CAPACITY_POLICY
        return DeviceObstacle(code, {"message": str(error)}, left_out=True)
    for name, value in consumed.items():
        have = content.capacity[name].value.nanos
        if value.nanos > have:
            return exceeded(request, content, name, value, 0)
    return None


def _requested(request: PreparedRequest, content: Content, name: str) -> str:
    """Return what the request says of a capacity, under either of its names."""
    wanted = request.exact.capacity or {}
    names = {qualified(asked, content.driver): amount for asked, amount in wanted.items()}
    found = wanted.get(name) or names.get(qualified(name, content.driver))
    return "" if found is None else str(found)


def exceeded(
    request: PreparedRequest,
    content: Content,
    name: str,
    rounded: Amount,
    held: int,
) -> DeviceObstacle:
    """Describe a capacity of which too little is left; `held` is what claims hold of it."""
    free = content.capacity[name].value.nanos - held
    details = {
        "capacity": name,
        "requested": _requested(request, content, name),
        "rounded": str(rounded),
        "free": printed(free, content.capacity[name].value),
        "value": str(content.capacity[name].value),
        "holders": (),
    }
    return DeviceObstacle(Code.CAPACITY_EXCEEDED, details, left_out=True)
