"""R: registration, instances side by side."""

import contextlib
import os
import shutil
import threading
import time
from pathlib import Path

from dragoman_drivers.conformance.checks import FailedError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site
from dragoman_drivers.conformance.subject import STOP_SECONDS
from dragoman_drivers.kubeletplugin import client, messages
from dragoman_drivers.kubeletplugin.client import CallError, Endpoint

KUBELET = "/var/lib/kubelet"
HEALTH = {messages.HEALTH, messages.HEALTH_V1}
POD_UID = "0" * 36
SUN_PATH = 107
ANSWER_SECONDS = 30.0
LISTEN_SECONDS = 0.05
"""Between bind and listen; the kubelet comes up to a second later."""


@scenario("R1", "registration")
def appears(site: Site) -> None:
    """A socket appears, and is not hidden."""
    need(not site.registration().name.startswith("."), "the socket's name starts with a dot")


@scenario("R2", "registration")
def answers_at_once(site: Site) -> str:
    """GetInfo answers at the first call, within a second, with the name of the slices."""
    site.subject.kill()
    seen = len(site.sockets.events)
    site.subject.start()
    event = site.sockets.wait({"create", "moved-to"}, ".sock", seen, 30)
    need(event, f"no registration socket: {site.tail()}")
    assert event is not None
    time.sleep(LISTEN_SECONDS)
    start = time.monotonic()
    try:
        info = client.info(site.registry / event.name, 5)
    except CallError as error:
        raise FailedError(f"GetInfo fails at the first call: {error}") from None
    seconds = time.monotonic() - start
    need(seconds <= 2, f"GetInfo took {seconds:.1f} s, the kubelet waits for 1 s")
    need(info.type == messages.PLUGIN_TYPE, f"type is {info.type!r}, not DRAPlugin")
    site.connect(site.registry / event.name)
    site.wait(lambda: site.slices(everything=True), 30, "slices")
    drivers = {one["spec"]["driver"] for one in site.slices(everything=True)}
    need(drivers == {info.name}, f"GetInfo says {info.name}, slices say {sorted(drivers)}")
    return f"{seconds * 1000:.0f} ms"


@scenario("R3", "registration")
def endpoint(site: Site) -> None:
    """The endpoint is an absolute, plain path below the folder that was given."""
    assert site.info is not None
    path = Path(site.info.endpoint)
    odd = sorted({*"?#%"} & {*site.info.endpoint})
    need(not odd, f"endpoint {path} has {' '.join(odd)}, which the kubelet of 1.38 rejects")
    need(path.is_absolute(), f"endpoint {path} is not absolute")
    need(site.kubelet in path.parents, f"endpoint {path} is not below {site.kubelet}")
    need(path.is_socket(), f"endpoint {path} is not a socket")


@scenario("R4", "registration")
def versions(site: Site) -> str:
    """Every listed service answers."""
    assert site.info is not None
    listed = site.info.versions
    need(
        {messages.V1, messages.V1BETA1} & {*listed},
        f"supported_versions {list(listed)} has neither v1.DRAPlugin nor v1beta1.DRAPlugin",
    )
    for version in listed:
        service = messages.SERVICES.get(version)
        if service in HEALTH:
            stream = site.health(service)
            site.wait(lambda: stream.lists or stream.error, 30, "the health stream")  # noqa: B023
            need(stream.lists, f"{version} is listed, but {stream.error}")
        elif service:
            try:
                Endpoint(site.endpoint.socket, service).prepare((), 5)
            except CallError as error:
                raise FailedError(f"{version} is listed, but {error}") from None
    return ", ".join(listed)


@scenario("R5", "registration")
def order(site: Site) -> None:
    """The service answers when the registration socket appears."""
    path = site.endpoint.socket
    site.subject.kill()
    for socket in (path, *site.registry.glob("*.sock")):
        socket.unlink(missing_ok=True)
    seen = len(site.sockets.events)
    site.subject.start()
    event = site.sockets.wait({"create", "moved-to"}, ".sock", seen, 30)
    need(event, f"no registration socket: {site.tail()}")
    there = path.exists() or any(one.suffix == ".sock" for one in path.parent.glob("*"))
    need(there, "the registration socket exists before the socket of the DRA service")
    site.wait(lambda: _registered(site), ANSWER_SECONDS, "GetInfo to answer")


@scenario("R6", "registration")
def refusal(site: Site) -> None:
    """A refused registration neither ends nor blocks the driver, and is logged."""
    word = "dragoman-refuses-this"
    at = site.subject.position()
    socket = site.registration()
    with contextlib.suppress(CallError):  # the helper of Go drivers answers with an error
        client.notify(socket, word, 10)
    try:
        site.wait(lambda: word in site.subject.logged(at), 5, "the refusal in the driver's log")
    except FailedError:
        need(site.subject.runs, "the driver ended when its registration was refused")
        raise
    time.sleep(0.3)
    need(site.subject.runs, "the driver ended when its registration was refused")
    site.connect(socket)
    site.endpoint.prepare((), 5)


