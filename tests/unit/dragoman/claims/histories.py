"""Random worlds, and random things that happen in them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from dragoman.claims.naming import claim_name
from tests.unit.dragoman.claims.model_server import Place, Server
from tests.unit.dragoman.claims.objects import (
    NAMESPACE,
    ClaimObject,
    HolderObject,
    Object,
    PodObject,
    claim,
    foreign_consumer,
    group,
    pod,
    reservation,
    template,
)
from tests.unit.dragoman.claims.worlds import ClusterState, world

TEMPLATES = ("t0", "t1")
SHARED = ("shared-0", "shared-1")
ENTRIES = ("gpu", "nic", "fpga")


@dataclass
class Author:
    """Draws a world object by object, so that each refers only to what there is or was.

    Attributes:
        draw: Where choices come from.
        objects: What there is, by place.
        gone: UIDs of what there was.
    """

    draw: st.DrawFn
    objects: dict[Place, Object] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def chance(self, percent: int = 50) -> bool:
        """Draw whether something is so; false is simpler."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def put(self, found: Object) -> None:
        self.objects[Place.of(found.document)] = found

    def write(self, *, groups: bool) -> ClusterState:
        """Return a world of some templates, shared claims, pods and PodGroups."""
        for name in TEMPLATES:
            if self.chance(75):
                self.put(template(name))
        holders: list[HolderObject] = []
        if groups and self.chance():
            holders.append(self._holder(group("team")))
        count = self.draw(st.integers(1, 3))
        holders += [self._pod(i, grouped=groups and self.chance(30)) for i in range(count)]
        holders = [self._with_claims(holder) for holder in holders]
        for holder in holders:
            self._live_or_die(holder)
        self._share([holder for holder in holders if isinstance(holder, PodObject)])
        return world(*self.objects.values(), deleted=self.deleted, groups_served=groups)

    def _holder(self, holder: HolderObject) -> HolderObject:
        for entry in ENTRIES[: self.draw(st.integers(0, 3))]:
            if self.chance(30):
                holder = holder.using(entry, claim=self.draw(st.sampled_from(SHARED)))
            else:
                holder = holder.using(entry, template=self.draw(st.sampled_from(TEMPLATES)))
        return holder

    def _pod(self, index: int, *, grouped: bool) -> PodObject:
        made = self._holder(pod(f"pod-{index}", uid=f"uid-{index}"))
        assert isinstance(made, PodObject)
        if grouped:
            made = made.in_group("team")
        phase = self.draw(st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]))
        if phase == "Running" or self.chance():
            made = made.on("node")
        made = made.in_phase(phase)
        return made.deleting() if self.chance(15) else made

    def _with_claims(self, holder: HolderObject) -> HolderObject:
        for entry in holder.document["spec"].get("resourceClaims") or ():
            if "resourceClaimTemplateName" not in entry:
                continue
            kind = self.draw(
                st.sampled_from(["nothing", "published", "orphaned", "lost", "null", "foreign"])
            )
            holder = self._bound(holder, entry["name"], kind)
        return holder

    def _bound(self, holder: HolderObject, entry: str, kind: str) -> HolderObject:
        ours = claim_name(owner=holder.name, owner_uid=holder.uid, entry=entry)
        name = ours if self.chance(70) else f"{holder.name}-{entry}-other"
        if kind in {"published", "orphaned"}:
            made = claim(name, uid=f"uid-of-{name}").generated_for(holder, entry)
            self.put(self._used(made, holder))
        if kind == "foreign":
            self.put(claim(ours, uid=f"uid-foreign-{ours}"))
        named = {"published": name, "lost": name, "null": None, "foreign": ours}
        return holder.bound(entry, named[kind]) if kind in named else holder

    def _used(self, made: ClaimObject, holder: HolderObject) -> ClaimObject:
        if self.chance():
            made = made.allocated()
            if self.chance():
                made = made.reserved_for(holder)
        elif self.chance(20):
            made = made.protected()
        if made.document["metadata"].get("finalizers") and self.chance(10):
            made = made.deleting()
        return made

    def _live_or_die(self, holder: HolderObject) -> None:
        if self.chance(15):
            self.deleted.add(holder.uid)
            if self.chance() and isinstance(holder, PodObject):
                self.put(pod(holder.name, uid=f"{holder.uid}-again").using("gpu", template="t0"))
        else:
            self.put(holder)

    def _share(self, pods: list[PodObject]) -> None:
        for name in SHARED:
            if self.chance(25):
                continue
            made = claim(name)
            consumers = [reservation(user) for user in pods if self.chance(40)]
            if self.chance(20):
                consumers.append(foreign_consumer())
            if consumers or self.chance():
                made = made.allocated() if self.chance(80) else made.allocated_by_others()
            elif self.chance(20):
                made = made.protected()
            self.put(made.reserved_for(*consumers))


@st.composite
def worlds(draw: st.DrawFn, *, groups: bool = True) -> ClusterState:
    """Return worlds that an API server could hold, tidy or not."""
    return Author(draw).write(groups=groups)


def disturb(server: Server, data: st.DataObject) -> str:
    """Let one thing happen in the cluster; returns what."""
    pods = sorted(place for place in server.stored if place.plural == "pods")
    claims = sorted(place for place in server.stored if place.plural == "resourceclaims")
    choices = {
        "nothing": [Place("", "", "")],
        "pod runs": pods,
        "pod ends": pods,
        "pod goes": pods,
        "claim is deleted": claims,
        "claim is allocated": claims,
        "template comes": [Place("resourceclaimtemplates", NAMESPACE, name) for name in TEMPLATES],
        "template goes": [place for place in server.stored if "templates" in place.plural],
        "garbage is collected": [Place("", "", "")],
    }
    happening = data.draw(st.sampled_from([name for name, places in choices.items() if places]))
    place = data.draw(st.sampled_from(choices[happening]))
    HAPPENINGS[happening](server, place)
    return f"{happening}: {place.name}"


def _run(server: Server, place: Place) -> None:
    if server.get(place)["status"].get("phase") == "Pending":
        server.change(place, lambda found: found.on("node").in_phase("Running"))


def _end(server: Server, place: Place) -> None:
    server.change(place, lambda found: found.in_phase("Succeeded"))


def _go(server: Server, place: Place) -> None:
    server.remove(place)


def _delete(server: Server, place: Place) -> None:
    server.mark_deleted(place)


def _allocate(server: Server, place: Place) -> None:
    stored = server.get(place)
    going = "deletionTimestamp" in stored["metadata"]
    if not going and (stored.get("status") or {}).get("allocation") is None:
        kept = {"resource.kubernetes.io/delete-protection"}
        names = sorted(kept | set(stored["metadata"].get("finalizers") or ()))
        server.change(
            place,
            lambda found: found.changed("metadata", "finalizers", to=names).allocated_by_others(),
        )


def _template_comes(server: Server, place: Place) -> None:
    if place not in server.stored:
        server.add(template(place.name).changed("metadata", "uid", to=f"uid-{len(server.events)}"))


HAPPENINGS: dict[str, Callable[[Server, Place], None]] = {
    "nothing": lambda *_: None,
    "pod runs": _run,
    "pod ends": _end,
    "pod goes": _go,
    "claim is deleted": _delete,
    "claim is allocated": _allocate,
    "template comes": _template_comes,
    "template goes": _go,
    "garbage is collected": lambda server, _: server.collect_garbage(),
}
