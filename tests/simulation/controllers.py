"""Controllers of kube-controller-manager: the garbage collector, and that of claims."""

from typing import TYPE_CHECKING, Any

from tests.simulation.actors import Actor
from tests.simulation.objects import (
    ENTRY,
    FINALIZER,
    Json,
    Key,
    claim_name,
    deleting,
    done,
    entries_of,
    entry_of,
    finished,
    is_for,
    owner_of,
    reserved_for,
    uid_of,
)
from tests.simulation.rules import Refusal
from tests.simulation.server import BUILT_IN

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


OWNERS = ("pods", "devicemaintenances")
OWNED = ("resourceclaims", "devicetaintrules")


class Collector(Actor):
    """The garbage collector: objects whose owner is gone, by UID, after a live look."""

    name = "generic-garbage-collector"

    def __init__(self, sim: "Simulation") -> None:
        super().__init__(sim)
        sim.server.observers.append(self._observe)

    def _observe(self, commit: Any) -> None:
        delay = self.sim.profile.collection
        if commit.plural in OWNERS and commit.kind == "DELETED":
            self.loop.world_later(delay(self.chance), self._collect, uid_of(commit.new))
        if commit.plural in OWNED and commit.kind == "ADDED":
            for owner in commit.new["metadata"].get("ownerReferences") or ():
                self.loop.world_later(delay(self.chance), self._collect, owner["uid"])

    def _collect(self, uid: str) -> None:
        owners = (one for plural in OWNERS for one in self.server.of(plural).values())
        if self.sim.over or any(uid_of(one) == uid for one in owners):
            return  # it lives, or a restored backup brought it back
        for plural in OWNED:
            for key, one in sorted(self.server.of(plural).items()):
                uids = {owner["uid"] for owner in one["metadata"].get("ownerReferences") or ()}
                if uid in uids and not deleting(one):
                    options = {"preconditions": {"uid": uid_of(one)}}
                    self.attempt(self.server.delete, self.name, plural, *key, options)


class ClaimController(Actor):
    """The built-in claim controller, as far as `assist` and `auto` meet it.

    It generates names, keeps a cache of its own creations, publishes late and without
    precondition. It may sleep, and forget pods.

    Args:
        sim: The simulation.
        forgets: How often it forgets a pod, 0 to 1.
    """

    name = BUILT_IN

    def __init__(self, sim: "Simulation", forgets: float = 0.0) -> None:
        super().__init__(sim, "pods", "resourceclaims", "resourceclaimtemplates")
        self.forgets, self.asleep = forgets, False
        self._forgotten: set[str] = set()
        self._made: dict[tuple[str, str], str] = {}

    def reset(self) -> None:
        """List again after etcd was restored."""
        self.view.reset()
        self.wake()

    def sleep(self, seconds: float) -> None:
        """Do nothing for a while."""
        self.asleep = True
        self.loop.world_later(seconds, self.awake)

    def awake(self) -> None:
        """Continue."""
        self.asleep = False
        self.wake()

    def step(self) -> None:
        if self.asleep:
            return
        self.view.catch_up(self.lag())
        for key, pod in sorted(self.view.of("pods").items()):
            if not deleting(pod) and not finished(pod) and uid_of(pod) not in self._forgotten:
                self._create(key, pod)
        for key, claim in sorted(self.view.of("resourceclaims").items()):
            self._release(key, claim)

    def _create(self, key: Key, pod: Json) -> None:
        missing: dict[str, str] = {}
        claims = self.view.of("resourceclaims")
        for entry in entries_of(pod):
            wanted = str(entry.get("resourceClaimTemplateName") or "")
            template = self.view.of("resourceclaimtemplates").get((key[0], wanted))
            if not wanted or template is None or (key[0], claim_name(pod, entry)) in claims:
                continue
            if self.forgets and self.chance.random() < self.forgets:
                self._forgotten.add(uid_of(pod))
                break
            missing[entry["name"]] = self._made_for(key, pod, entry["name"], template)
        if missing:
            status = [{"name": one, "resourceClaimName": name} for one, name in missing.items()]
            self.later(0.005, 0.5, self._publish, key, uid_of(pod), status)

    def _made_for(self, key: Key, pod: Json, entry: str, template: Json) -> str:
        uid = uid_of(pod)
        if (uid, entry) in self._made:
            return self._made[uid, entry]
        for place, claim in sorted(self.view.of("resourceclaims").items()):
            if is_for(claim, pod) and entry_of(claim) == entry:
                return place[1]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": key[1], "uid": uid}
        metadata = {
            "generateName": f"{key[1]}-{entry}-",
            "annotations": {ENTRY: entry},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        body = {"metadata": metadata, "spec": template["spec"]["spec"]}
        made = self.server.create(self.name, "resourceclaims", key[0], body)
        self._made[uid, entry] = name = str(made["metadata"]["name"])
        return name

    def _publish(self, key: Key, uid: str, status: list[Json]) -> None:
        if not self.asleep and not self.sim.over:
            patch = {"metadata": {"uid": uid}, "status": {"resourceClaimStatuses": status}}
            self.attempt(self.server.patch, self.name, "pods", *key, patch, "strategic", "status")

    def _release(self, key: Key, claim: Json) -> None:
        reserved, pods = reserved_for(claim), self.server.of("pods")
        live = [
            one
            for one in reserved
            if one["resource"] != "pods"
            or (
                (pod := pods.get((key[0], one["name"]))) is not None
                and uid_of(pod) == one["uid"]
                and not done(pod)
            )
        ]
        try:
            claim = self._unreserve(key, claim, reserved, live)
        except Refusal:
            self.wake(0.5)
            return
        owner = owner_of(claim)
        if owner is None or live or deleting(claim):
            return
        pod = pods.get((key[0], owner["name"]))
        if pod is not None and uid_of(pod) == owner["uid"] and finished(pod):
            options = {"preconditions": {"uid": uid_of(claim)}}
            self.attempt(self.server.delete, self.name, "resourceclaims", *key, options)

    def _unreserve(self, key: Key, claim: Json, reserved: list[Json], live: list[Json]) -> Json:
        def update(new: Json, subresource: str = "") -> Json:
            return self.server.update(self.name, "resourceclaims", *key, lambda _: new, subresource)

        if len(live) != len(reserved):
            status = {**claim["status"], "reservedFor": live} if live else {}
            claim = update({**claim, "status": status}, "status")
        if (
            not live
            and deleting(claim)
            and FINALIZER in (claim["metadata"].get("finalizers") or ())
        ):
            if (claim.get("status") or {}).get("allocation"):
                claim = update({**claim, "status": {}}, "status")
            claim = update({**claim, "metadata": {**claim["metadata"], "finalizers": []}})
        return claim
