"""The scheduler, in the order of its writes: finalizer, allocation with reservation, binding.

Source: pkg/scheduler/framework/plugins/dynamicresources of Kubernetes.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation.actors import Actor
from tests.simulation.objects import (
    DRIVER,
    FINALIZER,
    Device,
    Json,
    Key,
    claim_name,
    deleting,
    devices_of,
    entries_of,
    finished,
    is_for,
    node_of,
    reserved_for,
    tainted,
    timestamp,
    uid_of,
)
from tests.simulation.rules import Refusal

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

BY_HAND = "none"
"""`schedulerName` of pods that no scheduler places."""


@dataclass
class Binding:
    """A binding cycle on its way: each step is a request."""

    key: Key
    pod: Json
    node: str
    names: dict[str, None]  # Claims that are not reserved yet
    plan: dict[str, list[Device]]  # Claims that get devices
    reserved: list[str] = field(default_factory=list)


class Scheduler(Actor):
    """Filters, allocates, reserves, binds; unreserves where binding fails."""

    name = "scheduler"

    def __init__(self, sim: "Simulation") -> None:
        super().__init__(sim, "pods", "resourceclaims")
        self.assumed: dict[str, list[Device]] = {}  # Pod UID -> devices
        self.busy: set[str] = set()
        self.bound: set[str] = set()  # Assumed to have their node, however old the cache is

    def reset(self) -> None:
        """List again after etcd was restored."""
        self.view.reset()
        for kept in (self.assumed, self.busy, self.bound):
            kept.clear()
        self.wake()

    def step(self) -> None:
        self.view.catch_up(self.lag())
        waiting = False
        pods = self.view.of("pods").items()
        for key, pod in sorted(pods, key=lambda one: (_created(one[1]), one[0])):
            uid = uid_of(pod)
            placed = pod["spec"].get("nodeName") or pod["spec"].get("schedulerName") == BY_HAND
            if placed or deleting(pod) or finished(pod) or uid in self.busy | self.bound:
                continue
            waiting |= not self._schedule(key, pod)
        if waiting:
            self.wake(self.chance.uniform(1.0, 5.0))

    def _schedule(self, key: Key, pod: Json) -> bool:
        """Begin a binding cycle; false where the pod has to wait."""
        needed = self._needed(key, pod)
        if needed is None:
            return False
        fixed = {node_of(claim) for _, claim in needed if devices_of(claim)}
        if len(fixed) > 1:
            self._give_up(pod, needed)
            return False
        taken = self._taken()
        for node in fixed or self.sim.node_names(self.chance):
            plan = self._plan(node, needed, taken)
            if plan is None:
                continue
            uid = uid_of(pod)
            self.assumed[uid] = [device for devices in plan.values() for device in devices]
            self.busy.add(uid)
            cycle = Binding(key, pod, node, dict.fromkeys(name for name, _ in needed), plan)
            self.later(0.002, 0.02, self._prebind, cycle)
            return True
        self._give_up(pod, needed)
        return False

    def _needed(self, key: Key, pod: Json) -> list[tuple[str, Json]] | None:
        needed = []
        for entry in entries_of(pod):
            name = claim_name(pod, entry)
            claim = self.view.of("resourceclaims").get((key[0], name)) if name else None
            if claim is None or deleting(claim) or len(reserved_for(claim)) >= 256:
                return None
            if entry.get("resourceClaimTemplateName") and not is_for(claim, pod):
                return None
            needed.append((name, claim))
        return needed

    def _taken(self) -> set[Device]:
        """Return what cannot be allocated.

        The assume cache has the scheduler's own writes; releases of others it sees late.
        """
        server = self.server
        claims = (*self.view.of("resourceclaims").values(), *server.of("resourceclaims").values())
        taken = {device for claim in claims for device in devices_of(claim)}
        slices, rules = server.of("resourceslices"), server.of("devicetaintrules")
        for effect in ("NoExecute", "NoSchedule"):
            taken |= tainted(slices.values(), rules.values(), effect)
        return taken | {device for devices in self.assumed.values() for device in devices}

    def _plan(
        self, node: str, needed: list[tuple[str, Json]], taken: set[Device]
    ) -> dict[str, list[Device]] | None:
        names = [f"gpu-{index}" for index in range(self.sim.devices)]
        free = [(node, name) for name in names if (node, name) not in taken]
        plan: dict[str, list[Device]] = {}
        for name, claim in needed:
            if devices_of(claim) or name in plan:
                continue
            count = claim["spec"]["devices"]["requests"][0]["exactly"].get("count", 1)
            if len(free) < count:
                return None
            plan[name], free = free[:count], free[count:]
        return plan

    def _give_up(self, pod: Json, needed: list[tuple[str, Json]]) -> None:
        """Deallocate what nobody else uses, so that another node may do (PostFilter)."""
        for name, claim in needed:
            users = [one["uid"] for one in reserved_for(claim)]
            if devices_of(claim) and users in ([], [uid_of(pod)]):
                cleared = {**claim, "status": {}}
                namespace = claim["metadata"]["namespace"]
                self._update(namespace, name, cleared, "status")
                return

    def _update(
        self, namespace: str, name: str, new: Json, subresource: str = ""
    ) -> Json | Refusal:
        return self.attempt(
            self.server.update,
            *(self.name, "resourceclaims", namespace, name, lambda _: new, subresource),
        )

    def _prebind(self, cycle: Binding) -> None:
        """Take one step of the binding cycle."""
        if self.sim.over:
            return
        if not cycle.names:
            self._bind(cycle)
            return
        name, namespace = next(iter(cycle.names)), cycle.key[0]
        claim = self.server.find("resourceclaims", namespace, name)
        if claim is None or deleting(claim):
            self._unreserve(cycle)
            return
        allocated = bool((claim.get("status") or {}).get("allocation"))
        if any(one["uid"] == uid_of(cycle.pod) for one in reserved_for(claim)):
            del cycle.names[name]
            cycle.reserved.append(name)
            self.later(0.001, 0.01, self._prebind, cycle)
        elif (name in cycle.plan) == allocated:
            self._unreserve(cycle)
        elif name in cycle.plan and FINALIZER not in (claim["metadata"].get("finalizers") or ()):
            finalizers = [*(claim["metadata"].get("finalizers") or ()), FINALIZER]
            metadata = {**claim["metadata"], "finalizers": finalizers}
            self._update(namespace, name, {**claim, "metadata": metadata})
            pause = self.sim.profile.scheduler_pause(self.chance)
            self.later(0.001, pause, self._prebind, cycle)
        else:
            self._reserve(cycle, name, claim)

    def _reserve(self, cycle: Binding, name: str, claim: Json) -> None:
        status = dict(claim.get("status") or {})
        if name in cycle.plan:
            status["allocation"] = self._allocation(cycle.node, cycle.plan[name])
        user = {"resource": "pods", "name": cycle.key[1], "uid": uid_of(cycle.pod)}
        status["reservedFor"] = [*(status.get("reservedFor") or ()), user]
        outcome = self._update(cycle.key[0], name, {**claim, "status": status}, "status")
        if isinstance(outcome, Refusal) and outcome.code != 409:
            self._unreserve(cycle)
            return
        if not isinstance(outcome, Refusal):
            del cycle.names[name]
            cycle.reserved.append(name)
        self.later(0.001, 0.05, self._prebind, cycle)

    def _allocation(self, node: str, devices: list[Device]) -> Json:
        field_term = {"key": "metadata.name", "operator": "In", "values": [node]}
        return {
            "devices": {
                "results": [
                    {"driver": DRIVER, "pool": pool, "device": device, "request": "r"}
                    for pool, device in devices
                ]
            },
            "allocationTimestamp": timestamp(self.server.wall),
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field_term]}]},
        }

    def _bind(self, cycle: Binding) -> None:
        uid = uid_of(cycle.pod)

        def bind(old: Json) -> Json:
            if uid_of(old) != uid or deleting(old) or old["spec"].get("nodeName"):
                raise Refusal(409, "Conflict", "pod is another, being deleted or bound")
            return {**old, "spec": {**old["spec"], "nodeName": cycle.node}}

        done = self.attempt(self.server.update, self.name, "pods", *cycle.key, bind, "binding")
        if isinstance(done, Refusal):
            self._unreserve(cycle)
            return
        self.bound.add(uid)
        self._finish(cycle)

    def _unreserve(self, cycle: Binding) -> None:
        uid, namespace = uid_of(cycle.pod), cycle.key[0]
        for name in cycle.reserved:
            claim = self.server.find("resourceclaims", namespace, name)
            if claim is None:
                continue
            status = {"reservedFor": [{"$patch": "delete", "uid": uid}]}
            patch = {"metadata": {"uid": uid_of(claim)}, "status": status}
            place = ("resourceclaims", namespace, name)
            self.attempt(self.server.patch, self.name, *place, patch, "strategic", "status")
        self._finish(cycle)
        self.wake(self.chance.uniform(0.5, 2.0))

    def _finish(self, cycle: Binding) -> None:
        self.assumed.pop(uid_of(cycle.pod), None)
        self.busy.discard(uid_of(cycle.pod))
        self.wake()


def _created(pod: Json) -> str:
    return str(pod["metadata"]["creationTimestamp"])
