"""What a driver decides about claims: which devices, how set up, when to refuse. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_base.words.dns import LABEL
from dragoman_cel.values.quantityparser import parse_quantity
from dragoman_drivers.kubeletplugin.messages import ClaimReference, PreparedDevice
from dragoman_drivers.pretend import cdi
from dragoman_drivers.pretend.shapes import Device

Result = Mapping[str, Any]
"""One of `status.allocation.devices.results`."""
Validate = Callable[[Any], str]
"""Returns what is wrong with opaque parameters; the empty text for none."""
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}")
"""A UID becomes a name of files."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """A claim whose devices are ready."""

    claim: ClaimReference  # Whose devices
    devices: tuple[PreparedDevice, ...]  # As the kubelet gets them
    configs: Mapping[tuple[str, str], Any]  # Parameters of each device, by its name and share
    # Names of the devices that no other claim may have: neither those under admin access, nor
    # shares of a divided one
    owned: frozenset[str]
    # Capacity that shares consume, as (device, capacity, amount)
    consumed: tuple[tuple[str, str, str], ...] = ()
    pod_claim: str = ""  # The claim's name in its pod's spec, where a template made it


class RefusalError(ValueError):
    """The driver does not prepare this claim; the message says why."""


@dataclass(frozen=True, slots=True)
class PreparationFacts:
    """What the driver knows when it decides."""

    driver: str  # Its name
    devices: Mapping[str, Device] | None  # On the node, by name; None where any name is accepted
    validate: Validate  # Of opaque parameters
    others: tuple[Preparation, ...] = ()  # What is prepared for other claims


def prepare(
    reference: ClaimReference, claim: Mapping[str, Any] | None, facts: PreparationFacts
) -> Preparation:
    """Decide how a claim's devices are set up.

    Args:
        reference: As the kubelet names the claim.
        claim: As the API server has it.
        facts: What else is known.

    Raises:
        RefusalError: The claim is gone, replaced or not allocated, its config is bad, or another
            claim has one of its devices.
    """
    allocation = allocation_of(reference, claim)
    results = [one for one in allocation.get("results", ()) if one["driver"] == facts.driver]
    where = f"claim {reference.namespace}/{reference.name}"
    if not results:
        raise RefusalError(f"{where} has no devices of {facts.driver}")
    entries = allocation.get("config", ())
    configs = {_key(one): config_for(one, entries, facts) for one in results}
    for one in results:
        if facts.devices is not None and one["device"] not in facts.devices:
            raise RefusalError(f"device {one['device']} of {where} is gone")
    owned = frozenset(
        one["device"] for one in results if not (one.get("adminAccess") or one.get("shareID"))
    )
    for other in facts.others:
        if taken := sorted(owned & other.owned):
            raise RefusalError(f"{taken[0]} is in use by claim {other.claim.uid}")
    consumed = tuple(
        (one["device"], _plain(name, facts.driver), str(amount))
        for one in results
        for name, amount in (one.get("consumedCapacity") or {}).items()
    )
    _refuse_overuse(consumed, facts)
    devices = tuple(prepared_device(reference, one, facts.driver) for one in results)
    annotations = (claim or {}).get("metadata", {}).get("annotations") or {}
    pod_claim = str(annotations.get(POD_CLAIM, ""))
    if pod_claim and not LABEL.fullmatch(pod_claim):
        # It becomes a part of paths in containers, and users write the annotation.
        raise RefusalError(f"{POD_CLAIM} of {where} is no name of a pod's claim")
    return Preparation(reference, devices, configs, owned, consumed, pod_claim)


def allocation_of(reference: ClaimReference, claim: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the devices part of the claim's allocation, if it is still the claim that is meant."""
    where = f"claim {reference.namespace}/{reference.name}"
    if claim is None or claim["metadata"]["uid"] != reference.uid:
        raise RefusalError(f"{where} with UID {reference.uid} is gone")
    allocation: Mapping[str, Any] | None = claim.get("status", {}).get("allocation")
    if allocation is None:
        raise RefusalError(f"{where} is not allocated")
    return allocation.get("devices") or {}


def config_for(
    result: Result, entries: Iterable[Mapping[str, Any]], facts: PreparationFacts
) -> Any:
    """Return the parameters of one result: the last entry that covers its request counts.

    Every entry of the driver is validated, also one that another overrides.

    Raises:
        RefusalError: Parameters are invalid, or would change a device under admin access.
    """
    request = result["request"]
    chosen = None
    for entry in entries:
        opaque = entry.get("opaque") or {}
        if opaque.get("driver") != facts.driver:
            continue
        if error := facts.validate(opaque.get("parameters")):
            raise RefusalError(error)
        covered = entry.get("requests") or [request]
        if {request, main_request(request)} & set(covered):
            chosen = opaque.get("parameters")
    if chosen is not None and result.get("adminAccess"):
        raise RefusalError(
            f"device {result['device']}: admin access takes no config, it would change the device"
        )
    return chosen


def main_request(request: str) -> str:
    """Return the request of a container that a result is for: `gpu` for `gpu/big`."""
    return request.partition("/")[0]


def prepared_device(reference: ClaimReference, result: Result, driver: str) -> PreparedDevice:
    """Return one device of an allocation as the kubelet gets it."""
    device, share = result["device"], result.get("shareID", "")
    return PreparedDevice(
        requests=(main_request(result["request"]),),
        pool=result["pool"],
        device=device,
        cdi=(cdi.device_id(driver, reference.uid, device, share),),
        share=share,
    )


def _key(result: Result) -> tuple[str, str]:
    return result["device"], result.get("shareID", "")


def _plain(name: str, driver: str) -> str:
    """Return a capacity's name without the driver's own domain, which it may have or not."""
    return name.removeprefix(f"{driver}/")


def _refuse_overuse(consumed: tuple[tuple[str, str, str], ...], facts: PreparationFacts) -> None:
    """Raise RefusalError where shares consume more of a device than it has."""
    if not consumed or facts.devices is None:
        return
    used: dict[tuple[str, str], int] = {}
    everything = [*consumed, *(one for other in facts.others for one in other.consumed)]
    for device, name, amount in everything:
        used[device, name] = used.get((device, name), 0) + _nanos(amount)
    for device, name, _ in consumed:
        capacity = facts.devices.get(device, {}).get("capacity") or {}
        given = capacity.get(name) or capacity.get(f"{facts.driver}/{name}")
        if given and used[device, name] > _nanos(str(given["value"])):
            raise RefusalError(f"device {device}: shares consume more {name} than it has")


def _nanos(amount: str) -> int:
    return parse_quantity(amount).nanos or 0
