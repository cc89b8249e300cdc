"""C: documents of the Container Device Interface."""

import json
import os
import re
import reprlib
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman_drivers.conformance.checks import NotRunError, need
from dragoman_drivers.conformance.documents import texts
from dragoman_drivers.conformance.folder import Event
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.scenarios.prepare import shared_device
from dragoman_drivers.conformance.site import Site, new_uid

VENDOR = r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
KIND = re.compile(rf"{VENDOR}/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?")
DEVICE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
SUFFIXES = (".json", ".yaml")
EDITS = {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices"}
TOP = {"cdiVersion", "kind", "devices", "containerEdits", "annotations"}
MOST = 0o644
"""Mode of a document: runtimes read it, and what is in it decides about containers."""
PROTECTED = ("/", "/var/lib/kubelet", "/etc/cdi", "/var/run/cdi", "/run/cdi")


def malformed(tree: Mapping[str, Any]) -> str:  # noqa: C901 — one branch for each rule
    """Return what is wrong with a document; the empty text for nothing. Pure."""
    if unknown := sorted(tree.keys() - TOP):
        return f"unknown field {unknown[0]}"
    version = str(tree.get("cdiVersion", ""))
    if not re.fullmatch(r"v?[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}", version):
        return f"cdiVersion is {reprlib.repr(version)}"
    if not KIND.fullmatch(str(tree.get("kind", ""))):
        return f"kind is {reprlib.repr(tree.get('kind'))}, not vendor/class"
    names = [str(one.get("name")) for one in tree.get("devices") or ()]
    if not names:
        return "it has no devices"
    if bad := [name for name in names if not DEVICE.fullmatch(name)]:
        return f"device name {bad[0]!r}"
    if len(set(names)) < len(names):
        return f"device {max(names, key=names.count)} twice"
    for edits in _edits(tree):
        if unknown := sorted(edits.keys() - EDITS):
            return f"containerEdits has the unknown field {unknown[0]}"
        if bad := [one for one in edits.get("env") or () if not VARIABLE.fullmatch(str(one))]:
            return f"env {bad[0]!r} is not NAME=value"
    needed = minimum_version(tree)
    if _number(version) == _number(needed):
        return ""
    where = "below" if _number(version) < _number(needed) else "above"
    return f"cdiVersion {version} is {where} {needed}, which its fields need"


def minimum_version(tree: Mapping[str, Any]) -> str:
    """Return the least cdiVersion that knows the fields of a document. Pure."""
    digits = any(str(one.get("name", " "))[:1].isdigit() for one in tree.get("devices") or ())
    needed = "0.5.0" if digits else "0.3.0"
    for edits in _edits(tree):
        if edits.get("netDevices"):
            return "1.1.0"
        if edits.get("intelRdt") or edits.get("additionalGids"):
            needed = max(needed, "0.7.0", key=_number)
        if any("hostPath" in one for one in edits.get("deviceNodes") or ()):
            needed = max(needed, "0.5.0", key=_number)
        if any("type" in one for one in edits.get("mounts") or ()):
            needed = max(needed, "0.4.0", key=_number)
    if tree.get("annotations") or any(one.get("annotations") for one in tree.get("devices") or ()):
        needed = max(needed, "0.6.0", key=_number)
    return needed


def visible_half(events: Sequence[Event]) -> str:
    """Return the first document that was written in place; the empty text for none. Pure."""
    for event in events:
        if event.kind == "modify" and event.name.endswith(SUFFIXES):
            return event.name
    return ""


def dangerous(tree: Mapping[str, Any]) -> str:
    """Return the first mount or path that a claim must not bring; the empty text for none. Pure."""
    for edits in _edits(tree):
        for one in edits.get("mounts") or ():
            host = str(one.get("hostPath", ""))
            if (host.rstrip("/") or "/") in PROTECTED:
                return f"mounts {host}"
            if ".." in Path(host).parts:
                return f"mounts {host}"
    return ""


def showing(folder: Path, secret: str) -> list[str]:
    """Return the files below a folder that show a secret, as it is or escaped in JSON."""
    spellings = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(one in text for text in texts(path) for one in spellings)
    ]


def _edits(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [
        tree.get("containerEdits"),
        *(d.get("containerEdits") for d in tree.get("devices") or ()),
    ]
    return [one for one in found if isinstance(one, Mapping)]


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.removeprefix("v").split(".")))


def _prepared(site: Site) -> dict[str, Any]:
    """Prepare a claim, and return the documents that define its devices."""
    found = site.prepared(site.claim(*site.take(1)))
    ids = site.cdi_ids()
    names = {file for one in found for name in one.cdi for file in ids.get(name, ())}
    if not names:
        raise NotRunError("the answer has no CDI ids, or no document defines them: see C1")
    documents = site.cdi_documents()
    return {name: documents[name] for name in names}


