"""A: admin access, shares, status of devices."""

from __future__ import annotations

from dragoman.drivers.conformance.checks import NotRunError, need
from dragoman.drivers.conformance.scenarios import scenario
from dragoman.drivers.conformance.scenarios.prepare import shared_device
from dragoman.drivers.conformance.site import Site, new_uid

MAX_BYTES = 10 * 1024


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


@scenario("A5")
def device_status(site: Site) -> str:
    """Entries of status.devices are allocated devices, and small."""
    names = site.take(1)
    claim = site.claim(*names)
    site.prepared(claim)
    seen = site.api.get("resourceclaims", claim["metadata"]["name"], site.namespace)
    entries = (seen.get("status") or {}).get("devices") or []
    for one in entries:
        if one["driver"] != site.driver:
            continue
        need(one["device"] in names, f"status.devices has {one['device']}, which is not allocated")
        need(len(str(one.get("data") or "")) <= MAX_BYTES, f"{one['device']}: data is too large")
        need(len(one.get("conditions") or ()) <= 8, f"{one['device']}: more than 8 conditions")
    refused = [
        one for one in site.proxy.requests if one.concerns("status") and one.code in {403, 422}
    ]
    need(not refused, f"the API server refused {len(refused)} writes of status.devices")
    return f"{len(entries)} entries"


@scenario("A6")
def binding_conditions(site: Site) -> None:
    """Declared binding conditions are set."""
    found = [name for name, one in site.devices().items() if one.get("bindingConditions")]
    if not found:
        raise NotRunError("no published device has bindingConditions")
    raise NotRunError("needs a scheduler that waits for bindingConditions")


@scenario("A7")
def metadata(site: Site) -> None:
    """Device metadata files are there with the answer."""
    folder = site.kubelet / "plugins" / site.driver
    claim = site.claim(*site.take(1))
    uid = claim["metadata"]["uid"]
    site.prepared(claim)
    found = [one for one in folder.rglob("*metadata*") if uid in str(one) and one.is_file()]
    if not found:
        raise NotRunError("the driver writes no metadata (EnableDeviceMetadata)")
    site.unprepared(claim)
    left = [one for one in found if one.exists()]
    need(not left, f"{left[:1]} is left after the unprepare")
