"""Kubelets: they prepare, run and end containers; the ground truth of who has a device."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.simulation.actors import Actor
from tests.simulation.objects import (
    Device,
    Json,
    Key,
    claim_name,
    deleting,
    devices_of,
    entries_of,
    finished,
    micro,
    reserved_for,
    timestamp,
    uid_of,
)
from tests.simulation.rules import Refusal

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

LIFETIME = "simulation/lifetime"
"""Annotation: seconds after which the containers of a pod have succeeded."""
RENEWAL = 10.0
UNKNOWN_AFTER = 45.0
"""Seconds after which the node of a kubelet that is away is not Ready."""


@dataclass(frozen=True)
class Running:
    """A pod whose containers run."""

    devices: list[tuple[Device, str]]  # With the UID of the claim
    key: Key
    grace: float


class Kubelet(Actor):
    """The kubelet of one node."""

    def __init__(self, sim: "Simulation", node: str) -> None:
        super().__init__(sim, "pods")
        self.node, self.name = node, f"kubelet-{node}"
        self.running: dict[str, Running] = {}  # By pod UID
        self.ending: dict[str, None] = {}
        self.over: set[str] = set()  # Ended here: never started again, however old the cache is
        self.down = False
        self._renew()

    def concerns(self, commit: Any) -> bool:
        return bool(commit.new["spec"].get("nodeName") == self.node)

    def reset(self) -> None:
        """List again after etcd was restored."""
        self.view.reset()
        self.wake()

    def step(self) -> None:
        if self.down:
            return
        self.view.catch_up(self.lag())
        mine = {
            uid_of(pod): (key, pod)
            for key, pod in self.view.of("pods").items()
            if pod["spec"].get("nodeName") == self.node
        }
        for uid, (key, pod) in sorted(mine.items()):
            self._sync(uid, key, pod)
        for uid in list(self.running):
            if uid not in mine:
                self._end(uid, self.running[uid].grace)  # a forced deletion still gives the grace
        if any(deleting(pod) for _, pod in mine.values()):
            self.wake(1.0)

    def _sync(self, uid: str, key: Key, pod: Json) -> None:
        if finished(pod):
            if deleting(pod):
                self._let_go(key, uid)
        elif deleting(pod):
            if uid in self.running:
                self._end(uid, self.running[uid].grace)
            elif uid not in self.ending:
                self._report(key, uid, "Failed")
        elif uid in self.over and uid not in self.running:
            self._report(key, uid, "Failed")
        elif uid not in self.running and uid not in self.ending:
            self._start(key, pod)

    def _start(self, key: Key, pod: Json) -> None:
        uid = uid_of(pod)
        devices = []
        for entry in entries_of(pod):
            name = claim_name(pod, entry)
            claim = self.server.find("resourceclaims", key[0], name) if name else None
            reserved = claim is not None and any(one["uid"] == uid for one in reserved_for(claim))
            if claim is None or not reserved or not devices_of(claim):
                self.wake(self.chance.uniform(1.0, 3.0))
                return
            devices += [(device, uid_of(claim)) for device in devices_of(claim)]
        grace = float(pod["spec"].get("terminationGracePeriodSeconds", 30))
        self.running[uid] = Running(devices, key, grace)
        self.sim.invariants.containers(self)
        self._report(key, uid, "Running")
        lifetime = (pod["metadata"].get("annotations") or {}).get(LIFETIME)
        if lifetime:
            self.loop.world_later(float(lifetime), self._complete, key, uid)

    def _complete(self, key: Key, uid: str) -> None:
        if uid in self.running and uid not in self.ending and not self.down:
            del self.running[uid]
            self.over.add(uid)
            self._report(key, uid, "Succeeded")
            self.wake()

    def _end(self, uid: str, grace: float) -> None:
        if uid not in self.ending:
            self.ending[uid] = None
            self.loop.world_later(self.chance.uniform(0.1, max(0.2, grace)), self._ended, uid)

    def _ended(self, uid: str) -> None:
        if self.down:
            self.loop.world_later(5.0, self._ended, uid)
            return
        self.ending.pop(uid, None)
        self.over.add(uid)
        found = self.running.pop(uid, None)
        if found is not None:
            self._report(found.key, uid, "Failed")
            self.wake()

    def _report(self, key: Key, uid: str, phase: str) -> None:
        pod = self.server.find("pods", *key)
        if pod is None or uid_of(pod) != uid or finished(pod):
            return
        if phase == "Failed":
            self.over.add(uid)
        patch = {"metadata": {"uid": uid}, "status": {"phase": phase}}
        place = ("pods", *key)
        done = self.attempt(self.server.patch, self.name, *place, patch, "strategic", "status")
        if isinstance(done, Refusal):
            self.wake(1.0)

    def _let_go(self, key: Key, uid: str) -> None:
        pod = self.server.find("pods", *key)
        if pod is not None and uid_of(pod) == uid:
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            self.attempt(self.server.delete, self.name, "pods", *key, options)

    # -- the node

    def _renew(self) -> None:
        """Renew the Lease of the node."""
        if not self.down:
            spec = {
                "holderIdentity": self.node,
                "leaseDurationSeconds": 40,
                "renewTime": micro(self.server.wall),
            }
            place = ("leases", "kube-node-lease")
            if self.server.find(*place, self.node) is None:
                body = {"metadata": {"name": self.node}, "spec": spec}
                self.server.create(self.name, *place, body)
            else:
                self.server.patch(self.name, *place, self.node, {"spec": spec}, "merge")
        self.loop.world_later(RENEWAL, self._renew)

    def stop(self, seconds: float) -> None:
        """Take the kubelet away for a while; containers go on."""
        self.down = True
        self.loop.world_later(UNKNOWN_AFTER, self._unready)
        self.loop.world_later(seconds, self.back)

    def back(self) -> None:
        """Bring the kubelet back; it ends what it finds within its first seconds."""
        self.down = False
        node = self.server.get("nodes", "", self.node)
        if node["status"]["conditions"][0]["status"] != "True":
            self.later(0.1, 2.0, self._ready, "True")
        self.later(1.0, 20.0, self.wake)

    def _unready(self) -> None:
        if self.down:
            self._ready("Unknown")

    def _ready(self, status: str) -> None:
        now = timestamp(self.server.wall)
        condition = {"type": "Ready", "status": status, "lastTransitionTime": now}
        patch = {"status": {"conditions": [condition]}}
        place = ("nodes", "", self.node)
        self.server.patch("node-controller", *place, patch, "strategic", "status")
