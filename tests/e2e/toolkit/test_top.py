"""`top` and `who` say what the real scheduler did, and what it would still do."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import BATCH, WORLDS
from tests.e2e.toolkit.stage import Stage
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import World, make

FIRST = 10_000
SHARE = max(WORLDS // 2, 1)
MOST = 24
"""Pods that are tried for one class."""


BATCHES = [
    range(start, min(start + BATCH, FIRST + SHARE)) for start in range(FIRST, FIRST + SHARE, BATCH)
]
"""Seeds, as many at a time as worlds stand side by side."""


def allocated(claims: list[Json]) -> Counter[tuple[str, str, str]]:
    """Count devices in the statuses of claims, by driver, pool and name."""
    return Counter(
        (one["driver"], one["pool"], one["device"])
        for claim in claims
        for one in claim.get("status", {})
        .get("allocation", {})
        .get("devices", {})
        .get("results", [])
        if not one.get("adminAccess")
    )


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_numbers_are_those_of_the_scheduler(
    plane: ControlPlane, stage: Stage, seeds: range
) -> None:
    worlds = [make(seed, prefix="top") for seed in seeds]
    stage.build(worlds)
    try:
        held = [
            manifest
            for world in worlds
            for index in range(3)
            for manifest in (
                world.claim(f"held-{index}", calm=True),
                world.pod(f"held-{index}", f"held-{index}"),
            )
        ]
        stage.add(held)
        pods = [one["metadata"] for one in held if one["kind"] == "Pod"]
        stage.settled((one["namespace"], one["name"]) for one in pods)
        arguments = ("--kubeconfig", plane.kubeconfig, "-o", "json")
        top = dra("top", *arguments).document["classes"]
        rows = {row["name"]: row for row in top}
        for world in worlds:
            check_used(stage, world, arguments, rows)
        check_free(stage, worlds, rows)
    finally:
        stage.remove(worlds)


def check_used(
    stage: Stage, world: World, arguments: tuple[Any, ...], rows: dict[str, Any]
) -> None:
    """USED and `who` equal the statuses of claims, device by device."""
    devices = allocated(stage.api.list("resourceclaims", world.name))
    for index, driver in enumerate(world.drivers):
        said = dra("who", f"{driver}/{world.nodes[0]}", *arguments, expected=(0, 2))
        pool = [one for one in said.document["devices"] if one["claim"]] if said.output else []
        found = Counter((one["driver"], one["pool"], one["device"]) for one in pool)
        assert found == {
            key: count for key, count in devices.items() if key[:2] == (driver, world.nodes[0])
        }
        row = rows[f"{world.name}-c{index}"]
        if len(device_selectors(world, index)) == 1:
            assert row["used"] == len({key for key in devices if key[0] == driver}), row


def device_selectors(world: World, index: int) -> list[Json]:
    """Return the selectors of a class."""
    name = f"{world.name}-c{index}"
    found = next(one for one in world.manifests if one["metadata"]["name"] == name)
    return list(found["spec"]["selectors"])


def check_free(stage: Stage, worlds: list[World], rows: dict[str, Any]) -> None:
    """FREE equals the number of further one-device pods that the scheduler places."""
    wanted: dict[tuple[str, str], str] = {}
    manifests: list[Json] = []
    for world in worlds:
        for index, driver in enumerate(world.drivers):
            name = f"{world.name}-c{index}"
            if shares(world, driver) or rows[name]["free"] > MOST:
                continue
            for count in range(rows[name]["free"] + 2):
                pod = f"more-{index}-{count}"
                wanted[world.name, pod] = name
                manifests += world.simple_pod(pod, name)
    stage.add(manifests)
    placed = Counter(
        wanted[key] for key, pod in stage.settled(wanted).items() if pod["spec"].get("nodeName")
    )
    expected = {name: rows[name]["free"] for name in set(wanted.values())}
    assert {name: placed[name] for name in expected} == expected


def shares(world: World, driver: str) -> bool:
    """Whether devices of a driver serve several pods, so that pods do not count devices."""
    return any(
        device.get("allowMultipleAllocations")
        for one in world.manifests
        if one["kind"] == "ResourceSlice" and one["spec"]["driver"] == driver
        for device in one["spec"].get("devices", ())
    )


def test_a_snapshot_answers_as_the_cluster(
    plane: ControlPlane, stage: Stage, tmp_path: Path
) -> None:
    worlds = [make(seed, prefix="snap") for seed in range(5)]
    stage.build(worlds)
    try:
        file = tmp_path / "cluster.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", file)
        for what in ("classes", "nodes", "namespaces"):
            live = dra("top", what, "--kubeconfig", plane.kubeconfig, "-o", "json").document
            kept = dra("top", what, "--snapshot", file, "-o", "json").document
            assert kept | {"takenAt": ""} == live | {"takenAt": ""}
    finally:
        stage.remove(worlds)
