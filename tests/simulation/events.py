"""Carries out the events of a schedule; what is not possible now is left out."""

from collections.abc import Callable
from typing import Any

from dragoman.kube.http.response import HttpError
from tests.simulation import maintenance
from tests.simulation.faults import WATCHED, Window
from tests.simulation.kubelet import LIFETIME
from tests.simulation.objects import (
    DRIVER,
    Json,
    claim_name,
    entries_of,
    timestamp,
)
from tests.simulation.replica import Replica
from tests.simulation.rules import Refusal
from tests.simulation.schedule import Event
from tests.simulation.simulation import Simulation

SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1}}]}}


def apply(sim: Simulation, event: Event) -> None:
    """Carry out one event."""
    _, kind, *rest = event
    sim.say("do", kind, *map(str, rest))
    try:
        KINDS[kind](sim, *rest)
    except Refusal as refusal:
        sim.say("refused", str(refusal)[:80])


# Users


def make_pod(
    sim: Simulation,
    namespace: str,
    name: str,
    entries: list[list[str]],
    lifetime: float = 0,
    grace: float = 1,
    scheduler: str = "",
    **more: Any,
) -> None:
    keys = {"template": "resourceClaimTemplateName", "claim": "resourceClaimName"}
    spec: Json = {
        "terminationGracePeriodSeconds": grace,
        "resourceClaims": [{"name": entry, keys[kind]: of} for entry, kind, of in entries],
        **more,
    }
    if scheduler:
        spec |= {"schedulerName": scheduler, "nodeName": "node-0"}
    annotations = {LIFETIME: str(lifetime)} if lifetime else {}
    metadata = {"name": name, "labels": {"app": "x"}, "annotations": annotations}
    body = {"metadata": metadata, "spec": spec}
    sim.server.create("user", "pods", namespace, body)


def _replace(sim: Simulation, namespace: str, name: str) -> None:
    """Delete by force, and create another of the name at once, as for a StatefulSet."""
    old = sim.server.get("pods", namespace, name)
    sim.server.delete("user", "pods", namespace, name, {"gracePeriodSeconds": 0})
    spec = {key: value for key, value in old["spec"].items() if key != "nodeName"}
    kept = {key: old["metadata"].get(key) or {} for key in ("labels", "annotations")}
    body = {"metadata": {"name": name, **kept}, "spec": spec}
    sim.server.create("user", "pods", namespace, body)


def _delete_pod(sim: Simulation, namespace: str, name: str, grace: float | None) -> None:
    options = {} if grace is None else {"gracePeriodSeconds": grace}
    sim.server.delete("user", "pods", namespace, name, options)


def _force(sim: Simulation, namespace: str, name: str) -> None:
    sim.server.delete("user", "pods", namespace, name, {"gracePeriodSeconds": 0})


def _make_template(sim: Simulation, namespace: str, name: str) -> None:
    body = {
        "metadata": {"name": name},
        "spec": {"metadata": {"labels": {"from": name}}, "spec": SPEC},
    }
    sim.server.create("user", "resourceclaimtemplates", namespace, body)


def _delete_template(sim: Simulation, namespace: str, name: str) -> None:
    sim.server.delete("user", "resourceclaimtemplates", namespace, name)


def _make_claim(sim: Simulation, namespace: str, name: str) -> None:
    body = {"metadata": {"name": name}, "spec": SPEC}
    sim.server.create("user", "resourceclaims", namespace, body)


def _delete_claim(sim: Simulation, namespace: str, name: str) -> None:
    sim.server.delete("user", "resourceclaims", namespace, name)


def _lose(sim: Simulation, namespace: str, name: str) -> None:
    """A user deletes the generated claims of a pod."""
    pod = sim.server.get("pods", namespace, name)
    for entry in entries_of(pod):
        found = claim_name(pod, entry)
        if entry.get("resourceClaimTemplateName") and found:
            sim.server.delete("user", "resourceclaims", namespace, found)


def _foreign(sim: Simulation, namespace: str, name: str) -> None:
    """A consumer that is no pod is entered by its own controller."""
    claim = sim.server.get("resourceclaims", namespace, name)
    if not (claim.get("status") or {}).get("allocation"):
        return
    more = {"apiGroup": "batch.example.com", "resource": "jobs", "name": "job", "uid": "job-uid"}
    reserved = [one for one in claim["status"].get("reservedFor") or () if one["uid"] != "job-uid"]
    new = {**claim, "status": {**claim["status"], "reservedFor": [*reserved, more]}}
    sim.server.update("user", "resourceclaims", namespace, name, lambda _: new, "status")


# Devices


def _make_rule(
    sim: Simulation, name: str, pool: str | None, device: str | None, effect: str
) -> None:
    selector = {"driver": DRIVER, "pool": pool, "device": device}
    spec = {
        "deviceSelector": {key: value for key, value in selector.items() if value},
        "taint": {"key": "broken", "effect": effect},
    }
    sim.server.create("user", "devicetaintrules", "", {"metadata": {"name": name}, "spec": spec})


def _delete_rule(sim: Simulation, name: str, *_: object) -> None:
    sim.server.delete("user", "devicetaintrules", "", name)


def _change_rule(sim: Simulation, name: str, _pool: str, _device: str, effect: str) -> None:
    now = timestamp(sim.server.wall)

    def change(old: Json) -> Json:
        taint = {**old["spec"]["taint"], "effect": effect, "timeAdded": now}
        return {**old, "spec": {**old["spec"], "taint": taint}}

    sim.server.update("user", "devicetaintrules", "", name, change)


