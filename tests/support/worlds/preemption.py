"""Worlds of default preemption as clusters with devices."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from dragoman.allocation import profile
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.preemption.planner import PreemptionPlan, plan
from dragoman.preemption.policy import Policy
from dragoman.preemption.preemptionfacts import PreemptionFacts
from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds.defaultpreemption import World
from tests.support.worlds.inventory import claim, device_class, held, pod, pool, snapshot

LENIENT = Policy(max_victims=1000)


def stamp(seconds: int) -> str:
    """Return a time of the API."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str, cpu: int = 64) -> Json:
    """Make a node with so many cores."""
    made = objects.node(name)
    made["status"]["allocatable"] = {"cpu": str(cpu), "memory": "64Gi", "pods": "200"}
    return made


def running(name: str, on: str, priority: int = 0, **more: Any) -> Json:
    """Make a pod on a node; `started`, `owner`, `annotations`, `labels` and fields of its spec."""
    started = more.pop("started", "2026-11-22T10:00:00Z")
    owner, annotations = more.pop("owner", None), more.pop("annotations", None)
    made = pod(name, node=on, priority=priority, **more)
    made["status"] = {"phase": "Running", "startTime": started}
    if owner:
        kind, of = owner
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": of, "uid": f"uid-{of}"}
        made["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def holding(
    name: str, on: str, devices: Iterable[int], priority: int = 0, **more: Any
) -> list[Json]:
    """Make a pod on a node, and the claim with its devices."""
    user = running(name, on, priority, claims={"gpu": f"{name}-gpu"}, **more)
    names = [(on, f"device-{index}") for index in devices]
    return [user, held(claim(f"{name}-gpu", count=len(names)), *names, pods=[user])]


def waiting(need: int, priority: int = 100, name: str = "train", **more: Any) -> list[Json]:
    """Make a pod that waits, and its claim."""
    made = pod(name, claims={"gpu": f"{name}-gpu"}, priority=priority, **more)
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    made["status"] = {"phase": "Pending", "conditions": [refused]}
    return [made, claim(f"{name}-gpu", count=need)]


def budget(name: str, labels: Mapping[str, str], allowed: int) -> Json:
    """Make a PodDisruptionBudget whose pods are healthy."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"selector": {"matchLabels": dict(labels)}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 5, "desiredHealthy": 6},
    }


def manifests(world: World) -> list[Json]:
    """Return a world whose units are devices."""
    made: list[Json] = [device_class()]
    for name, room in world.rooms.items():
        machine = node(name)
        machine["status"]["allocatable"]["cpu"] = f"{world.cores[name] * 100}m"
        made += [machine, pool(name, room)]
        taken = 0
        for one in world.on(name):
            devices = range(taken, taken + one.units)
            taken += one.units
            labels, start = dict(one.labels), stamp(one.start)
            found = holding(one.name, name, devices, one.priority, labels=labels, started=start)
            _cpu(found[0], one.cpu)
            made += found
    made += [budget(one.name, dict([one.selector]), one.allowed) for one in world.budgets]
    found = waiting(world.need, world.priority)
    _cpu(found[0], world.cpu)
    return [*made, *found]


def _cpu(one: Json, tenths: int) -> None:
    if tenths:
        one["spec"]["containers"][0].setdefault("resources", {})["requests"] = {
            "cpu": f"{tenths * 100}m"
        }


def planned(
    *given: Json,
    key: str = "ns/train",
    policy: Policy = LENIENT,
    kubernetes: str = "1.36",
    **more: Any,
) -> PreemptionPlan:
    """Plan for a pod of a cluster of manifests."""
    world = parse(snapshot(*given))
    inventory = take(world, profile(kubernetes))
    subject = of_pod(world, world.pods[key])
    facts = PreemptionFacts.of(world, policy.promised)
    return plan(facts, subject, cluster_of(inventory), policy=policy, **more)
