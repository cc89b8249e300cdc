"""Worlds made of objects, and a checker that refuses what no API server could hold."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dragoman.model.claim import RESERVED_FOR_LIMIT, Claim
from dragoman.model.holder import ClaimHolder
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template
from tests.unit.dragoman.claims.objects import Object, fact


class ImpossibleWorldError(ValueError):
    """A test describes what cannot be; the message says which rule it breaks."""


@dataclass(frozen=True)
class ClusterState:
    """Everything in the API server that claims have to do with.

    Attributes:
        objects: The objects.
        gone: UIDs of objects that were deleted.
        groups_served: Whether the API server has PodGroups.
    """

    objects: tuple[Object, ...] = ()
    deleted: frozenset[str] = frozenset()
    groups_served: bool = True


def world(
    *objects: Object, deleted: Iterable[str] = (), groups_served: bool = True
) -> ClusterState:
    """Return a world; raise ImpossibleWorldError when no API server could hold it."""
    made = ClusterState(objects, frozenset(deleted), groups_served)
    check(made)
    return made


def check(world: ClusterState) -> None:
    """Raise ImpossibleWorldError naming all rules that a world breaks."""
    scene = Scene.of(world)
    broken = [problem for rule in RULES for problem in rule(scene)]
    if broken:
        raise ImpossibleWorldError("; ".join(broken))


@dataclass(frozen=True)
class Scene:
    """The facts of a world, and who lives in it."""

    facts: tuple[Pod | Claim | Template | PodGroup, ...]
    deleted: frozenset[str]
    groups_served: bool

    @classmethod
    def of(cls, world: ClusterState) -> "Scene":
        """Parse the objects of a world."""
        return cls(tuple(map(fact, world.objects)), world.deleted, world.groups_served)

    @property
    def claims(self) -> Iterator[Claim]:
        return (found for found in self.facts if isinstance(found, Claim))

    @property
    def holders(self) -> Iterator[Pod | PodGroup]:
        return (found for found in self.facts if isinstance(found, Pod | PodGroup))

    def alive(self, uid: str) -> Pod | Claim | Template | PodGroup | None:
        return next((found for found in self.facts if found.metadata.uid == uid), None)


Rule = Callable[[Scene], Iterator[str]]


def _identities_are_unique(scene: Scene) -> Iterator[str]:
    uids = Counter(found.metadata.uid for found in scene.facts)
    yield from (f"two objects have the UID {uid}" for uid, count in uids.items() if count > 1)
    places = Counter(
        (type(found).__name__, found.metadata.namespace, found.metadata.name)
        for found in scene.facts
    )
    yield from (f"two objects are {place}" for place, count in places.items() if count > 1)


def _the_gone_are_gone(scene: Scene) -> Iterator[str]:
    for uid in sorted(scene.deleted):
        if scene.alive(uid) is not None:
            yield f"{uid} is gone and there at once"


def _entries_have_names_of_their_own(scene: Scene) -> Iterator[str]:
    for holder in scene.holders:
        names = Counter(entry.name for entry in holder.entries)
        for name, count in names.items():
            if count > 1:
                yield f"{holder.metadata.name}: two entries have the name {name}"
        for entry in holder.entries:
            if entry.claim_name is not None and entry.template_name is not None:
                yield f"{holder.metadata.name}: {entry.name} names a claim and a template"


def _statuses_name_entries(scene: Scene) -> Iterator[str]:
    for holder in scene.holders:
        entries = {entry.name for entry in holder.entries}
        for name in holder.published:
            if name not in entries:
                yield f"{holder.metadata.name}: the status names {name}, the spec does not"


def _owners_live_or_are_gone(scene: Scene) -> Iterator[str]:
    for claim in scene.claims:
        owner = claim.metadata.owner
        if owner is None or owner.uid in scene.deleted:
            continue
        found = scene.alive(owner.uid)
        if found is None:
            yield f"{claim.metadata.name}: its owner {owner.uid} never was"
        elif found.metadata.namespace != claim.metadata.namespace:
            yield f"{claim.metadata.name}: its owner is in another namespace"
        elif claim.entry is not None and claim.entry not in _entry_names(found):
            yield f"{claim.metadata.name}: its owner has no entry {claim.entry}"


def _entry_names(found: object) -> set[str]:
    return {entry.name for entry in found.entries} if isinstance(found, ClaimHolder) else set()


def _reservations_need_devices(scene: Scene) -> Iterator[str]:
    for claim in scene.claims:
        if claim.consumers and not claim.allocated:
            yield f"{claim.metadata.name}: reserved without an allocation"


def _reservations_are_few_and_unique(scene: Scene) -> Iterator[str]:
    for claim in scene.claims:
        uids = {consumer.uid for consumer in claim.consumers}
        if len(claim.consumers) > RESERVED_FOR_LIMIT:
            yield f"{claim.metadata.name}: more than {RESERVED_FOR_LIMIT} consumers"
        if len(uids) < len(claim.consumers):
            yield f"{claim.metadata.name}: one consumer twice"


def _consumers_live_or_are_gone(scene: Scene) -> Iterator[str]:
    for claim in scene.claims:
        for consumer in claim.consumers:
            known = consumer.is_pod or (consumer.is_pod_group and scene.groups_served)
            if known and consumer.uid not in scene.deleted and scene.alive(consumer.uid) is None:
                yield f"{claim.metadata.name}: its consumer {consumer.uid} never was"


def _only_finalizers_keep_what_is_deleted(scene: Scene) -> Iterator[str]:
    for claim in scene.claims:
        if claim.metadata.deleting and not claim.finalizers:
            yield f"{claim.metadata.name}: deleted, and nothing keeps it"


def _groups_are_served(scene: Scene) -> Iterator[str]:
    if not scene.groups_served and any(isinstance(found, PodGroup) for found in scene.facts):
        yield "a PodGroup where none are served"


RULES: tuple[Rule, ...] = (
    _identities_are_unique,
    _the_gone_are_gone,
    _entries_have_names_of_their_own,
    _statuses_name_entries,
    _owners_live_or_are_gone,
    _reservations_need_devices,
    _reservations_are_few_and_unique,
    _consumers_live_or_are_gone,
    _only_finalizers_keep_what_is_deleted,
    _groups_are_served,
)