@scenario("R7", "registration")
def kubelet_restart(site: Site) -> str:
    """A kubelet that restarted registers the driver again, at the socket that is still there."""
    site.connect(site.registration())
    site.endpoint.prepare((), 5)
    for path in site.registry.iterdir():
        path.unlink()
    site.step("empty the registry folder")
    time.sleep(0.2)
    # Kubelets leave the folder as it is, so what follows is a measurement and no rule.
    with contextlib.suppress(FailedError):
        site.wait(lambda: _registered(site), 5, "GetInfo to answer")
        return "also after the registry folder was emptied"
    site.subject.kill()
    return "not after the registry folder was emptied"


def _registered(site: Site) -> bool:
    """Whether GetInfo is answered: a socket that is there may not listen yet."""
    try:
        return bool(client.info(site.registration(), 5).name)
    except (FailedError, CallError, OSError):
        return False


@scenario("R8", "registration")
def stale_sockets(site: Site) -> None:
    """Sockets of a killed predecessor do not stop the start."""
    before = [one.name for one in site.registry.iterdir()]
    site.subject.kill()
    need([one.name for one in site.registry.iterdir()] == before, "the sockets are gone")
    site.start()
    site.endpoint.prepare((), 5)


@scenario("R9", "registration")
def path_lengths(site: Site) -> str:
    """Socket paths fit in the default folders with a pod's UID."""
    assert site.info is not None
    found = []
    for path in (site.registration(), Path(site.info.endpoint)):
        text = str(path).replace(str(site.kubelet), KUBELET)
        folder, _, file = text.rpartition("/")
        if "{instance}" in site.setting.command:
            file = file.replace(f"-{site.subject.places.instance}", f"-{POD_UID}", 1)
        found.append(f"{folder}/{file}")
    longest = max(found, key=lambda one: len(one.encode()))
    size = len(longest.encode())
    need(size <= SUN_PATH, f"{longest} has {size} bytes, Linux allows {SUN_PATH}")
    return f"{size} bytes"


@scenario("R10", "registration")
def sigterm(site: Site) -> str:
    """It ends at SIGTERM, the registration socket goes first, calls in flight are answered."""
    slow = site.profile.commands.get("slow")
    if slow:
        site.subject.kill()
        site.use(slow)
        site.start()
    claim = site.claim(*site.take(1))
    errors: list[str] = []

    def call() -> None:
        try:
            site.prepared(claim)
        except (CallError, FailedError) as error:
            errors.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.3 if slow else 0)
    start = time.monotonic()
    seconds = site.subject.stop(STOP_SECONDS)
    thread.join()
    site.use(site.setting.command)
    need(seconds is not None, f"it did not end within {STOP_SECONDS:g} s of SIGTERM")
    need(not site.registrations(), "the registration socket is still there")
    if slow:
        need(not errors, f"a call in flight was cut off: {errors[:1]}")
        return f"ended in {time.monotonic() - start:.1f} s"
    return f"ended in {time.monotonic() - start:.1f} s; no `slowCommand`: no call was in flight"


@scenario("R11", "rolling")
def side_by_side(site: Site) -> None:
    """Two instances run side by side, and no slice disappears."""
    before = {one["metadata"]["uid"] for one in site.slices()}
    site.second()
    need(site.subject.runs, "the first instance ended")
    names = {client.info(one, 5).name for one in site.registrations()}
    need(names == {site.driver}, f"the instances have different names: {sorted(names)}")
    site.subject.stop()
    site.step("SIGTERM to the first instance")
    time.sleep(1)
    after = {one["metadata"]["uid"] for one in site.slices()}
    need(before <= after, f"{len(before - after)} slices disappeared")
    site.connect(site.registration())
    site.endpoint.prepare((), 5)


@scenario("R12", "rolling", waits=True)
def slices_stay(site: Site) -> None:
    """After the old instance left, the slices stay for a minute."""
    site.second()
    before = {one["metadata"]["uid"]: one["metadata"]["name"] for one in site.slices()}
    site.subject.stop()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        there = {one["metadata"]["uid"] for one in site.slices()}
        lost = sorted(before[uid] for uid in before.keys() - there)
        need(before and not lost, f"slices {lost} disappeared")
        time.sleep(1)


def empty(folder: Path) -> None:
    """Remove everything in a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else os.unlink(path)  # noqa: PTH108 — sockets too
