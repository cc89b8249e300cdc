"""K: restarts, checkpoints, an API server that is away."""

import contextlib
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman_base import files
from dragoman_drivers.conformance.checks import FailedError, NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site, reference
from dragoman_drivers.conformance.starting import START_SECONDS
from dragoman_drivers.kubeletplugin.client import CallError

Json = Mapping[str, Any]
MOMENTS = 20
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a name in camel case: `pciBusID` has three."""
IDENTITIES = {
    *("uuid", "pci", "pcie", "serial", "mac"),
    *("pciaddress", "serialnumber", "macaddress"),  # names in lower case alone
}
"""Words of attributes that tell one piece of hardware from others."""


@scenario("K1", "restart")
def same_answer(site: Site) -> None:
    """After SIGKILL the answer is as before, and the device is still withheld."""
    (name,) = site.take(1)
    claim = site.claim(name)
    before = site.prepared(claim)
    site.restart()
    need(site.refused(site.claim(name)), f"{name} was prepared for two claims after a restart")
    need(site.prepared(claim) == before, "the answer differs after a restart")


@scenario("K2", "restart")
def unprepare_cleans(site: Site) -> None:
    """After SIGKILL an unprepare cleans."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    site.restart()
    site.unprepared(claim)
    left = site.claim_ids(claim)
    need(not left, f"{sorted(left)} are left by an unprepare after a restart")