@scenario("C1")
def resolves(site: Site) -> None:
    """Every id is defined when the answer arrives."""
    for _ in range(3):
        claim = site.claim(*site.take(1))
        found = site.prepared(claim)
        ids = site.cdi_ids()
        missing = [name for one in found for name in one.cdi if name not in ids]
        need(not missing, f"{missing[:1]} is in no CDI document when the answer arrives")
        site.unprepared(claim)


@scenario("C2")
def atomic(site: Site) -> None:
    """Documents appear by a rename."""
    before = len(site.documents.events)
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    site.unprepared(claim)
    site.documents.wait({"delete", "moved-from"}, "", before, 2)
    half = visible_half(site.documents.events[before:])
    need(not half, f"{half} was written in place: a runtime may read half of it")


@scenario("C3")
def valid(site: Site) -> None:
    """Documents are valid."""
    claim = site.claim(*site.take(1))
    before = site.cdi_documents()
    known = site.cdi_faults()
    site.prepared(claim)
    for name, problem in site.cdi_faults().items():
        need(name in known, f"{name}: {problem}")
    after = site.cdi_documents()
    new = {name: tree for name, tree in after.items() if name not in before} or after
    for name, tree in new.items():
        problem = malformed(tree)
        need(not problem, f"{name}: {problem}")


@scenario("C4")
def own_names(site: Site) -> None:
    """Two claims have no CDI name of their own in common."""
    try:
        shared = shared_device(site)
        common = site.cdi_ids().keys()  # defined once for all claims
        claims = [site.claim(shared, shares=[new_uid()]) for _ in range(2)]
        found = [{name for one in site.prepared(c) for name in one.cdi} for c in claims]
        both = (found[0] & found[1]) - common
        need(not both, f"two claims share {sorted(both)}")
    except NotRunError:
        claim = site.claim(*site.take(1))
        names = {name for one in site.prepared(claim) for name in one.cdi}
        uid = claim["metadata"]["uid"]
        need(any(uid in name for name in names), f"no name of {sorted(names)} has the claim's UID")


@scenario("C5")
def no_conflict(site: Site) -> None:
    """No device is defined twice."""
    for name in site.take(2):
        site.prepared(site.claim(name))
    double = {name: files for name, files in site.cdi_ids().items() if len(files) > 1}
    need(not double, f"{next(iter(double), '')} is defined by {next(iter(double.values()), [])}")


@scenario("C6", "reboot")
def lost_documents(site: Site) -> None:
    """Documents that were lost at a reboot are there before the first answer."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    site.subject.kill()
    for path in site.cdi.iterdir():
        path.unlink()
    site.step("SIGKILL, and delete all CDI documents, as a reboot does")
    site.start()
    found = site.prepared(claim)
    missing = {name for one in found for name in one.cdi} - site.cdi_ids().keys()
    need(not missing, f"{sorted(missing)} are in no CDI document after a reboot")


@scenario("C7")
def paths(site: Site) -> None:
    """Host paths exist, and none of the machine's own folders is mounted."""
    for name, tree in _prepared(site).items():
        problem = dangerous(tree)
        need(not problem, f"{name} {problem}")
        for edits in _edits(tree):
            for one in (*(edits.get("mounts") or ()), *(edits.get("deviceNodes") or ())):
                host = one.get("hostPath") or one.get("path")
                need(host and Path(host).exists(), f"{name}: {host} does not exist")


@scenario("C8")
def modes(site: Site) -> str:
    """Documents are the driver's own, only it can write them, and they show no secret."""
    for parameters, secret in site.profile.secrets:
        claim = site.claim(*site.take(1), config=[site.opaque(parameters)])
        site.prepared(claim)
        shown = showing(site.cdi, secret)
        need(not shown, f"{shown[:1]} shows the secret of a config to everyone on the node")
        site.unprepared(claim)
    for name in _prepared(site):
        info = (site.cdi / name).stat()
        mode = stat.S_IMODE(info.st_mode)
        need(not mode & ~MOST, f"{name} has mode {mode:o}, at most {MOST:o} is allowed")
        need(
            info.st_uid in {0, os.geteuid()},
            f"{name} has the owner {info.st_uid}, neither root nor the driver's user",
        )
    count = len(site.profile.secrets)
    return f"{count} secrets" if count else "no `configs.secrets`: none was looked for"


@scenario("C9", "reboot")
def creates_folder(site: Site) -> None:
    """The folder is created if it is absent."""
    site.subject.kill()
    for path in site.cdi.iterdir():
        path.unlink()
    site.cdi.rmdir()
    site.step("remove the CDI folder")
    try:
        site.start()
        need(site.cdi.is_dir(), "the CDI folder was not created")
    finally:
        site.cdi.mkdir(exist_ok=True)
