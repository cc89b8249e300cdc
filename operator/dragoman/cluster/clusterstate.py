"""The stores of what claims need, and since when states hold."""

from collections.abc import Callable, Iterator

from dragoman import surroundings
from dragoman.kube.store import DeletedUIDs, OwnWrites, Store
from dragoman.model.claim import Claim
from dragoman.model.holder import ClaimHolder
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template

LONG_AGO = float("-inf")


class Since:
    """Remembers, by UID, since when states hold; nothing about those that do not.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = surroundings.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, dict[str, tuple[str, float]]] = {}

    def elapsed(self, uid: str, state: str, *, holds: bool, version: str = "") -> float:
        """Return for how many seconds a state has held; 0 when it does not.

        Args:
            uid: Of the object.
            state: A name for the state.
            holds: Whether it holds now.
            version: Another version is another state, which begins now.
        """
        if not holds:
            states = self._since.get(uid)
            if states is not None and states.pop(state, None) is not None and not states:
                del self._since[uid]
            return 0.0
        states = self._since.setdefault(uid, {})
        known, since = states.get(state, (None, 0.0))
        if known != version:
            since = self._clock()
            states[state] = (version, since)
        return self._clock() - since

    def began_long_ago(self, uid: str, state: str, version: str) -> None:
        """Take a state as old from its beginning, because its cause is known."""
        self._since.setdefault(uid, {})[state] = (version, LONG_AGO)

    def forget(self, uid: str) -> None:
        """Forget an object."""
        self._since.pop(uid, None)


class ClusterState:
    """All facts that the life-cycle of claims needs.

    Args:
        groups_served: Whether the API server has PodGroups.
    """

    def __init__(self, *, groups_served: bool = False) -> None:
        self.groups_served = groups_served
        self.deleted = DeletedUIDs()
        self.times = Since()
        self.own_writes = OwnWrites()
        self.pods: Store[Pod] = Store(
            self.deleted, claim=_claims, template=_templates, group=_group
        )
        self.claims: Store[Claim] = Store(self.deleted, owner=_owner, twin=_twin)
        self.templates: Store[Template] = Store(self.deleted)
        self.groups: Store[PodGroup] = Store(self.deleted, claim=_claims, template=_templates)

    def index_devices(self) -> None:
        """Find claims by the devices that they were allocated, and those that hold devices."""
        self.claims.index(device=_devices, hold=holds_of)

    def get(self, kind: str, namespace: str, name: str) -> Claim | Pod | PodGroup | None:
        """Return the stored `claim`, `pod` or `podgroup` of a name, or None."""
        if kind == "claim":
            return self.claims.get(namespace, name)
        return (self.pods if kind == "pod" else self.groups).get(namespace, name)

    def roll_back(self) -> None:
        """Trust the next lists in everything: etcd was restored from a backup."""
        self.own_writes.clear()
        for store in (self.pods, self.claims, self.templates, self.groups):
            store.roll_back()


def _claims(holder: ClaimHolder) -> Iterator[tuple[str, str]]:
    return ((holder.metadata.namespace, name) for name in holder.claim_names())


def _templates(holder: ClaimHolder) -> Iterator[tuple[str, str]]:
    return ((holder.metadata.namespace, name) for name in holder.template_names())


def _group(pod: Pod) -> tuple[tuple[str, str], ...]:
    return ((pod.metadata.namespace, pod.group_name),) if pod.group_name else ()


def _devices(claim: Claim) -> Iterator[tuple[str, str, str]]:
    return (device.id for device in claim.devices)


def holds_of(claim: Claim) -> tuple[str, ...]:
    """Return the keys of an index of claims that have the name of a held one."""
    return ("",) if claim.hold is not None else ()


def _twin(claim: Claim) -> tuple[tuple[str, str, str | None], ...]:
    return tuple((*owner, claim.entry) for owner in _owner(claim))


def _owner(claim: Claim) -> tuple[tuple[str, str], ...]:
    # By namespace as well: owner references name a UID, which anyone may write anywhere.
    owner = claim.metadata.owner
    return ((claim.metadata.namespace, owner.uid),) if owner is not None else ()
