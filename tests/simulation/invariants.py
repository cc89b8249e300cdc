"""What must hold at every request and every commit."""

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import orjson

from dragoman.kube.http.request import Request
from dragoman.kube.informer import Informer
from dragoman.kube.store import HasMetadata
from tests.simulation import maintenance
from tests.simulation.faults import WRITES
from tests.simulation.kubelet import Kubelet
from tests.simulation.objects import (
    FINALIZER,
    Device,
    Json,
    Key,
    claim_name,
    deleting,
    devices_of,
    done,
    entries_of,
    entry_of,
    finished,
    is_for,
    owner_of,
    reserved_for,
    tainted,
    uid_of,
)
from tests.simulation.server import Commit

if TYPE_CHECKING:
    from tests.simulation.replica import Replica
    from tests.simulation.simulation import Simulation

LEASES = "dragoman-system"
EQUAL_REQUESTS = (12, 0.5)
"""So many requests for one object within so many seconds are a storm."""
WRITES_TO_ONE = (30, 20.0)
"""So many writes to one object within so many seconds are a storm."""
TAINT_SEEN = 150.0
"""Seconds for which an eviction has a reason after its taint has gone."""
WRITTEN_BY = {
    "evictions": {"devicetaintrules"},
    "maintenance": {"devicemaintenances", "devicetaintrules"},
    "preemption": {"devicepreemptions", "devicetaintrules"},
    "clustertemplates": {"clusterresourceclaimtemplates", "resourceclaimtemplates"},
}
"""What controllers write besides pods and claims."""
REASONS = frozenset({"devicetaintrules", "resourceslices", "devicemaintenances"})
"""What pods are evicted for."""
EVICTING = frozenset({"evictions", "maintenance", "preemption"})


