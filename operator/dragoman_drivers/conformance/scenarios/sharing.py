"""A: admin access, shares, status of devices."""

import contextlib
import json
import reprlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman_base import files
from dragoman_drivers.conformance.checks import FailedError, NotRunError, need
from dragoman_drivers.conformance.documents import MAX_DOCUMENT
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.scenarios.prepare import shared_device
from dragoman_drivers.conformance.site import Site, new_uid

MAX_BYTES = 10 * 1024
MAX_CONDITIONS = 8
ENTRY_SECONDS = 10.0
BINDING = ("bindingConditions", "bindingFailureConditions")
BINDING_SECONDS = 60.0
"""A tenth of the scheduler's default time-out: nothing has to be attached here."""
METADATA = "/var/run/kubernetes.io/dra-device-attributes/"
"""Where containers find metadata of devices (k8s.io/dynamic-resource-allocation/api/metadata)."""


@scenario("A1")
def admin_beside_user(site: Site) -> None:
    """The user keeps its device through admin's prepare and unprepare."""
    (name,) = site.take(1)
    user = site.claim(name)
    before = site.prepared(user)
    admin = site.claim(name, admin=True)
    site.prepared(admin)
    site.unprepared(admin)
    need(site.prepared(user) == before, "the user's answer changed")
    missing = {one for device in before for one in device.cdi} - site.cdi_ids().keys()
    need(not missing, f"the user lost {sorted(missing)}")
    later = site.claim(name, admin=True)
    site.prepared(later)
    site.unprepared(user)
    other = site.claim(name)
    error = site.refused(other)
    need(not error, f"admin access withholds the device: {error}")


@scenario("A2")
def admin_with_config(site: Site) -> None:
    """Admin access with a config is refused."""
    if not site.profile.good:
        raise NotRunError("the profile has no configs.good")
    (name,) = site.take(1)
    config = [site.opaque(site.profile.good[0])]
    claim = site.claim(name, admin=True, config=config)
    need(site.refused(claim), "admin access changed a device by a config")


@scenario("A3")
def two_shares(site: Site) -> None:
    """Two shares live and end independently."""
    name = shared_device(site)
    first, second = (site.claim(name, shares=[new_uid()]) for _ in range(2))
    site.prepared(first)
    found = site.prepared(second)
    site.unprepared(first)
    missing = {one for device in found for one in device.cdi} - site.cdi_ids().keys()
    need(not missing, f"{sorted(missing)} went with the other share")
    need(site.prepared(second) == found, "the answer of the second share changed")


@scenario("A4")
def consumed_capacity(site: Site) -> None:
    """Consumed capacity is enforced; names with and without the domain are understood."""
    name = shared_device(site)
    capacity = site.devices()[name].get("capacity") or {}
    if not capacity:
        raise NotRunError(f"device {name} has no capacity")
    key, value = next(iter(capacity.items()))
    plain = key.rpartition("/")[2]
    for title in (plain, f"{site.driver}/{plain}"):
        first = site.claim(name, shares=[new_uid()], consumed={title: value["value"]})
        error = site.refused(first)
        need(not error, f"a share of all {title} is refused: {error}")
        second = site.claim(name, shares=[new_uid()], consumed={title: value["value"]})
        need(site.refused(second), f"two shares have all {title} of {name}")
        site.unprepared(first)
        site.unprepared(second)


@scenario("A5", "operation")
def device_status(site: Site) -> str:
    """Entries of status.devices are of allocated devices, small, and have one manager."""
    claims = [site.claim(*site.take(1))]
    site.prepared(claims[0])
    if name := _declaring(site):
        claims.append(_binding_claim(site, name))
        with contextlib.suppress(FailedError):  # A6 fails for a driver that never writes one
            site.wait(lambda: _seen(site, claims[-1])[0], ENTRY_SECONDS, f"an entry of {name}")
    count = _look(site, claims)
    if not count:
        return "0 entries"
    site.restart()
    for claim in claims:
        site.prepared(claim)
    time.sleep(1)  # for a driver that writes after its answer
    _look(site, claims)
    return f"{count} entries, also after a restart"


def _look(site: Site, claims: Sequence[Mapping[str, Any]]) -> int:
    """Fail for the first entry that breaks the rule; return how many there are."""
    count = 0
    for claim in claims:
        entries, seen = _seen(site, claim)
        problem = wrong_entries(seen, site.driver)
        need(not problem, f"{claim['metadata']['name']}: {problem}")
        count += len(entries)
    refused = [
        one for one in site.proxy.requests if one.concerns("status") and one.code in {403, 422}
    ]
    need(not refused, f"the API server refused {len(refused)} writes of status.devices")
    return count


def _seen(site: Site, claim: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any]]:
    """Return the driver's entries in a claim's status.devices, and the claim."""
    seen = site.api.get("resourceclaims", claim["metadata"]["name"], site.namespace)
    entries = (seen.get("status") or {}).get("devices") or []
    return [one for one in entries if one["driver"] == site.driver], seen


def wrong_entries(claim: Mapping[str, Any], driver: str) -> str:
    """Return what is wrong with a driver's entries of status.devices; else the empty text. Pure."""
    status = claim.get("status") or {}
    results = (status.get("allocation") or {}).get("devices", {}).get("results") or ()
    allocated = {_device_key(one) for one in results}
    for one in status.get("devices") or ():
        if one["driver"] != driver:
            continue
        if _device_key(one) not in allocated:
            return f"status.devices has {one['device']}, which is not allocated"
        if len(json.dumps(one.get("data", ""))) > MAX_BYTES:
            return f"{one['device']}: data is too large"
        if len(one.get("conditions") or ()) > MAX_CONDITIONS:
            return f"{one['device']}: more than {MAX_CONDITIONS} conditions"
    own, others = field_managers(claim, driver)
    if len(own) > 1:
        return f"entries have the managers {', '.join(sorted(own))}: removed fields would be left"
    if shared := own & others:
        return f"the manager {min(shared)} of entries sets other fields of the status too"
    return ""


