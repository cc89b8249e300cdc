"""What a node's driver does with claims: which devices, how set up, and when to refuse. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.driver import cdi
from tests.support.driver.config import Config, ConfigError, config_for
from tests.support.driver.messages import ClaimReference, PreparedDevice


@dataclass(frozen=True, slots=True)
class Preparation:
    """A claim whose devices are ready.

    Attributes:
        claim: Whose devices.
        devices: As the kubelet is told.
        configs: How each device is set up, by its name.
        owned: Names of the devices that nobody else may have meanwhile: neither those that an
            administrator looks at, nor shares of a divided one.
    """

    claim: ClaimReference
    devices: tuple[PreparedDevice, ...]
    configs: Mapping[str, Config]
    owned: frozenset[str]


class RefusalError(ValueError):
    """The driver does not prepare this claim; the message says why."""


def prepare(
    reference: ClaimReference,
    claim: Mapping[str, Any] | None,
    driver: str,
    others: Iterable[Preparation],
) -> Preparation:
    """Decide how a claim's devices are set up.

    Args:
        reference: As the kubelet names the claim.
        claim: As the API server has it.
        driver: Whose devices are meant.
        others: What is prepared for other claims.

    Raises:
        RefusalError: The claim is gone, replaced or not allocated, its config is bad, or another
            claim holds one of its devices.
    """
    allocation = allocation_of(reference, claim)
    results = [one for one in allocation.get("results", ()) if one["driver"] == driver]
    try:
        configs = {
            one["device"]: config_for(one["request"], allocation.get("config", ()), driver)
            for one in results
        }
    except ConfigError as error:
        raise RefusalError(str(error)) from error
    owned = frozenset(
        one["device"] for one in results if not (one.get("adminAccess") or one.get("shareID"))
    )
    for other in others:
        if taken := sorted(owned & other.owned):
            raise RefusalError(f"{taken[0]} is in use by claim {other.claim.uid}")
    devices = tuple(told(reference, one, driver) for one in results)
    return Preparation(reference, devices, configs, owned)


def allocation_of(reference: ClaimReference, claim: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the devices part of the claim's allocation, if it is still the claim that is meant."""
    where = f"claim {reference.namespace}/{reference.name}"
    if claim is None or claim["metadata"]["uid"] != reference.uid:
        raise RefusalError(f"{where} is gone")
    allocation: Mapping[str, Any] | None = claim.get("status", {}).get("allocation")
    if allocation is None:
        raise RefusalError(f"{where} is not allocated")
    return allocation.get("devices") or {}


def told(reference: ClaimReference, result: Mapping[str, Any], driver: str) -> PreparedDevice:
    """Return one device of an allocation as the kubelet is told about it."""
    device = result["device"]
    return PreparedDevice(
        request=result["request"],
        pool=result["pool"],
        device=device,
        cdi=cdi.device_id(driver, reference.uid, device),
        share=result.get("shareID", ""),
    )
