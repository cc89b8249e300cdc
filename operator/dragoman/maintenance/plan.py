"""The next writes of a drain or hold, from what the cluster has now.

Level-driven: the same facts give the same plan, whichever process asks and however often it was
interrupted; an empty plan without remaining pods means that the devices are out of service.

A rule keeps new claims away at once. A held claim is allocated only while no other claim has the
whole device: kube-scheduler keeps allocated devices as a set without counts (`allocatedDevices` of
its plugin dynamicresources), so the release of the other claim would free the device for it
although the held claim still has it. Where the scheduler had already chosen the device when the
held claim was written, both have it: the held claim is marked, and allocated again after the other
claim is released.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.maintenance.actions import (
    Action,
    Allocate,
    CreateHeldClaim,
    CreateTaintRule,
    EvictionMode,
    EvictPod,
    MarkOverlap,
    Reallocate,
)
from dragoman.maintenance.holds import HOLD_TAINT, Hold, HoldIndex, HoldKind, HoldSelector
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.claim import Claim
from dragoman.model.deviceid import DeviceID
from dragoman.model.pod import Pod
from dragoman.model.taints import Taint


@dataclass(frozen=True, slots=True)
class MaintenanceFacts:
    """What a plan is computed from."""

    devices: tuple[DeviceID, ...]  # The target
    kind: HoldKind  # How devices are held
    selectors: tuple[HoldSelector, ...]  # What rules select, for the target
    holds: tuple[Hold, ...]  # All holds of the cluster
    claims: tuple[Claim, ...]  # Allocated claims that have one of the devices, held claims left out
    pods: Mapping[str, Pod] = field(default_factory=dict)  # Pods by UID, as far as claims name them
    evict: EvictionMode = EvictionMode.NEVER  # What happens to pods
    began: str = ""  # When the drain began, as an API timestamp of the server; empty for a preview
    maintenance: str = ""  # Name of the DeviceMaintenance that asks; empty for a command
    # Whether pods without a controller are evicted as well: nothing replaces them
    unmanaged: bool = True


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """The next writes, and what is still missing."""

    actions: tuple[Action, ...]  # In order; holds before evictions
    unheld: tuple[DeviceID, ...]  # Devices that new claims can still get
    busy: tuple[DeviceID, ...]  # Devices that claims have, without admin access
    claims: tuple[Claim, ...] = ()  # Claims that have them
    pods: tuple[Pod, ...] = ()  # Pods that use those claims, also those that end already
    # Claims that came after the hold because they tolerate its taint; their pods are not evicted,
    # because they would come back
    tolerating: tuple[str, ...] = ()
    # Pods, as `namespace/name`, that were created since the drain began and use a claim that was
    # allocated before. They are not evicted: their replacements would take their places, and the
    # claim would keep its device all the same.
    returning: tuple[str, ...] = ()
    # Pods, as `namespace/name`, that stay because no controller replaces them
    unmanaged: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether no new claim can get a device."""
        return not self.unheld

    @property
    def idle(self) -> bool:
        """Whether no claim has a device."""
        return not self.busy


def plan(facts: MaintenanceFacts) -> MaintenancePlan:
    """Return the next writes for a target."""
    owners = _owners(facts)
    holding, unheld = _holding(facts, owners)
    claims = _claims(owners)
    pods = {
        pod.metadata.uid: pod
        for claim in claims.values()
        for pod in users(claim, facts.pods)
        if not pod.done
    }
    return MaintenancePlan(
        actions=(*holding, *(() if _blocking(holding) else evictions(facts))),
        unheld=unheld,
        busy=tuple(device for device in facts.devices if owners[device]),
        claims=tuple(claims.values()),
        pods=tuple(pods.values()),
        tolerating=tuple(sorted(_tolerating(facts, owners))),
        returning=tuple(
            sorted(
                {
                    f"{pod.metadata.namespace}/{pod.metadata.name}"
                    for claim in claims.values()
                    for pod in users(claim, facts.pods)
                    if not pod.done and _returns(facts, claim, pod)
                }
            )
        ),
        unmanaged=unmanaged(facts),
    )


def evictions(facts: MaintenanceFacts) -> tuple[EvictPod, ...]:
    """Return the evictions that the target needs once its devices are held, in order."""
    found = _evictable(facts)
    return tuple(one for one, pod in found.items() if facts.unmanaged or pod.metadata.owner)


def unmanaged(facts: MaintenanceFacts) -> tuple[str, ...]:
    """Return the pods, as `namespace/name`, that stay because no controller replaces them.

    As in `kubectl drain`, whose --force evicts them: pods without an ownerReference that has
    `controller: true`, unless they have ended.
    """
    if facts.unmanaged:
        return ()
    return tuple(one.key for one, pod in _evictable(facts).items() if not pod.metadata.owner)


def _evictable(facts: MaintenanceFacts) -> dict[EvictPod, Pod]:
    if facts.evict is EvictionMode.NEVER:
        return {}
    owners = _owners(facts)
    claims, later = _claims(owners), _tolerating(facts, owners)
    found: dict[EvictPod, Pod] = {}
    for key in sorted(claims.keys() - later):
        for pod in users(claims[key], facts.pods):
            ends = pod.done or pod.metadata.deleting
            if not ends and not _returns(facts, claims[key], pod):
                now = facts.evict is EvictionMode.NOW
                metadata = pod.metadata
                found[EvictPod(metadata.namespace, metadata.name, metadata.uid, now)] = pod
    return found


