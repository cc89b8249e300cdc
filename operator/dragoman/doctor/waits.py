"""Findings about what pods wait for: classes that cannot serve, and objects that are missing."""

import re
from collections.abc import Iterator

from dragoman.diagnosis.obstacles import MISSING, ObstacleCode
from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id, Severity
from dragoman.inventory.facts.world import PodFact
from dragoman.model.device import Content
from dragoman.model.deviceclass import DeviceClass
from dragoman_base.words import counted
from dragoman_base.words.nearnames import near_attribute, near_driver
from dragoman_cel import selectors
from dragoman_cel.errors import CompileError

_DRIVER = re.compile(r"""device\.driver\s*==\s*(["'])(.*?)\1""")


def class_fails(facts: DoctorFacts) -> Iterator[Finding]:
    """A selector of a class fails to compile, or on a device: each pod that meets it waits."""
    for name, failure in sorted(facts.inventory.failures.items()):
        kind = facts.inventory.world.classes[name]
        near = _near_names(facts, kind)
        hint = f"write {near} in" if near else "correct"
        yield Finding(
            Id.CLASS_FAILS,
            _class_subject(name),
            f"a selector fails: {failure}{_waited_for(facts, name)}",
            f"{hint} spec.selectors: kubectl edit deviceclass {name}",
        )


def class_empty(facts: DoctorFacts) -> Iterator[Finding]:
    """No device of any driver is of a class; where pods wait for it, these never start."""
    if not (facts.read("resourceslices") and facts.read("deviceclasses")):
        return
    inventory = facts.inventory
    drivers = {pool.driver for pool in inventory.pools}
    for name, members in sorted(inventory.members.items()):
        if members or name in inventory.failures:
            continue
        kind = inventory.world.classes[name]
        wanted = _drivers(kind)
        absent = sorted(one for one in wanted if one not in drivers)
        waited = _waited_for(facts, name)
        if not (absent or waited):
            continue  # such as a class for partitions that an admin may make later
        what, todo = "selects no device", f"kubectl dra explain class {name}"
        if absent:
            what += f", and no ResourceSlice is of driver {few(absent)}"
            near = near_driver(absent[0], drivers)
            todo = f"write {near} in spec.selectors" if near else "install the driver"
            todo += f", or delete class {name} where it is not needed"
        yield Finding(
            Id.CLASS_EMPTY,
            _class_subject(name),
            f"{what}{waited}",
            todo,
            level=None if waited else Severity.INFO,
        )


def _class_subject(name: str) -> FindingSubject:
    return FindingSubject(name, "DeviceClass", name)


def _waited_for(facts: DoctorFacts, name: str) -> str:
    """Say how many pods wait for a class; empty for none."""
    count = sum(
        any(
            exact.class_name == name
            for claim in subject.claims
            for request in claim.spec.requests
            for exact in request.alternatives
        )
        for subject in facts.waiting
    )
    return f"; {counted(count, 'pod')} {'wait' if count > 1 else 'waits'} for it" if count else ""


def _drivers(kind: DeviceClass) -> set[str]:
    """Return the drivers that selectors of a class compare `device.driver` with."""
    return {name for text in kind.selectors for _, name in _DRIVER.findall(text or "")}


def _near_names(facts: DoctorFacts, kind: DeviceClass) -> str:
    """Return the attribute that a selector may mean where no device has the one that it reads."""
    published = {
        pair
        for one in facts.inventory.devices.values()
        if one.content is not None
        for pair in _published(one.content)
    }
    for text in kind.selectors:
        try:
            reads = selectors.compile(text or "").reads or ()
        except CompileError:
            continue
        for one in reads:
            if len(one) == 3:
                domain, name = near_attribute(one[1], one[2], published)
                if name and (domain, name) != (one[1], one[2]):
                    return name if domain == one[1] else f"{domain}/{name}"
    return ""


def _published(content: Content) -> Iterator[tuple[str, str]]:
    """Yield domain and name of the attributes and capacities of a device."""
    for full in (*content.attributes, *content.capacity):
        domain, _, name = full.rpartition("/")
        yield domain or content.driver, name


def reference_missing(facts: DoctorFacts) -> Iterator[Finding]:
    """A pod waits for a template, a claim, a class or a resource that does not exist."""
    for subject in facts.waiting:
        for one in subject.obstacles:
            if one.code in MISSING:
                yield _of_pod(
                    Id.REFERENCE_MISSING,
                    subject.pod,
                    one.message.replace(f"claim {subject.pod.pod.metadata.name}-", "claim "),
                    one.remedy,
                )


def pod_unseen(facts: DoctorFacts) -> Iterator[Finding]:
    """No scheduler has looked at a pod: it names one that does not run."""
    for subject in facts.waiting:
        for one in subject.obstacles:
            if one.code is ObstacleCode.NO_SCHEDULER:
                name = subject.pod.scheduler
                said = f"no scheduler has looked at it: spec.schedulerName is {name}"
                yield _of_pod(Id.POD_UNSEEN, subject.pod, said, one.remedy)


def _of_pod(key: Id, pod: PodFact, message: str, remedy: str) -> Finding:
    return Finding(key, pod_subject(pod), message, remedy, pod.pod.metadata.created)


def pod_subject(pod: PodFact) -> FindingSubject:
    """Return a pod as the subject of a finding."""
    metadata = pod.pod.metadata
    return FindingSubject(
        pod.key, "Pod", metadata.name, metadata.namespace, metadata.uid, api_version="v1"
    )