class Invariants:
    """The invariants of commits and requests."""

    def __init__(self, sim: "Simulation") -> None:
        self.sim = sim
        self.last_write = 0.0
        self.writes = 0
        self.tainted_at: dict[Device, float] = {}
        self.urgent_at = float("-inf")  # When pods were last to be deleted whatever budgets say
        self.deleted_at: dict[tuple[str, Key], float] = {}
        self._tainted: set[Device] = set()
        self._urgent = False
        self._lease_at = float("-inf")
        self._asked: defaultdict[tuple[str, str, str], deque[float]] = defaultdict(
            lambda: deque(maxlen=EQUAL_REQUESTS[0])
        )
        self._written: defaultdict[tuple[str, Key], deque[float]] = defaultdict(
            lambda: deque(maxlen=WRITES_TO_ONE[0])
        )
        extra = (WRITTEN_BY.get(row, set()) for row in sim.rows)
        self._writable = {name for names in extra for name in names}

    # -- requests

    def sent(self, replica: "Replica", request: Request) -> None:
        """Check a request of a process."""
        sim, path = self.sim, request.target.partition("?")[0]
        if request.method not in WRITES or "/events" in path:
            return
        if "/leases" in path:
            replica.lease_sent = sim.now
            return
        # What is created has no name in the path.
        what = f"{path} {hash(request.body)}" if request.method == "POST" else path
        asked = self._asked[replica.name, request.method, what]
        asked.append(sim.now)
        if len(asked) == asked.maxlen and asked[-1] - asked[0] < EQUAL_REQUESTS[1]:
            sim.violate("storm", f"{len(asked)} times {request.method} {path} in a moment")
        late = sim.now - replica.renewed
        if sim.settings.leader_elect and late > sim.settings.renew_deadline + 1e-6:
            what = f"{replica.name} sent {request.method} {path}"
            sim.violate("lease", f"{what} {late:.2f} s after its last renewal")
        if "maintenance" in sim.rows:
            maintenance.asked(sim, request)

    def answered(self, replica: "Replica", request: Request, status: int, body: bytes) -> None:
        """Note when a process renewed its Lease."""
        path = request.target.partition("?")[0]
        if "/leases/dragoman" not in path and not path.endswith("/leases"):
            return
        if request.method in ("PUT", "POST") and status == 200:
            holder = orjson.loads(body)["spec"].get("holderIdentity")
            replica.renewed = replica.lease_sent if holder else float("-inf")

    def stored(
        self,
        replica: "Replica",
        informer: Informer[Any],
        old: HasMetadata | None,
        new: HasMetadata | None,
    ) -> None:
        """Check a change of a store: it never goes back in time, but with a restored etcd."""
        sim = self.sim
        if old is None or new is None or sim.restored > 0:
            return
        was, now = old.metadata, new.metadata
        if was.uid == now.uid and int(now.resource_version) < int(was.resource_version):
            versions = f"{was.resource_version} to {now.resource_version}"
            what = f"{replica.name} {informer.resource.plural} {now.namespace}/{now.name}"
            sim.violate("back", f"{what} went from version {versions}")

    def forget_lease(self) -> None:
        """Forget who held the Lease; a restored etcd does not know either."""
        self._lease_at = float("-inf")

    # -- commits

    def commit(self, commit: Commit) -> None:
        """Check a commit."""
        sim = self.sim
        if commit.plural == "leases" and commit.key[0] == LEASES:
            self._lease_written(commit)
        if commit.plural in ("events", "leases"):
            return
        sim.say(commit.actor, commit.verb, commit.kind, commit.plural, *commit.key, commit.rv)
        self.last_write = sim.now
        if commit.kind == "DELETED":
            self.deleted_at[commit.plural, commit.key] = sim.now
        if commit.plural in REASONS:
            self._note_reasons()
        if commit.actor.startswith("dragoman-"):
            self._own(commit)

    def containers(self, kubelet: Kubelet) -> None:
        """Check that containers of different claims do not share a device.

        Only a forced deletion may do that, and with safe release nothing may.
        """
        if not self.sim.safe:
            return
        holders: dict[Device, tuple[str, Key]] = {}
        for one in kubelet.running.values():
            for device, claim in one.devices:
                other = holders.setdefault(device, (claim, one.key))
                if other[0] != claim:
                    self.sim.violate("two-holders", f"{device}: {other[1]} and {one.key}")

    def _own(self, commit: Commit) -> None:
        sim = self.sim
        self.writes += 1
        times = self._written[commit.plural, commit.key]
        times.append(sim.now)
        if len(times) == times.maxlen and times[-1] - times[0] < WRITES_TO_ONE[1]:
            sim.violate("storm", f"{len(times)} writes to {commit.plural} {commit.key}")
        if commit.plural == "resourceclaims":
            self._claim_written(commit)
        elif commit.plural == "pods":
            self._pod_written(commit)
        elif commit.plural not in self._writable:
            sim.violate("foreign", f"{commit.actor} wrote {commit.plural} {commit.key}")
        elif "maintenance" in sim.rows:
            maintenance.written(sim, commit)

    def _note_reasons(self) -> None:
        """Note which devices pods may be evicted from."""
        server = self.sim.server
        slices, rules = server.of("resourceslices"), server.of("devicetaintrules")
        now = tainted(slices.values(), rules.values()) | maintenance.draining(self.sim)
        urgent, self._urgent = self._urgent, bool(maintenance.draining(self.sim, "Now"))
        if urgent or self._urgent:
            self.urgent_at = self.sim.now if not self._urgent else float("inf")
        for device in now | self._tainted:
            self.tainted_at[device] = self.sim.now
        self._tainted = now

    def _lease_written(self, commit: Commit) -> None:
        """Nobody takes a Lease before its holder has stopped."""
        sim = self.sim
        was = ((commit.old or {}).get("spec") or {}).get("holderIdentity")
        now = commit.new["spec"].get("holderIdentity")
        since = sim.now - self._lease_at
        if was and now and was != now and since < sim.settings.lease_duration - 1e-6:
            sim.violate("lease-stolen", f"{commit.actor} took it {since:.2f} s after a renewal")
        self._lease_at = sim.now
        if was != now:
            sim.say("lease", commit.actor if now else "released")

    # -- claims

    def _claim_written(self, commit: Commit) -> None:
        if commit.verb == "create":
            self._created(commit)
            return
        old, new = commit.old or {}, commit.new
        kept = {one["uid"] for one in reserved_for(new)}
        gone = [one for one in reserved_for(old) if one["uid"] not in kept]
        if commit.kind == "DELETED":
            gone = reserved_for(old)
        elif commit.verb == "delete":
            gone = []
        for one in gone:
            self._released(commit, one)
        if commit.verb == "delete":
            self._deleted(commit)
        elif commit.kind != "DELETED":
            self._changed(commit.key[1], old, new)
        else:
            self._finalizers(commit.key[1], old, new)

    def _created(self, commit: Commit) -> None:
        """No claim is made beside a live one for the same pod and entry."""
        sim, owner = self.sim, owner_of(commit.new)
        if owner is None or sim.built_in is not None:
            return
        twins = [
            key
            for key, one in sim.server.of("resourceclaims").items()
            if key != commit.key
            and key[0] == commit.key[0]
            and not deleting(one)
            and entry_of(one) == entry_of(commit.new)
            and (owner_of(one) or {}).get("uid") == owner["uid"]
        ]
        if twins:
            what = f"{commit.key[1]} was made beside {twins} for {owner['name']}"
            sim.violate("twins", what)

    def _released(self, commit: Commit, one: Json) -> None:
        """Nothing leaves `reservedFor` that lives, or is no pod."""
        sim, name = self.sim, commit.key[1]
        pods = sim.server.of("pods")
        if one["resource"] != "pods":
            sim.violate("foreign-consumer", f"released {one['resource']} {one['name']} of {name}")
            return
        ended = any(one["uid"] in kubelet.over for kubelet in sim.kubelets.values())
        if lives(pods, commit.key[0], one) and not ended:
            sim.violate("live-consumer", f"released the live pod {one['name']} of {name}")
        elif sim.safe:
            for kubelet in sim.kubelets.values():
                if one["uid"] in kubelet.running:
                    where = f"{one['name']} runs on {kubelet.node}"
                    sim.violate("unsafe", f"released {name} while {where}")

    def _deleted(self, commit: Commit) -> None:
        """Only generated claims of pods that are done are deleted."""
        sim, old, namespace, name = self.sim, commit.old or {}, *commit.key
        owner, pods = owner_of(old), sim.server.of("pods")
        if owner is None or owner["kind"] != "Pod" or not entry_of(old):
            sim.violate("user-claim", f"deleted claim {name}, which no controller made")
            return
        pod = pods.get((namespace, owner["name"]))
        if pod is not None and uid_of(pod) == owner["uid"] and not done(pod):
            bound = {claim_name(pod, entry) for entry in entries_of(pod)}
            if name in bound or sim.built_in is None:
                sim.violate("live-claim", f"deleted claim {name} of the live pod {owner['name']}")
        for one in reserved_for(old):
            if one["resource"] != "pods" or lives(pods, namespace, one):
                sim.violate("used-claim", f"deleted claim {name}, which {one['name']} uses")

    def _changed(self, name: str, old: Json, new: Json) -> None:
        self._finalizers(name, old, new)
        if _annotations(old) != _annotations(new) or old.get("spec") != new.get("spec"):
            self.sim.violate("fields", f"changed more of {name} than it may")

    def _finalizers(self, name: str, old: Json, new: Json) -> None:
        lost = set(old["metadata"].get("finalizers") or ())
        lost -= set(new["metadata"].get("finalizers") or ())
        if lost - {FINALIZER}:
            self.sim.violate("finalizer", f"removed {sorted(lost)} of {name}")
        if lost and (old.get("status") or {}).get("allocation"):
            self.sim.violate("finalizer", f"removed the finalizer of {name} while it has devices")

    # -- pods

    def _pod_written(self, commit: Commit) -> None:
        if commit.verb == "delete":
            self._evicted(commit)
            return
        old, new = commit.old or {}, commit.new
        for entry in entries_of(new):
            was, now = claim_name(old, entry), claim_name(new, entry)
            if was != now:
                self._published(commit.key, new, entry, was, now)
        if self._trimmed(old) != self._trimmed(new):
            self.sim.violate("fields", f"changed more of pod {commit.key[1]} than it may")

    def _published(self, key: Key, pod: Json, entry: Json, was: str, now: str) -> None:
        """A status names what exists and belongs to the pod, and a valid name stays."""
        sim, claims = self.sim, self.sim.server.of("resourceclaims")
        before, after = claims.get((key[0], was)), claims.get((key[0], now))
        where = f"{key[1]}/{entry['name']}"
        if before is not None and is_for(before, pod) and not deleting(before):
            self._replaced(where, before, after)
        if after is None:
            gone = sim.now - self.deleted_at.get(("resourceclaims", (key[0], now)), float("-inf"))
            if gone > 30:
                sim.violate("dangling", f"{where} names {now}, which never was")
        elif not is_for(after, pod):
            sim.violate("stolen", f"{where} names {now} of another owner")

    def _replaced(self, where: str, before: Json, after: Json | None) -> None:
        """A valid name stays, but for a twin that devices were allocated to (`auto`)."""
        was = before["metadata"]["name"]
        mended = after is not None and reserved_for(after) and not reserved_for(before)
        if not mended:
            self.sim.violate("flap", f"{where}: {was} was valid, and is replaced")

    def _evicted(self, commit: Commit) -> None:
        """An eviction has a reason: a device of the pod is tainted, or was a moment ago."""
        sim, key = self.sim, commit.key
        if commit.old is not None and (deleting(commit.old) or finished(commit.old)):
            return  # a DELETE that arrives late, after another one or the end of the pod
        if not EVICTING & set(sim.rows):
            sim.violate("foreign", f"deleted pod {key[1]}")
            return
        if "preemption" in sim.rows:
            return
        claims = sim.server.of("resourceclaims")
        held = {
            device
            for entry in entries_of(commit.new)
            for device in devices_of(claims.get((key[0], claim_name(commit.new, entry))) or {})
        }
        recent = {device for device, when in self.tainted_at.items() if sim.now - when < TAINT_SEEN}
        if not held & (self._tainted | recent):
            sim.violate("evicted", f"{key[1]} was evicted; {sorted(held)} have no taint")

    def _trimmed(self, pod: Json) -> Json:
        """Return what no controller of the operator may change."""
        changing = {"resourceClaimStatuses"}
        if EVICTING & set(self.sim.rows):
            changing.add("conditions")
        status = pod.get("status") or {}
        kept = {key: value for key, value in status.items() if key not in changing}
        return {"spec": pod.get("spec"), "status": kept}


def lives(pods: dict[Key, Json], namespace: str, consumer: Json) -> bool:
    """Whether a consumer is a pod that is not done."""
    pod = pods.get((namespace, consumer["name"]))
    return pod is not None and uid_of(pod) == consumer["uid"] and not done(pod)


def _annotations(claim: Json) -> Json:
    found = claim["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if "left-consumers" not in key}
