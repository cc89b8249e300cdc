"""Known faults of Kubernetes releases, reported only where a cluster has what triggers them.

The versions are those of the API server: the other control-plane components usually run the same
release. Each fault names the issue of kubernetes/kubernetes; which release has the fix is
read from the changelogs by docs/generate_faults.py.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.doctor.fixes import FIXED
from dragoman.inventory.usage.waiting import waiting
from dragoman.model.fields import part, parts
from dragoman.model.requests import ExactRequest
from dragoman_base.versions import parse_release

Release = tuple[int, int, int]
Trigger = Callable[[DoctorFacts], list[str]]
_MANY = 8
"""Devices of one claim from which on the number of permutations is a problem."""


@dataclass(frozen=True, slots=True)
class KnownFault:
    """A fault of a component of Kubernetes."""

    issue: int  # Of kubernetes/kubernetes
    effect: str  # What goes wrong
    remedy: str  # What avoids it
    trigger: Trigger  # Returns the objects that meet it
    note: str = ""  # Matches the release note of the fix; empty where no release has one
    # First releases with a fix that no release note names
    unnoted: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @property
    def fixed(self) -> Mapping[tuple[int, int], int]:
        """Version to the first patch release with the fix; later versions have it too."""
        return FIXED.get(self.issue, self.unnoted)

    def affects(self, version: Release) -> bool:
        """Whether a release has the fault."""
        minor = version[:2]
        if minor in self.fixed:
            return version[2] < self.fixed[minor]
        return not any(minor > branch for branch in self.fixed)


def known_fault(facts: DoctorFacts) -> Iterator[Finding]:
    """A fault of this release of Kubernetes concerns objects of the cluster."""
    version = _release(facts.snapshot.kubernetes)
    for fault in FAULTS if version else ():
        assert version is not None
        if fault.affects(version) and (met := fault.trigger(facts)):
            yield Finding(
                Id.KNOWN_FAULT,
                FindingSubject(f"kubernetes#{fault.issue}"),
                f"{facts.snapshot.kubernetes} {fault.effect}: {few(met)}",
                fault.remedy,
            )


def _release(text: str) -> Release | None:
    try:
        return parse_release(text)
    except ValueError:
        return None


# What triggers them -------------------------------------------------------------------------------


def _pods_with_two_templates(facts: DoctorFacts) -> list[str]:
    return sorted(
        pod.key
        for pod in facts.inventory.world.pods.values()
        if not pod.pod.done
        and sum(entry.template_name is not None for entry in pod.pod.entries) > 1
    )


def _shared_claims_of_ended_pods(facts: DoctorFacts) -> list[str]:
    """Return user-made claims of several pods that are reserved for one that has ended."""
    if not facts.read("pods"):
        return []
    alive = {uid for uid, pod in facts.pods_by_uid.items() if not pod.pod.done}
    return sorted(
        key
        for key in facts.pods_by_claim
        if (claim := facts.inventory.world.claims.get(key))
        and claim.entry is None
        and not claim.extended
        and len(claim.consumers) > 1
        and any(one.is_pod and one.uid not in alive for one in claim.consumers)
    )


def _missing_templates(facts: DoctorFacts) -> list[str]:
    if not facts.read("resourceclaimtemplates"):
        return []
    return sorted(
        wait.pod.key
        for wait in waiting(facts.inventory.world)
        for entry in wait.pod.pod.entries
        if entry.template_name is not None
        and f"{wait.pod.pod.metadata.namespace}/{entry.template_name}" not in facts.templates
    )


def _other_consumers(facts: DoctorFacts) -> list[str]:
    return sorted(
        key
        for key, claim in facts.inventory.world.claims.items()
        if any(not one.is_pod for one in claim.consumers)
    )


def _extended_claims(facts: DoctorFacts) -> list[str]:
    return sorted(key for key, one in facts.inventory.world.claims.items() if one.extended)


def _extended_on_tainted(facts: DoctorFacts) -> list[str]:
    return sorted(
        {
            one.claim.key
            for device in facts.inventory.devices.values()
            if any(taint.effect == "NoExecute" for taint in device.taints)
            for one in device.holdings
            if one.claim.extended
        }
    )


def _selectors_with_terms(facts: DoctorFacts) -> list[str]:
    return sorted(
        name
        for name, document in facts.slices.items()
        if any(
            len(parts(device, "nodeSelector", "nodeSelectorTerms")) > 1
            for device in parts(document, "spec", "devices")
        )
    )


def _all_of_broken_pools(facts: DoctorFacts) -> list[str]:
    if all(pool.usable for pool in facts.inventory.pools.values()):
        return []
    return sorted(
        key
        for key, claim in facts.inventory.world.claims.items()
        if not claim.devices and any(exact.mode == "All" for exact in _exact_requests(facts, key))
    )


def _pools_of_one_name(facts: DoctorFacts) -> list[str]:
    drivers: dict[str, set[str]] = {}
    for pool in facts.inventory.pools.values():
        if any(one.shared_counters for one in pool.slices):
            drivers.setdefault(pool.id.pool, set()).add(pool.id.driver)
    return sorted(name for name, found in drivers.items() if len(found) > 1)


def _large_requests(facts: DoctorFacts) -> list[str]:
    return sorted(
        key
        for key, claim in facts.inventory.world.claims.items()
        if not claim.devices and any(exact.count >= _MANY for exact in _exact_requests(facts, key))
    )


def _exact_requests(facts: DoctorFacts, key: str) -> list[ExactRequest]:
    return [
        exact
        for request in facts.inventory.world.claims[key].spec.requests
        for exact in request.alternatives
    ]


def _empty_rules(facts: DoctorFacts) -> list[str]:
    return sorted(
        str(part(document, "metadata").get("name"))
        for document in facts.snapshot.of("devicetaintrules")
        if "deviceSelector" not in part(document, "spec")
    )


def _ignored_tolerations(facts: DoctorFacts) -> list[str]:
    return sorted(
        {
            one.claim.key
            for device in facts.inventory.devices.values()
            for one in device.holdings
            for taint in device.taints
            if taint.effect == "NoExecute"
            and {kept.effect for kept in one.result.tolerations if kept.tolerates(taint)} == {""}
        }
    )


def _shares_of_exclusive_devices(facts: DoctorFacts) -> list[str]:
    return sorted(
        str(device.id)
        for device in facts.inventory.devices.values()
        if device.content is not None
        and not device.content.shareable
        and any(one.result.share for one in device.owned)
    )


def _classes_of_one_resource(facts: DoctorFacts) -> list[str]:
    named: dict[str, list[str]] = {}
    for document in facts.snapshot.of("deviceclasses"):
        if resource := part(document, "spec").get("extendedResourceName"):
            named.setdefault(str(resource), []).append(str(part(document, "metadata").get("name")))
    return sorted(one for classes in named.values() if len(classes) > 1 for one in classes)


FAULTS = (
    KnownFault(
        138407,
        "drops names of claims from pod status again and again where a pod has two templates",
        "no action needed where dragoman's operator runs: it completes the status",
        _pods_with_two_templates,
        r"resourceClaimStatuses` could flap between partial lists",
    ),
    KnownFault(
        141274,
        "reserves a shared claim again for pods that have ended",
        "delete ended pods that name a shared claim, or upgrade to 1.38",
        _shared_claims_of_ended_pods,
        r"repeatedly restoring terminal Pod entries",
    ),
    KnownFault(
        135835,
        "creates the claims of a pod up to 1,000 s late where its template came after it",
        "apply templates before pods, or run dragoman's operator",
        _missing_templates,
        unnoted={(1, 36): 0},
    ),
    KnownFault(
        136450,
        "never releases a claim that something other than a pod reserves",
        "upgrade to 1.36, or run dragoman's operator",
        _other_consumers,
        r"unknown \(non-pod\) references",
    ),
    KnownFault(
        134311,
        "keeps devices of extended resources until the pod is deleted, also after it ended",
        "delete ended pods, upgrade to 1.35, or run dragoman's operator",
        _extended_claims,
        r"claims deallocation for extended resource when Pod completes",
    ),
    KnownFault(
        141290,
        "never evicts pods that got a device with taint NoExecute as an extended resource",
        "delete these pods, or upgrade to 1.37.2",
        _extended_on_tainted,
        r"did not evict pods using DRA-backed extended resources",
    ),
    KnownFault(
        141212,
        "stops at a pod where a device's nodeSelector has several terms",
        "update the driver, so that it publishes one term",
        _selectors_with_terms,
    ),
    KnownFault(
        141829,
        "stops at a pod that wants all devices while any pool of a node is incomplete or invalid",
        "repair the pools that `kubectl dra top` names, or ask for a number of devices",
        _all_of_broken_pools,
        r"`AllocationMode: All` requests when a resource pool on a candidate node is incomplete",
    ),
    KnownFault(
        140434,
        "counts shared counters of drivers together where their pools have one name",
        "upgrade to 1.36.4 or 1.37",
        _pools_of_one_name,
        r"shared-counter caches by pool name",
    ),
    KnownFault(
        131730,
        "searches through every permutation where a claim wants many devices that do not fit",
        "ask for fewer devices in one claim, or for allocationMode All",
        _large_requests,
    ),
    KnownFault(
        141422,
        "taints every device of the cluster by a DeviceTaintRule without spec.deviceSelector",
        "name a driver, pool or device in spec.deviceSelector, or upgrade to 1.37.1",
        _empty_rules,
        r"DeviceTaintRule with no `spec\.deviceSelector`",
    ),
    KnownFault(
        143376,
        "evicts pods in spite of a toleration without effect, which covers NoExecute",
        "write effect: NoExecute, or upgrade to 1.38",
        _ignored_tolerations,
        r"ignoring a DeviceToleration with an empty effect",
    ),
    KnownFault(
        140798,
        "gives a device that is shared no more to a claim while others hold shares of it",
        "let the driver publish allowMultipleAllocations while shares are held, or upgrade to 1.38",
        _shares_of_exclusive_devices,
        r"live shared allocation could also be allocated exclusively",
    ),
    KnownFault(
        141110,
        "may take an old class for an extended resource that several classes name",
        "name each extended resource in one class, or upgrade to 1.38",
        _classes_of_one_resource,
        r"multiple DeviceClasses use the same extended resource name",
    ),
)
"""By issue; docs/generate_faults.py reads the releases with a fix."""
