"""CHARGED of `top namespaces` is what the real quota controller counts."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import SEED, WORLDS
from tests.e2e.toolkit.worlds import Stage, World, make
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

CONTROLLER = "resourcequota-controller"
SUFFIX = ".deviceclass.resource.k8s.io/devices"
FIRST = 70_000 + SEED
SEEDS = range(FIRST, FIRST + max(WORLDS // 10, 4))
CLAIMS = 8


@pytest.fixture
def counting(plane: ControlPlane) -> Iterator[None]:
    """Run the quota controller."""
    plane.start_controllers(CONTROLLER, [CONTROLLER])
    yield
    plane.stop_part(CONTROLLER)


def quota(world: World) -> Json:
    """Return a quota for the devices of all classes of a world."""
    hard = {f"{world.name}-c{index}{SUFFIX}": "1000" for index in range(len(world.drivers))}
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
        expected: dict[str, dict[str, int]] = {}
        for world in worlds:
            stage.add([world.claim(f"claim-{number}") for number in range(CLAIMS)])
            stage.api.create(quota(world))
        for world in worlds:
            expected[world.name] = wait_for(
                partial(used, stage, world), 60, f"the usage of {world.name}"
            )
        file = tmp_path / "all.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", file)
        said = dra("top", "namespaces", "--snapshot", file, "-o", "json", expected=(0, 1)).document
        found = {
            row["namespace"]: {one["name"]: one["charged"] for one in row["classes"]}
            for row in said["namespaces"]
            if row["namespace"] in expected
        }
        assert found == expected
        assert any(sum(classes.values()) for classes in expected.values())
    finally:
        for world in worlds:
            stage.api.delete_all("resourcequotas", world.name)
        stage.remove(worlds)


def used(stage: Stage, world: World) -> dict[str, int] | None:
    """Return the devices that are charged by class; None before they were counted."""
    found = stage.api.get("resourcequotas", "devices", world.name).get("status", {}).get("used")
    return (
        {name.removesuffix(SUFFIX): int(count) for name, count in found.items()} if found else None
    )