def _device_key(one: Mapping[str, Any]) -> tuple[str, ...]:
    return (one["driver"], one["pool"], one["device"], one.get("shareID", ""))


def field_managers(claim: Mapping[str, Any], driver: str) -> tuple[set[str], set[str]]:
    """Return who set a driver's entries of status.devices, and who other parts of it. Pure."""
    own: set[str] = set()
    others: set[str] = set()
    for one in claim["metadata"].get("managedFields") or ():
        fields = (one.get("fieldsV1") or {}).get("f:status") or {}
        keys = [key[2:] for key in fields.get("f:devices") or () if key.startswith("k:")]
        if any(json.loads(key).get("driver") == driver for key in keys):
            own.add(one["manager"])
        if fields.keys() - {"f:devices", "."}:
            others.add(one["manager"])
    return own, others


@scenario("A6", "operation")
def binding_conditions(site: Site) -> str:
    """Declared binding conditions are set true, or one of the failure conditions is."""
    name = _declaring(site)
    if not name:
        raise NotRunError("no published device has bindingConditions")
    wanted, failures = (site.devices()[name].get(key) or [] for key in BINDING)
    claim = _binding_claim(site, name)
    start = time.monotonic()

    def decided() -> bool:
        found = _conditions(site, claim, name)
        return all(found.get(one) == "True" for one in wanted) or any(
            found.get(one) == "True" for one in failures
        )

    site.wait(decided, BINDING_SECONDS, f"{', '.join(wanted)} of {name} in status.devices")
    return f"after {time.monotonic() - start:.1f} s"


def _declaring(site: Site) -> str:
    """Return the name of a device with binding conditions; the empty text for none."""
    return next((name for name, one in site.devices().items() if one.get(BINDING[0])), "")


def _binding_claim(site: Site, name: str) -> Mapping[str, Any]:
    """Allocate a device with binding conditions, as the scheduler does before it waits for them."""
    device = site.devices()[name]
    own = {"request": "r0", "driver": site.driver, "pool": device["pool"], "device": name}
    given = {key: device[key] for key in BINDING if device.get(key)}
    return site.allocate(site.claim(allocate=False), [{**own, **given}])


def _conditions(site: Site, claim: Mapping[str, Any], device: str) -> dict[str, str]:
    """Return the status of each condition of a claim's device."""
    seen = site.api.get("resourceclaims", claim["metadata"]["name"], site.namespace)
    return {
        condition["type"]: condition["status"]
        for one in seen["status"].get("devices") or ()
        if (one["driver"], one["device"]) == (site.driver, device)
        for condition in one.get("conditions") or ()
    }


@scenario("A7", "operation")
def metadata(site: Site) -> str:
    """Device metadata is there with the answer, is the claim's, and is gone afterwards."""
    names = site.take(1)
    claim = site.claim(*names)
    ids = {one for device in site.prepared(claim) for one in device.cdi}
    mounted = [*_metadata_files(site.cdi_documents().values(), ids)]
    if not mounted:
        raise NotRunError("no CDI document mounts metadata of devices (EnableDeviceMetadata)")
    for path in mounted:
        try:
            text = files.read_text(path, MAX_DOCUMENT)
        except (OSError, files.UnreadableError) as error:
            raise FailedError(f"{path.name}: {files.reason(error)}") from None
        problem = wrong_metadata(text, claim["metadata"], site.driver, names)
        need(not problem, f"{path.name}: {problem}")
    site.unprepared(claim)
    left = [one.name for one in mounted if one.exists()]
    need(not left, f"{left[:1]} is left after the unprepare")
    return f"{len(mounted)} files"


def _metadata_files(documents: Iterable[Any], ids: Collection[str]) -> Iterator[Path]:
    """Yield what the documents of CDI ids mount as metadata of devices. Pure."""
    for tree in filter(None, documents):
        chosen = [
            one
            for one in tree.get("devices") or ()
            if f"{tree.get('kind')}={one.get('name')}" in ids
        ]
        for edits in [tree, *chosen] if chosen else []:
            for one in (edits.get("containerEdits") or {}).get("mounts") or ():
                if str(one.get("containerPath")).startswith(METADATA):
                    yield Path(str(one.get("hostPath")))


def wrong_metadata(text: str, meta: Mapping[str, Any], driver: str, devices: Sequence[str]) -> str:
    """Return what is wrong with a file of metadata; the empty text for nothing. Pure.

    The file is a stream of the same object in several versions, as Go's helper writes it.

    Args:
        text: Of the file.
        meta: The claim's metadata.
        driver: Its devices count.
        devices: Allocated to the claim's only request.
    """
    decoder, rest, count = json.JSONDecoder(), text.strip(), 0
    while rest:
        try:
            tree, end = decoder.raw_decode(rest)
            group, kind = str(tree["apiVersion"]).partition("/")[0], tree["kind"]
            uid = tree["metadata"]["uid"]
            found = [(d["driver"], d["name"]) for r in tree["requests"] for d in r["devices"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return f"no DeviceMetadata: {reprlib.repr(error)}"
        if (group, kind) != ("metadata.resource.k8s.io", "DeviceMetadata"):
            return f"{tree['apiVersion']} {kind} is no DeviceMetadata"
        if uid != meta["uid"]:
            return f"it is of claim {uid}, not {meta['uid']}"
        if found != [(driver, one) for one in devices]:
            return f"its devices are {found}, not {list(devices)}"
        rest, count = rest[end:].strip(), count + 1
    return "" if count else "it is empty"
