"""`explain` says what the real scheduler then does: same verdicts, devices, messages, errors."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.allocation import Code
from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import WORLDS, batches
from tests.e2e.toolkit.stage import Stage, refusal
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import LABEL, World, make, requesting

BATCHES = batches(0, WORLDS)
AGAIN, PATIENCE = 3, 30
"""Seconds after which, and within which, the scheduler has done what it will do."""
DEALLOCATED: Counter[bool] = Counter()
"""Claims that no pod used, by whether the scheduler deallocated them."""
SEEN: Counter[str] = Counter()
"""Codes of reasons that any world had."""
ENOUGH, TIMES = 2000, 20
"""So many worlds show each reason so often."""
REASONS = frozenset(
    str(code)
    for code in (
        Code.NO_SLICE_FOR_NODE,
        Code.POOL_INCOMPLETE,
        Code.POOL_INVALID,
        Code.NOT_ENOUGH_DEVICES,
        Code.SELECTOR_REJECTED,
        Code.CEL_ERROR,
        Code.DEVICE_IN_USE,
        Code.CAPACITY_POLICY,
        Code.CAPACITY_EXCEEDED,
        Code.COUNTERS_EXCEEDED,
        Code.TAINT_NOT_TOLERATED,
        Code.NO_COMBINATION,
    )
)

REFUSED = ("DoesNotFit", "NeverFits")
"""Answers about a pod that its scheduler refuses: the second says that no end of pods helps."""


def probe(world: World) -> list[Json]:
    """Make the pod that is explained, with its claims."""
    names = [f"probe-{index}" for index in range(world.random.choice((1, 1, 2)))]
    return [*(world.claim(name) for name in names), world.sized(world.pod("probe", *names))]


def varied(world: World, manifests: list[Json], idle: str) -> list[Json]:
    """Let the pod use a claim that no pod uses, or request what nothing serves.

    Args:
        world: Of the pod, which comes last.
        manifests: From `probe`.
        idle: The node for which claim `idle` is allocated; empty where there is none.
    """
    pod = manifests[-1]
    if idle:
        at = world.random.choice((0, 1))
        pod["spec"]["resourceClaims"].insert(at, {"name": "i", "resourceClaimName": "idle"})
        container = pod["spec"]["containers"][0]
        container.setdefault("resources", {}).setdefault("claims", []).append({"name": "i"})
        others = [one for one in world.nodes if one != idle]
        if others and world.chance(0.8):
            node = world.random.choice(others)
            pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    elif world.chance(0.05):
        requesting(pod, {f"{world.name}.example.com/none": "1"})
    return manifests


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_verdicts_are_those_of_the_scheduler(
    plane: ControlPlane, stage: Stage, seeds: range, tmp_path: Path
) -> None:
    worlds = [make(seed) for seed in seeds]
    bound = [one for world in worlds if world.chance(0.1) for one in world.binding()]
    stage.build(worlds)
    try:
        held = [one for world in worlds for index in range(2) for one in holder(world, index)]
        stage.add(held)
        stage.settled(named(held))
        stage.add(bound)
        idle = left_idle(stage, [world for world in worlds if world.chance(0.25)])
        wait_for(lambda: all_chosen(stage, bound), 120, "nodes for pods that are not bound")
        snapshot = tmp_path / "before.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", snapshot)
        probes = {one.name: varied(one, probe(one), idle.get(one.name, "")) for one in worlds}
        said = explained(probes.values(), snapshot, tmp_path)
        stage.add([one for manifests in probes.values() for one in manifests])
        stage.settled((name, "probe") for name in probes)
        DEALLOCATED.update(bool(said[name]["deallocated"]) for name in idle)
        time.sleep(AGAIN)  # for claims that no pod uses, the scheduler needs several attempts

        def faults() -> list[str]:
            there = stage.pods()
            return [
                f"seed {world.name}: {fault}"
                for world in worlds
                for fault in compared(stage, world, said[world.name], there[world.name, "probe"])
            ]

        deadline = time.monotonic() + PATIENCE
        while (found := faults()) and idle and time.monotonic() < deadline:
            time.sleep(1)
        assert found == []
    finally:
        stage.remove(worlds)


def left_idle(stage: Stage, worlds: Iterable[World]) -> dict[str, str]:
    """Allocate claim `idle` in worlds, for no pod; return the nodes, by world that had devices."""
    pairs = {
        one.name: [
            objects.claim(
                "idle", one.name, f"{one.name}-c{one.random.randrange(len(one.drivers))}"
            ),
            one.pod("idler", "idle"),
        ]
        for one in worlds
    }
    if not pairs:
        return {}
    stage.add([one for pair in pairs.values() for one in pair])
    decided = stage.settled((name, "idler") for name in pairs)
    for name, _ in decided:
        stage.plane.delete_pod(name, "idler")
    placed = {name: pod["spec"].get("nodeName") for (name, _), pod in decided.items()}
    found = {name: str(node) for name, node in placed.items() if node}
    for name in pairs:
        if name in found:
            body = {"status": {"reservedFor": None}}
            stage.api.patch("resourceclaims", "idle", name, body, subresource="status")
        else:
            stage.api.delete("resourceclaims", "idle", name)
    return found


def all_chosen(stage: Stage, manifests: list[Json]) -> bool:
    """Whether the scheduler has chosen nodes for pods that it cannot bind, or has refused them."""
    there = stage.pods()
    for namespace, name in named(manifests):
        claim = stage.api.get("resourceclaims", name, namespace)
        allocated = (claim.get("status") or {}).get("reservedFor")
        if not allocated and refusal(there[namespace, name]) is None:
            return False
    return True


def holder(world: World, index: int) -> list[Json]:
    """Make a pod that takes devices before."""
    name = f"held-{index}"
    return [world.claim(name, calm=True), world.sized(world.pod(name, name))]


def named(manifests: list[Json]) -> list[tuple[str, str]]:
    """Return namespaces and names of the pods among manifests."""
    pods = (one["metadata"] for one in manifests if one["kind"] == "Pod")
    return [(one["namespace"], one["name"]) for one in pods]


def explained(probes: Iterable[list[Json]], snapshot: Path, folder: Path) -> dict[str, Any]:
    """Return what `explain -f` says before manifests are applied, by the namespace of the pod."""
    file = folder / "probes.yaml"
    file.write_text(yaml.safe_dump_all([one for manifests in probes for one in manifests]))
    arguments = ("-f", file, "--snapshot", snapshot, "--devices", "-o", "json")
    found = dra("explain", *arguments, expected=(0, 1)).documents
    return {one["namespace"]: one for one in found}


def compared(stage: Stage, world: World, said: Any, pod: Json) -> list[str]:
    """Return where an explanation differs from what the scheduler did."""
    SEEN.update(reason["code"] for node in said["nodes"] for reason in node["reasons"])
    placed = pod["spec"].get("nodeName")
    refused = refusal(pod) or {}
    message = refused.get("message", "")
    if placed:
        if said["answer"] != "Fits" or placed not in said["fits"]:
            return [f"placed on {placed}, but {said['answer']} {said['fits']} {said['errors']}"]
        return devices_compared(stage, world, said, pod)
    if refused["reason"] == "SchedulerError":
        known = any(error in message for error in said["errors"])
        right = known and said["answer"] == "Stopped" and not said["fits"]
        return [] if right else [f"error {message!r}, but {said['fits']} {said['errors']}"]
    if said["answer"] not in REFUSED:
        return [f"refused with {message!r}, but {said['answer']} {said['fits']} {said['errors']}"]
    if not message.startswith(said["schedulerMessage"]):
        return [f"refused with {message!r}, but {said['schedulerMessage']!r}"]
    return []


def devices_compared(stage: Stage, world: World, said: Any, pod: Json) -> list[str]:
    """Compare devices in their order, on the node that the scheduler chose."""
    claims = [one["resourceClaimName"] for one in pod["spec"]["resourceClaims"]]
    if "idle" not in said["deallocated"]:
        claims = [one for one in claims if one != "idle"]
    got = [
        [one["driver"], one["pool"], one["device"], one["request"]]
        for name in claims
        for one in stage.api.get("resourceclaims", name, world.name)["status"]["allocation"][
            "devices"
        ]["results"]
    ]
    node = next(one for one in said["nodes"] if one["name"] == pod["spec"]["nodeName"])
    expected = [
        [one["driver"], one["pool"], one["device"], one["request"]] for one in node["devices"]
    ]
    return [] if got == expected else [f"devices {json.dumps(got)}, but {json.dumps(expected)}"]


def test_every_reason_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """After the comparison of all worlds: print how often each code was given."""
    with capsys.disabled():
        print(f"\nreasons in {WORLDS} worlds:", dict(SEEN.most_common()))
        print("claims without a pod, deallocated or not:", dict(DEALLOCATED))
    missing = {code for code in REASONS if SEEN[code] < TIMES} if WORLDS >= ENOUGH else set()
    assert missing == set()


def test_extended_resources_are_explained_as_the_scheduler_decides(
    plane: ControlPlane, stage: Stage, tmp_path: Path
) -> None:
    world = World("extended", random.Random(0))
    node, driver = "extended-n0", "d0.extended.example.com"
    world.nodes, world.drivers = [node], [driver]
    manifest = objects.node(node)
    manifest["metadata"]["labels"][LABEL] = world.name
    served = objects.device_class("extended-c0", driver)
    served["spec"]["extendedResourceName"] = "extended.example.com/gpu"
    world.manifests = [manifest, served, objects.resource_slice(node, 3, driver)]
    stage.build([world])
    try:
        for count, fits in ((4, False), (2, True)):
            pod = world.pod(f"p{count}")
            amounts = {"extended.example.com/gpu": str(count)}
            container = pod["spec"]["containers"][0]
            container["resources"] = {"requests": amounts, "limits": amounts}
            file = tmp_path / "pod.yaml"
            file.write_text(yaml.safe_dump(pod))
            # Not of a snapshot: no selector in the cluster names the label of these nodes yet.
            arguments = ("-f", file, "--kubeconfig", plane.kubeconfig, "-o", "json")
            said = dra("explain", *arguments, expected=(0, 1)).document
            stage.add([pod])
            (decided,) = stage.settled(named([pod])).values()
            assert bool(decided["spec"].get("nodeName")) is fits
            assert said["answer"] in (("Fits",) if fits else REFUSED)
            refused = refusal(decided)
            assert refused is None or refused["message"].startswith(said["schedulerMessage"])
    finally:
        stage.remove([world])