def _taint(sim: Simulation, node: int, device: int, *, on: bool = True) -> None:
    now = timestamp(sim.server.wall)

    def change(old: Json) -> Json:
        devices = [dict(one) for one in old["spec"]["devices"]]
        devices[device].pop("taints", None)
        if on:
            taint = {"key": "hot", "effect": "NoExecute", "timeAdded": now}
            devices[device]["taints"] = [taint]
        return {**old, "spec": {**old["spec"], "devices": devices}}

    sim.server.update("driver", "resourceslices", "", f"slice-{node}", change)


def _untaint(sim: Simulation, node: int, device: int) -> None:
    _taint(sim, node, device, on=False)


# Cluster templates


def _cluster_spec(count: int) -> Json:
    exactly = {"deviceClassName": "gpu", "count": count}
    return {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}


def _make_cluster_template(sim: Simulation, name: str, team: str | None, count: int) -> None:
    selector = {"matchLabels": {"team": team}} if team else {}
    spec = {"namespaceSelector": selector, "conflict": "Keep", "template": _cluster_spec(count)}
    body = {"metadata": {"name": name}, "spec": spec}
    sim.server.create("user", "clusterresourceclaimtemplates", "", body)


def _change_cluster_template(sim: Simulation, name: str, count: int) -> None:
    def change(old: Json) -> Json:
        return {**old, "spec": {**old["spec"], "template": _cluster_spec(count)}}

    sim.server.update("user", "clusterresourceclaimtemplates", "", name, change)


def _delete_cluster_template(sim: Simulation, name: str) -> None:
    sim.server.delete("user", "clusterresourceclaimtemplates", "", name)


def _label(sim: Simulation, namespace: str, team: str) -> None:
    patch = {"metadata": {"labels": {"team": team or None}}}
    sim.server.patch("user", "namespaces", "", namespace, patch, "merge")


# Faults


def _window(sim: Simulation, kind: str, probability: float, seconds: float) -> None:
    sim.faults.windows.append(Window(sim.now + seconds, kind, probability))
    if kind == "cuts":
        _cut(sim)


def _cut(sim: Simulation, plural: str = "") -> None:
    for watch in sim.watches_of():
        if plural in ("", watch.plural):
            watch.cut(HttpError("connection reset"))


def _compact(sim: Simulation, plural: str) -> None:
    sim.server.compact(plural)
    _cut(sim, plural)


def _stall(sim: Simulation, instance: int, plural: str, seconds: float) -> None:
    sim.instances[instance].stalled[plural] = sim.now + seconds


def _restart_api(sim: Simulation, which: int) -> None:
    for plural in (*WATCHED, "nodes"):
        sim.server.compact(plural)
    for watch in list(sim.instances[which].watches):
        if watch.plural in (*WATCHED, "nodes"):
            watch.cut(HttpError("connection reset"))


def _of_process(
    do: Callable[..., object],
) -> Callable[..., None]:
    """Make an event of what befalls the process of an index, if it lives."""

    def event(sim: Simulation, which: int, *rest: Any) -> None:
        replica = next((one for one in sim.live if one.index == which), None)
        if replica is not None:
            do(sim, replica, *rest)

    return event


def _mute(sim: Simulation, replica: Replica, plural: str, seconds: float) -> None:
    sim.faults.muted[replica.name, plural] = sim.now + seconds


def _partition(sim: Simulation, replica: Replica, seconds: float) -> None:
    sim.faults.cut_off[replica.name] = sim.now + seconds
    for watch in sim.watches_of(replica):
        watch.cut(HttpError("no route to host"))


def _skew(_sim: Simulation, replica: Replica, seconds: float) -> None:
    replica.skew += seconds


def _kubelet(sim: Simulation, which: int, seconds: float) -> None:
    kubelet = sim.kubelets[f"node-{which}"]
    if not kubelet.down:
        kubelet.stop(seconds)


def _sleep(sim: Simulation, seconds: float) -> None:
    assert sim.built_in is not None
    sim.built_in.sleep(seconds)


def _back_up(sim: Simulation, ahead: int = 10_000) -> None:
    sim.server.back_up(ahead)


def _restore(sim: Simulation) -> None:
    if sim.server.saved is not None:
        sim.restore()


KINDS: dict[str, Callable[..., None]] = {
    "pod+": make_pod,
    "pod-": _delete_pod,
    "force-": _force,
    "replace": _replace,
    "template+": _make_template,
    "template-": _delete_template,
    "claim+": _make_claim,
    "claim-": _delete_claim,
    "lose": _lose,
    "foreign": _foreign,
    "rule+": _make_rule,
    "rule-": _delete_rule,
    "retaint": _change_rule,
    "taint": _taint,
    "untaint": _untaint,
    "cluster-template+": _make_cluster_template,
    "cluster-template~": _change_cluster_template,
    "cluster-template-": _delete_cluster_template,
    "label": _label,
    "maintenance+": maintenance.make,
    "maintenance~": maintenance.change,
    "maintenance-": maintenance.delete,
    "budget": maintenance.budget,
    "window": _window,
    "cut": _cut,
    "compact": _compact,
    "stall": _stall,
    "restart-api": _restart_api,
    "mute": _of_process(_mute),
    "kill": _of_process(Simulation.kill),
    "stop": _of_process(Simulation.stop),
    "pause": _of_process(Simulation.pause),
    "partition": _of_process(_partition),
    "skew": _of_process(_skew),
    "kubelet": _kubelet,
    "built-in": _sleep,
    "backup": _back_up,
    "restore": _restore,
}
"""What each kind of event does."""
