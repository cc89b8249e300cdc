"""CHARGED of `top namespaces` is what the real quota controller counts."""

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import SEED, WORLDS
from tests.e2e.toolkit.stage import Stage
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import World, make

CONTROLLER = "resourcequota-controller"
SUFFIX = ".deviceclass.resource.k8s.io/devices"
FIRST = 70_000 + SEED
SEEDS = range(FIRST, FIRST + max(WORLDS // 10, 4))
CLAIMS = 8
RECOUNTS = 20
"""How often the controller is let count; each time it is given a second to see more claims."""


@pytest.fixture
def counting(plane: ControlPlane) -> Iterator[None]:
    """Run the quota controller."""
    plane.start_controllers(CONTROLLER, [CONTROLLER])
    yield
    plane.stop_part(CONTROLLER)


def quota(world: World, limit: int = 1000) -> Json:
    """Return a quota for the devices of all classes of a world."""
    hard = {f"{world.name}-c{index}{SUFFIX}": f"{limit}" for index in range(len(world.drivers))}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "devices", "namespace": world.name},
        "spec": {"hard": hard},
    }


@pytest.mark.usefixtures("counting")
def test_charged_devices_are_those_of_the_quota(
    plane: ControlPlane, stage: Stage, tmp_path: Path
) -> None:
    worlds = [make(seed, prefix="quota") for seed in SEEDS]
    stage.build(worlds)
    try:
        for world in worlds:
            stage.add([world.claim(f"claim-{number}") for number in range(CLAIMS)])
            stage.api.create(quota(world))
        file = tmp_path / "all.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", file)
        said = dra("top", "namespaces", "--snapshot", file, "-o", "json", expected=(0, 1)).document
        found = {
            row["namespace"]: {one["name"]: one["charged"] for one in row["classes"]}
            for row in said["namespaces"]
            if row["namespace"] in {world.name for world in worlds}
        }
        expected = {
            world.name: recounted(stage, world, found.get(world.name, {})) for world in worlds
        }
        assert found == expected
        assert any(sum(classes.values()) for classes in expected.values())
    finally:
        for world in worlds:
            stage.api.delete_all("resourcequotas", world.name)
        stage.remove(worlds)


def recounted(stage: Stage, world: World, wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the devices that the controller counts by class, once it has seen all claims.

    It counts when a quota changes, and only then: what it had not seen yet stays uncounted.
    """
    counted: dict[str, int] = {}
    for limit in range(1001, 1001 + RECOUNTS):
        stage.api.apply(quota(world, limit))
        counted = wait_for(
            partial(used, stage, world, limit), 60, f"the usage of {world.name} of {limit}"
        )
        if counted == wanted:
            break
        time.sleep(1)
    return counted


def used(stage: Stage, world: World, limit: int) -> dict[str, int] | None:
    """Return the devices that are charged by class; None before they were counted."""
    status = stage.api.get("resourcequotas", "devices", world.name).get("status", {})
    if set(status.get("hard", {}).values()) != {f"{limit}"}:
        return None
    return {name.removesuffix(SUFFIX): int(count) for name, count in status["used"].items()}
