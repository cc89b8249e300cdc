"""H: the health service."""

from __future__ import annotations

import time

from dragoman.drivers.conformance.checks import NotRunError, need
from dragoman.drivers.conformance.scenarios import scenario
from dragoman.drivers.conformance.site import Site
from dragoman.drivers.kubeletplugin import messages
from dragoman.drivers.kubeletplugin.client import HealthStream

LIST_SECONDS = 30.0


def _stream(site: Site) -> HealthStream:
    assert site.info is not None
    if messages.HEALTH_VERSION not in site.info.versions:
        raise NotRunError("no health service in supported_versions")
    stream = HealthStream(site.endpoint.socket)
    site.wait(lambda: stream.lists or stream.error, LIST_SECONDS, "the first list of the stream")
    need(stream.lists, f"the health stream ended: {stream.error}")
    return stream


@scenario("H1", "mock")
def whole_list(site: Site) -> str:
    """The stream has a complete list."""
    stream = _stream(site)
    found = {one.device for one in stream.lists[0]}
    stream.close()
    missing = site.devices().keys() - found
    need(
        not missing,
        f"{len(missing)} devices are not in the list, such as {min(missing, default='')}",
    )
    return f"{len(found)} devices"


@scenario("H2", "mock")
def several(site: Site) -> None:
    """Streams one after another, and two at once."""
    for _ in range(3):
        _stream(site).close()
    first, second = _stream(site), _stream(site)
    time.sleep(1)  # for a driver that ends the first one soon
    need(not first.error, f"a second stream ends the first: {first.error}")
    first.close()
    second.close()


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
    stream.close()


@scenario("H4", "mock")
def failing_device(site: Site) -> str:
    """A device that fails is reported, and has a taint or an attribute."""
    if not site.profile.fail:
        raise NotRunError("the profile has no device.fail")
    stream = _stream(site)
    (name,) = site.take(1)
    before = site.devices()[name]
    start = time.monotonic()
    site.shell(site.profile.fail, device=name)

    def unhealthy() -> bool:
        return any(
            one.device == name and one.health == messages.UNHEALTHY for one in stream.lists[-1]
        )

    try:
        site.wait(unhealthy, 30, f"{name} to be UNHEALTHY")
        site.wait(lambda: site.devices().get(name) != before, 30, f"a taint or attribute of {name}")
    finally:
        site.shell(site.profile.heal, device=name)
        stream.close()
    return f"{time.monotonic() - start:.1f} s"


@scenario("H5", "mock")
def health_v1(site: Site) -> None:
    """The v1 service of Kubernetes 1.37 is served too."""
    assert site.info is not None
    if messages.HEALTH_VERSION not in site.info.versions:
        raise NotRunError("no health service in supported_versions")
    raise NotRunError("dra-health v1 needs Kubernetes 1.37")
