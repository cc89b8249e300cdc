"""Consumable capacity: what a request takes of each capacity of a device (KEP-5075).

Behaviour that changed with a version follows the profile: 1.36 computes in int64 and wraps around,
1.37 refuses what int64 cannot hold. From 1.38 on a capacity has one name: one without domain and
one with the driver's are the same.
"""

from collections.abc import Mapping

from dragoman.allocation.features import Profile
from dragoman.model.amounts import Amount, thousandths, whole
from dragoman.model.device import Capacity, CapacityPolicy, qualified, unambiguous
from dragoman_cel.values.scalars import INT_MAX, wrap_int64

Amounts = Mapping[str, Amount]

_OUT_OF_RANGE = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(ValueError):
    """The amount cannot be computed; since 1.37 this ends the pod's attempt."""


class PolicyError(ValueError):
    """The amount violates the request policy, or the device lacks the capacity: another may do.

    Attributes:
        name: The capacity.
        amount: What would be consumed, None for a capacity that the device lacks.
    """

    def __init__(self, name: str, amount: Amount | None) -> None:
        super().__init__(name)
        self.name = name
        self.amount = amount


def consumption(
    requests: Amounts | None, capacities: Mapping[str, Capacity], profile: Profile, driver: str
) -> Amounts:
    """Return what a request takes of every capacity of a device, by published name.

    Args:
        requests: `capacity.requests` of the request, None without.
        capacities: The capacities of the device.
        profile: Which version computes.
        driver: The driver of the device, the domain of names without one.

    Raises:
        PolicyError: The device cannot serve the request.
        CapacityError: The amount is negative or beyond int64 (1.37), or a capacity is requested
            under two names (1.38).
    """
    if profile.names_qualified:
        capacities = unambiguous(capacities, driver)
        requests = _published(requests or {}, capacities, driver)
    requests = requests or {}
    for name in requests:
        if name not in capacities:
            raise PolicyError(name, None)
    consumed = {
        name: _consumed(name, requests.get(name), capacity, profile, driver)
        for name, capacity in capacities.items()
    }
    for name, capacity in capacities.items():
        policy = capacity.policy
        if policy is not None and _violates(consumed[name], policy, profile):
            raise PolicyError(name, consumed[name])
    return consumed


def _published(
    requests: Amounts, capacities: Mapping[str, Capacity], driver: str
) -> dict[str, Amount]:
    """Return requests by the names that the device uses."""
    names = {qualified(name, driver): name for name in capacities}
    found: dict[str, Amount] = {}
    spelling: dict[str, str] = {}
    for name, wanted in requests.items():
        published = names.get(qualified(name, driver), name)
        if published in found:
            raise CapacityError(
                f'capacity "{published.removeprefix(driver + "/")}" requested both as "{name}" '
                f'and as "{spelling[published]}"'
            )
        found[published], spelling[published] = wanted, name
    return found


def _consumed(
    name: str, wanted: Amount | None, capacity: Capacity, profile: Profile, driver: str
) -> Amount:
    if profile.names_qualified:
        name = qualified(name, driver)
    try:
        amount = _rounded(wanted, capacity, profile)
    except CapacityError as error:
        raise CapacityError(f'capacity "{name}": {error}') from None
    if profile.amounts_checked and amount.nanos < 0:
        raise CapacityError(f'capacity "{name}": capacity value is negative')
    return amount


def _rounded(wanted: Amount | None, capacity: Capacity, profile: Profile) -> Amount:
    policy = capacity.policy
    if wanted is not None and wanted.nanos < 0 and profile.negative_requests_refused:
        raise CapacityError(f"capacity value is negative: request {wanted}")
    if wanted is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return wanted
    if policy.minimum is not None:
        return _rounded_to_range(wanted, policy.minimum, policy, profile)
    if not policy.has_range and policy.valid_values is not None:
        return next((value for value in policy.valid_values if wanted.nanos <= value.nanos), wanted)
    return wanted


def _rounded_to_range(
    wanted: Amount, minimum: Amount, policy: CapacityPolicy, profile: Profile
) -> Amount:
    step = policy.step
    if wanted.nanos < minimum.nanos:
        return minimum
    if step is None:
        return wanted
    if _in_milli(policy, profile):
        return _rounded_milli(wanted, minimum, step)
    if profile.amounts_checked and wanted.nanos > INT_MAX * 10**9:
        raise CapacityError(f"{_OUT_OF_RANGE}: request {wanted} exceeds MaxInt64")
    first, distance = minimum.scaled(0), step.scaled(0)
    steps = _steps(wrap_int64(wanted.scaled(0) - first), distance)
    if profile.amounts_checked:
        if first >= 0 and steps > (INT_MAX - first) // distance:
            raise CapacityError(
                f"{_OUT_OF_RANGE}: rounding request {wanted} up to the next step passes MaxInt64"
            )
        return whole(wrap_int64(first + distance * steps), step.format)
    return whole(wrap_int64(first + distance * steps), "binary")


def _rounded_milli(wanted: Amount, minimum: Amount, step: Amount) -> Amount:
    requested = wanted.exact_milli()
    if requested is None:
        raise CapacityError(f"{_OUT_OF_RANGE}: request {wanted} is not a representable milli value")
    first, distance = minimum.scaled(3), step.scaled(3)
    steps = _steps(requested - first, distance)
    if steps > (INT_MAX - first) // distance:
        raise CapacityError(
            f"{_OUT_OF_RANGE}: rounding request {wanted} up to the next step passes "
            "the milli-value range"
        )
    result = first + distance * steps
    if result % 1000 == 0:
        return whole(result // 1000, step.format)
    return thousandths(result, step.format)


def _steps(added: int, step: int) -> int:
    """Divide as Go does, towards zero, and count a remainder as one step more."""
    if step == 0:
        raise CapacityError("the step of the valid range is zero")
    count = abs(added) // abs(step) * (1 if (added < 0) == (step < 0) else -1)
    return count + 1 if added % step else count


def _in_milli(policy: CapacityPolicy, profile: Profile) -> bool:
    if not profile.features.FractionalCapacityRange:
        return False
    limits = [limit for limit in (policy.minimum, policy.maximum, policy.step) if limit]
    if any(limit.exact_milli() is None for limit in limits):
        return False
    return policy.step is None or policy.step.scaled(3) >= 1


def _violates(amount: Amount, policy: CapacityPolicy, profile: Profile) -> bool:
    default = policy.default
    if default is not None and amount.identity is not None and amount.identity == default.identity:
        return False
    if policy.has_range:
        return _outside_range(amount, policy, profile)
    if policy.valid_values:
        return all(amount.nanos != value.nanos for value in policy.valid_values)
    return False


def _outside_range(amount: Amount, policy: CapacityPolicy, profile: Profile) -> bool:
    if policy.maximum is not None and amount.nanos > policy.maximum.nanos:
        return True
    if policy.step is None:
        return False
    digits = 3 if _in_milli(policy, profile) else 0
    if digits and amount.exact_milli() is None:
        return True
    first = 0 if policy.minimum is None else policy.minimum.scaled(digits)
    step = policy.step.scaled(digits)
    # A step of zero makes the scheduler panic; such a device serves no request here.
    return step == 0 or wrap_int64(amount.scaled(digits) - first) % step != 0