@scenario("K3", "restart")
def killed_halfway(site: Site) -> str:
    """SIGKILL at any step of a prepare: a retry succeeds, or an unprepare cleans."""
    (name,) = site.take(1)
    moments = 4 if site.setting.quick else MOMENTS
    for moment in range(moments):
        claim = site.claim(name)
        call = threading.Thread(target=_quietly, args=(site, claim))
        seen = len(site.documents.events)
        call.start()
        if moment % 2:  # at an event of the CDI folder, else after a time
            site.documents.wait({"create", "moved-to"}, "", seen, 1)
        time.sleep(moment // 2 * 0.002)
        site.subject.kill()
        site.step(f"SIGKILL during a prepare, moment {moment}")
        call.join()
        site.start()
        if moment % 4 < 2:
            site.prepared(claim)
        site.unprepared(claim)
        need(not site.claim_ids(claim), f"moment {moment}: CDI devices are left")
        other = site.claim(name)
        error = site.refused(other)
        need(not error, f"moment {moment}: the device stays withheld: {error}")
        site.unprepared(other)
    return f"{moments} moments"


def _quietly(site: Site, claim: object) -> None:
    with contextlib.suppress(CallError):
        site.endpoint.prepare([reference(claim)], 10)  # type: ignore[arg-type]


def _checkpoint(site: Site) -> Path:
    if site.profile.checkpoint:
        filled = site.subject.places.fill(site.profile.checkpoint, driver=site.driver)
        return Path(filled)
    folder = site.kubelet / "plugins" / site.driver
    found = [one for one in folder.rglob("*checkpoint*") if one.is_file()]
    if not found:
        raise NotRunError("no checkpoint found: the profile can name it as `checkpoint`")
    return found[0]


@scenario("K4", "checkpoint")
def broken_checkpoint(site: Site) -> None:
    """A broken checkpoint does not end it without a word."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    path = _checkpoint(site)
    good = files.read(path)
    for what, content in (
        ("an empty", b""),
        ("a truncated", good[: len(good) // 2]),
        ("a newer", good.replace(b"1", b"99")),
    ):
        site.subject.kill()
        path.write_bytes(content)
        site.step(f"SIGKILL, and leave {what} checkpoint")
        at = site.subject.position()
        try:
            site.start()
        except FailedError:
            need(site.subject.logged(at).strip(), f"with {what} checkpoint it ends without a word")
            path.write_bytes(good)
            continue
        error = site.refused(claim)
        need(not error or len(error) > 10, f"with {what} checkpoint: {error}")
        need(
            not error or site.subject.logged(at).strip(),
            f"with {what} checkpoint no claim is prepared, without a word",
        )
    site.subject.kill()
    path.write_bytes(good)


@scenario("K5", "mock")
def checkpoint_of_gone_device(site: Site) -> None:
    """A prepared device that is gone does not stop the start."""
    if not site.profile.lose:
        raise NotRunError("the profile has no device.lose")
    (name,) = site.take(1)
    claim = site.claim(name)
    site.prepared(claim)
    with site.lost(name):
        site.restart()
        site.unprepared(claim)
    site.wait(lambda: name in site.devices(), 30, f"{name} to be published again")


@scenario("K6", "upgrade")
def upgrade(site: Site) -> None:
    """Prepared claims survive an upgrade and a downgrade."""
    old = site.profile.commands.get("old")
    if not old:
        raise NotRunError("the profile has no `oldCommand`")
    for first, second in ((old, site.setting.command), (site.setting.command, old)):
        site.subject.kill()
        site.use(first)
        site.start()
        (name, another) = site.take(2)
        claim, ended = site.claim(name), site.claim(another)
        before = site.prepared(claim)
        site.prepared(ended)
        site.subject.stop()
        site.use(second)
        site.start()
        need(site.refused(site.claim(name)), f"{name} was prepared for two claims")
        need(site.prepared(claim) == before, "the answer differs")
        for one in (claim, ended):
            site.unprepared(one)
            need(not site.claim_ids(one), "CDI devices are left")


@scenario("K7", "upgrade")
def same_names(site: Site) -> str:
    """Devices have the same names after a restart, and enumerated in another order."""
    before = site.devices()
    site.restart()
    time.sleep(1)
    problem = renaming(before, site.devices())
    need(not problem, f"{problem} after a restart")
    known = sum(bool(_identity(one)) for one in before.values())
    compared = f"{known} of {len(before)} devices have a UUID, serial number or address to compare"
    shuffled = site.profile.commands.get("shuffled")
    if not shuffled:
        return f"after a restart; no `shuffledCommand`: no other order was tried; {compared}"
    with site.using(shuffled):
        problem = renaming(before, site.devices())
        need(not problem, f"{problem} when the hardware is enumerated in another order")
    return f"{len(before)} devices, after a restart and in another order; {compared}"


def renaming(before: Mapping[str, Json], after: Mapping[str, Json]) -> str:
    """Return which name was lost, is new or is of another device; the empty text for none. Pure.

    Args:
        before: Published devices by name.
        after: The same hardware's devices later.
    """
    if changed := sorted(before.keys() ^ after.keys()):
        return f"names changed: {', '.join(changed[:4])}"
    moved = [name for name in after if _identity(before[name]) != _identity(after[name])]
    return f"{moved[0]} is another device" if moved else ""


def _identity(device: Json) -> Json:
    """Return the attributes that name one piece of hardware, wherever it is in a list."""
    found = device.get("attributes") or {}
    return {key: one for key, one in found.items() if IDENTITIES.intersection(words(key))}


def words(attribute: str) -> list[str]:
    """Return the words of an attribute's name without its domain: `d/pciBusID` is pci, bus, id."""
    name = attribute.rpartition("/")[2]
    return [one.lower() for one in WORD.findall(name)]


def _appears(site: Site) -> bool:
    """Start the driver, and wait for its registration socket or its end; whether it serves."""
    seen = len(site.sockets.events)
    site.subject.start()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and site.subject.runs:
        if site.sockets.wait({"create", "moved-to"}, ".sock", seen, 0.2):
            return True
    return False


@scenario("K8", "away")
def api_server_away(site: Site) -> None:
    """Without an API server at its start it waits, serves, and publishes afterwards."""
    site.subject.kill()
    for one in site.slices():
        site.api.delete("resourceslices", one["metadata"]["name"])
    site.proxy.pause()
    site.step("pause the API server and start the driver")
    found = _appears(site)
    time.sleep(2)
    need(site.subject.runs, f"it ended without an API server: {site.tail()}")
    site.proxy.resume()
    site.wait(site.pool_complete, START_SECONDS + 30, "slices after the API server is there")
    need(found, "it does not serve the kubelet while the API server is away")


@scenario("K9", "away")
def node_created_later(site: Site) -> None:
    """A Node that is created after the driver gets its slices."""
    site.subject.kill()
    for one in site.slices():
        site.api.delete("resourceslices", one["metadata"]["name"])
    site.api.delete("nodes", site.node)
    site.step("delete the Node and start the driver")
    try:
        _appears(site)
        time.sleep(2)
        need(site.subject.runs, f"it ended without its Node: {site.tail()}")
    finally:
        site.create_node()
    site.wait(site.pool_complete, START_SECONDS + 30, "slices after the Node is there")


@scenario("K10")
def deleted_while_prepared(site: Site) -> None:
    """A claim that was deleted by force is released by the kubelet's unprepare alone."""
    (name,) = site.take(1)
    claim = site.claim(name)
    site.prepared(claim)
    site.delete(claim)
    site.unprepared(claim)
    need(not site.claim_ids(claim), "CDI devices are left")
    error = site.refused(site.claim(name))
    need(not error, f"the device of a deleted claim stays withheld: {error}")
