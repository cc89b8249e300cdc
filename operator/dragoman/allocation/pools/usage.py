"""What allocated claims hold: devices, shares, capacity, counters.

The scheduler's rule: results with admin access do not count; with consumable capacity, a result
with a share ID is a share, and its consumed capacity adds up; all others hold the device alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from dragoman.allocation.features import Profile
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.amounts import Amount, amount
from dragoman.model.claim import Claim
from dragoman.model.device import qualified, unambiguous
from dragoman.model.deviceid import DeviceID, PoolID
from dragoman_cel.values.quoting import quoted

Nanos = dict[str, int]


class Holder(NamedTuple):
    """A claim that holds a device."""

    claim: str  # `namespace/name`
    share_id: str | None = None  # Set for a share
    consumed: Mapping[str, Amount] | None = None  # Capacity of the share by name, None when unset


class Usage:
    """Who holds what in a cluster, updated claim by claim.

    Args:
        profile: Without consumable capacity a share holds the whole device.
    """

    def __init__(self, profile: Profile) -> None:
        self._shares = profile.features.ConsumableCapacity
        self._qualified = profile.names_qualified
        self._checked = self._shares and profile.negative_holdings_fatal
        self._negative: dict[str, str] = {}
        self._pools: dict[PoolID, dict[str, list[Holder]]] = {}
        self._claims: dict[str, tuple[AllocatedDevice, ...]] = {}
        self._versions: dict[PoolID, int] = {}
        self._changes = 0

    def version(self, pool: PoolID) -> int:
        """Return a number that is never the same again after a claim on the pool changed.

        It is 0 while no claim holds anything of the pool.
        """
        return self._versions.get(pool, 0)

    def put(self, claim: Claim) -> set[PoolID]:
        """Take over what a claim holds now; return the pools whose usage changed."""
        changed = self.remove(claim.key)
        if claim.held is None:
            return changed
        self._claims[claim.key] = claim.held.devices
        if self._checked and (negative := negative_capacity(claim.held.devices)):
            self._negative[claim.key] = f"claim {claim.key}, {negative}"
        for held, holder in self._holders(claim.key):
            pool = PoolID(held.driver, held.pool)
            self._pools.setdefault(pool, {}).setdefault(held.device, []).append(holder)
            changed.add(pool)
        self._note(changed)
        return changed

    def remove(self, key: str) -> set[PoolID]:
        """Forget a claim; return the pools whose usage changed."""
        changed = set()
        for held, _ in self._holders(key):
            pool = PoolID(held.driver, held.pool)
            devices = self._pools[pool]
            holders = [one for one in devices.get(held.device, ()) if one.claim != key]
            if holders:
                devices[held.device] = holders
            else:
                devices.pop(held.device, None)
            changed.add(pool)
        for pool in changed:
            if not self._pools[pool]:
                del self._pools[pool]
        self._claims.pop(key, None)
        self._negative.pop(key, None)
        self._note(changed)
        return changed

    def _note(self, changed: Iterable[PoolID]) -> None:
        for pool in changed:
            self._changes += 1
            if pool in self._pools:
                self._versions[pool] = self._changes
            else:
                self._versions.pop(pool, None)

    @property
    def problem(self) -> str:
        """Why the scheduler allocates nothing, whatever the claim; empty where it does."""
        first, more = min(self._negative.values(), default=""), len(self._negative) - 1
        others = f" (and {more} more claims with invalid consumed capacity)" if more > 0 else ""
        return f"{first}{others}"

    def of_pool(self, pool: PoolID) -> Mapping[str, list[Holder]]:
        """Return the holders of each device of a pool."""
        return self._pools.get(pool, {})

    def holders(self, device: DeviceID) -> tuple[Holder, ...]:
        """Return the claims that hold a device or shares of it."""
        return tuple(self.of_pool(PoolID(device.driver, device.pool)).get(device.device, ()))

    def _holders(self, key: str) -> Iterator[tuple[DeviceID, Holder]]:
        for held in self._claims.get(key, ()):
            if held.admin:
                continue
            if self._shares and held.share:
                consumed = _amounts(held.consumed)
                if consumed is not None and self._qualified:
                    known = unambiguous(consumed, held.driver)
                    consumed = {qualified(name, held.driver): n for name, n in known.items()}
                yield held.id, Holder(key, held.share, consumed)
            else:
                yield held.id, Holder(key)


def negative_capacity(devices: Iterable[AllocatedDevice]) -> str:
    """Return the first negative `consumedCapacity` of a claim in words; empty without one."""
    for device in devices:
        for name, text in sorted(device.consumed or ()):
            if (found := amount(text)).nanos < 0:
                named = f"device {device.id}: consumed capacity {quoted(name)}"
                return f"{named} must not be negative, got {found}"
    return ""


def _amounts(consumed: tuple[tuple[str, str], ...] | None) -> Mapping[str, Amount] | None:
    return None if consumed is None else {name: amount(text) for name, text in consumed}
