"""Manifests get the defaults that the API server gives them."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.inventory.snapshots.documents import reduced
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.needs import amounts
from dragoman_toolkit.diagnosis.files import overlaid
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane

TRIED = 150
AMOUNTS = ("limits", "requests")
QUANTITIES = {"cpu": ["500m", "1", "2"], "memory": ["64Mi", "1Gi"]}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
TOLERATIONS = [
    {"operator": "Exists"},
    NOT_READY,
    {**NOT_READY, "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
]


def resources(chance: random.Random, *, extended: bool) -> Json:
    """Return requests and limits, each of which may be absent."""
    limits, requests = {}, {}
    for name, values in QUANTITIES.items():
        value = chance.choice(values)
        if chance.random() < 0.5:
            limits[name] = value
        if chance.random() < 0.4:
            requests[name] = value
    if extended and chance.random() < 0.6:
        limits["nvidia.com/gpu"] = "2"
    found: Json = {"limits": limits} if limits or chance.random() < 0.1 else {}
    return {**found, "requests": requests} if requests else found


def random_pod(seed: int) -> Json:
    """Return a pod with a part of the fields that the API server defaults."""
    chance = random.Random(seed)
    containers: list[Json] = [
        {"name": f"c{index}", "image": "image", "resources": resources(chance, extended=True)}
        for index in range(chance.randint(1, 3))
    ]
    init = {"name": "init", "image": "image", "resources": resources(chance, extended=False)}
    sidecar = {**init, "restartPolicy": "Always"}
    level = {name: "16Gi" for name in QUANTITIES if chance.random() < 0.7}
    fields: list[Json] = [
        {"initContainers": [chance.choice([init, sidecar])]},
        {"resources": {"limits": level}},
        {"hostNetwork": True},
        {"tolerations": [chance.choice(TOLERATIONS)]},
        {"priorityClassName": f"system-{chance.choice(['node', 'cluster'])}-critical"},
        {"terminationGracePeriodSeconds": chance.choice([0, 5])},
        {"schedulerName": "other"},
    ]
    containers[0]["ports"] = [{"containerPort": 8000}]
    spec: Json = {"containers": containers}
    for field in fields:
        spec |= field if chance.random() < 0.3 else {}
    metadata = {"name": f"p{seed}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def random_template(seed: int) -> Json:
    """Return a template whose requests leave out what has a default."""
    chance = random.Random(seed)

    def exact() -> Json:
        found: Json = {"deviceClassName": "x"}
        if mode := chance.choice(["", "All", "ExactCount"]):
            found["allocationMode"] = mode
        if mode != "All" and chance.random() < 0.4:
            found["count"] = 3
        if chance.random() < 0.3:
            found["tolerations"] = [{"key": "a", "operator": "Exists"}]
        return found

    either: list[Json] = [
        {"exactly": exact()},
        {"firstAvailable": [{"name": f"s{index}", **exact()} for index in range(2)]},
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": f"t{seed}", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [{"name": "one", **chance.choice(either)}]}}},
    }


def plain(value: Any) -> Any:
    """Return a tree with all quantities in one unit and nothing empty."""
    if isinstance(value, list):
        return [*map(plain, value)]
    if not isinstance(value, dict):
        return value
    kept = {
        key: plain(one) if isinstance(one, list) or key not in AMOUNTS else amounts(one)
        for key, one in value.items()
    }
    return {key: one for key, one in kept.items() if one not in ({}, [], None)}


@pytest.mark.parametrize("make", [random_pod, random_template])
def test_answers_from_a_file_are_those_after_it_is_applied(
    plane: ControlPlane, make: Callable[[int], Json]
) -> None:
    api = plane.api()
    different = {}
    for tree in map(make, range(TRIED)):
        plural = api.home(tree).plural
        stored = reduced(plural, api.create(tree, dryRun="All"))["spec"]
        (read,) = overlaid(Snapshot(taken="2026-01-01T00:00:00Z"), [tree], "").snapshot.of(plural)
        if plain(read["spec"]) != plain(stored):
            different[tree["metadata"]["name"]] = (plain(read["spec"]), plain(stored))
    assert different == {}
