"""H: the health service."""

import time
from collections.abc import Iterable, Sequence

from dragoman_drivers.conformance.checks import NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site
from dragoman_drivers.kubeletplugin import messages
from dragoman_drivers.kubeletplugin.client import HealthStream
from dragoman_drivers.kubeletplugin.messages import DeviceHealth

LIST_SECONDS = 30.0


def _announced(site: Site) -> list[str]:
    """Return the health services that the driver announces, the newest first."""
    assert site.info is not None
    known: tuple[str, ...] = (messages.HEALTH_V1, messages.HEALTH)
    found = [one for one in known if one in site.info.versions]
    if not found:
        raise NotRunError("no health service in supported_versions")
    return found


def _stream(site: Site, service: str = "") -> HealthStream:
    stream = site.health(service or _announced(site)[-1])
    site.wait(lambda: stream.lists or stream.error, LIST_SECONDS, "the first list of the stream")
    need(stream.lists, f"the health stream ended: {stream.error}")
    return stream


@scenario("H1", "mock")
def whole_list(site: Site) -> str:
    """Every list of the stream is complete: the first one, and the one after a change."""
    stream = _stream(site)
    devices = site.devices().keys()
    _complete(devices, stream.lists[0], "the first list")
    if not site.profile.fail:
        return f"{len(devices)} devices; no `device.fail`: no change was tried"
    (name,) = site.take(1)
    before = len(stream.lists)
    with site.failing(name):
        changed = site.wait(
            lambda: next((one for one in stream.lists[before:] if _fails(name, one)), None),
            LIST_SECONDS,
            f"a list after {name} failed",
        )
    _complete(devices, changed or (), f"the list after {name} failed")
    return f"{len(devices)} devices"


def _complete(devices: Iterable[str], found: Sequence[DeviceHealth], what: str) -> None:
    missing = {*devices} - {one.device for one in found}
    need(
        not missing,
        f"{len(missing)} devices are not in {what}, such as {min(missing, default='')}",
    )


def _fails(device: str, found: Sequence[DeviceHealth]) -> bool:
    return any(one.device == device and one.health == messages.UNHEALTHY for one in found)


@scenario("H2", "mock")
def several(site: Site) -> None:
    """Streams one after another, and two at once."""
    for _ in range(3):
        _stream(site).close()
    first, _ = _stream(site), _stream(site)
    time.sleep(1)  # for a driver that ends the first one soon
    need(not first.error, f"a second stream ends the first: {first.error}")


@scenario("H3", "mock")
def named(site: Site) -> None:
    """Devices as published; texts and times within bounds."""
    stream = _stream(site)
    pools = {name: one["pool"] for name, one in site.devices().items()}
    now = time.time()
    for one in stream.lists[-1]:
        need(pools.get(one.device) == one.pool, f"{one.pool}/{one.device} is not published")
        need(
            len(one.message) <= 1024,
            f"the message of {one.device} has {len(one.message)} characters",
        )
        bound = max(one.timeout, 30) + 5
        need(abs(now - one.updated) < bound, f"last_updated_time of {one.device} is {one.updated}")


@scenario("H4", "mock")
def failing_device(site: Site) -> str:
    """A device that fails is reported, and has a taint or an attribute."""
    if not site.profile.fail:
        raise NotRunError("the profile has no device.fail")
    stream = _stream(site)
    (name,) = site.take(1)
    before = site.devices()[name]
    start = time.monotonic()
    with site.failing(name):
        site.wait(lambda: _fails(name, stream.lists[-1]), 30, f"{name} to be UNHEALTHY")
        site.wait(lambda: site.devices().get(name) != before, 30, f"a taint or attribute of {name}")
    return f"{time.monotonic() - start:.1f} s"


@scenario("H5", "mock")
def both_versions(site: Site) -> None:
    """Kubelets from 1.37 on ask for v1, those before for v1alpha1: both send lists."""
    found = _announced(site)
    for service in (messages.HEALTH_V1, messages.HEALTH):
        need(service in found, f"supported_versions has {found[0]}, but not {service}")
        _stream(site, service).close()