def users(claim: Claim, pods: Mapping[str, Pod]) -> Iterator[Pod]:
    """Yield the pods that a claim is reserved for, directly or through their PodGroup."""
    consumers = claim.consumers
    for consumer in consumers:
        if consumer.is_pod and consumer.uid in pods:
            yield pods[consumer.uid]
    groups = {consumer.name for consumer in consumers if consumer.is_pod_group}
    if not groups:
        return
    metadata = claim.metadata
    for pod in pods.values():
        if pod.metadata.namespace != metadata.namespace or pod.group_name not in groups:
            continue
        if metadata.name in pod.claim_names():
            yield pod


_TAINT = Taint(HOLD_TAINT.key, HOLD_TAINT.effect)
_Owners = Mapping[DeviceID, Sequence[tuple[Claim, AllocatedDevice]]]


def _owners(facts: MaintenanceFacts) -> _Owners:
    """Return who has each device; admin access takes nothing away."""
    found: dict[DeviceID, list[tuple[Claim, AllocatedDevice]]] = {one: [] for one in facts.devices}
    for claim in facts.claims:
        for result in claim.devices:
            if result.id in found and not result.admin:
                found[result.id].append((claim, result))
    return found


def _claims(owners: _Owners) -> dict[str, Claim]:
    return {claim.key: claim for found in owners.values() for claim, _ in found}


def _tolerating(facts: MaintenanceFacts, owners: _Owners) -> set[str]:
    rules = HoldIndex(one for one in facts.holds if one.kind is HoldKind.RULE and _is_hold(one))
    return {
        claim.key
        for found in owners.values()
        for claim, result in found
        if _came_later(rules, claim, result)
    }


def _holding(
    facts: MaintenanceFacts, owners: _Owners
) -> tuple[tuple[Action, ...], tuple[DeviceID, ...]]:
    """Return the writes that hold devices, and the devices that are not held yet."""
    active = HoldIndex(hold for hold in facts.holds if _is_hold(hold))
    selectors = frozenset(facts.selectors)
    actions: dict[Action, None] = {}
    unheld = []
    for device in facts.devices:
        covering = active.of(device)
        rule = any(one.kind is HoldKind.RULE for one in covering)
        claims = [one for one in covering if one.kind is HoldKind.CLAIM]
        claim = next((one for one in claims if one.allocated), claims[0] if claims else None)
        # A held claim is kept in order even beside a rule: the scheduler counts on it.
        whole = any(not result.share for _, result in owners[device])
        step = (
            _claim_step(claim, device, whole=whole)
            if claim or facts.kind is HoldKind.CLAIM
            else None
        )
        # The hold of another DeviceMaintenance, or of a command, may end at any time.
        own = any(one.maintenance == facts.maintenance for one in covering)
        if facts.kind is HoldKind.RULE and not own:
            step = CreateTaintRule(_selector(selectors, device))
        if step is not None:
            actions[step] = None
        kept = claim is not None and claim.allocated and not claim.overlapped and not whole
        if not (rule or kept):
            unheld.append(device)
    return tuple(actions), tuple(unheld)


def _is_hold(hold: Hold) -> bool:
    """Whether an object is a hold of this package: a foreign rule may be removed at any time."""
    if hold.kind is HoldKind.CLAIM:
        return True
    return hold.managed and hold.taint == HOLD_TAINT


def _claim_step(hold: Hold | None, device: DeviceID, *, whole: bool) -> Action | None:
    if hold is None:
        # Created early, so that one PATCH suffices as soon as the device is released.
        return CreateHeldClaim(device)
    if not hold.allocated:
        return None if whole else Allocate(hold, device)
    if whole:
        return None if hold.overlapped else MarkOverlap(hold)
    return Reallocate(hold, device) if hold.overlapped else None


def _selector(selectors: Collection[HoldSelector], device: DeviceID) -> HoldSelector:
    whole = HoldSelector(device.driver, device.pool)
    return whole if whole in selectors else HoldSelector(*device)


def _blocking(holding: Sequence[Action]) -> bool:
    """Whether an eviction must wait: a rule that does not exist yet keeps no replacement away."""
    return any(isinstance(action, CreateTaintRule | CreateHeldClaim) for action in holding)


def _came_later(rules: HoldIndex, claim: Claim, result: AllocatedDevice) -> bool:
    """Whether a claim got its device after the rule, because it tolerates the taint."""
    created = [hold.created for hold in rules.of(result.id)]
    return bool(created) and claim.since > min(created) and _tolerates(result)


def _returns(facts: MaintenanceFacts, claim: Claim, pod: Pod) -> bool:
    """Whether a pod was placed again on a claim that had its device before the drain.

    kube-scheduler places pods on an allocated claim whatever taints its devices have. Without the
    time of the allocation, the claim may as well have got the device since.
    """
    if not (facts.began and claim.allocated_at):
        return False
    return claim.allocated_at <= facts.began < pod.metadata.created


def _tolerates(result: AllocatedDevice) -> bool:
    """Whether the claim accepted the taint of holds, with or without seconds."""
    return any(one.tolerates(_TAINT) for one in result.tolerations)
