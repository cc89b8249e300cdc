"""`NeverFits` is said exactly of the pods that the scheduler places in no emptied world."""

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import BATCH, WORLDS, batches
from tests.e2e.toolkit.stage import Stage
from tests.e2e.toolkit.test_explain import explained, holder, named, probe
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import World, make

pytestmark = pytest.mark.slow
FIRST = 90_000
TRIED = max(WORLDS // 2, BATCH)
PATIENCE, AGAIN = 30, 4
"""Seconds until a pod must be placed, and in which it must not be."""
COMPARED: Counter[str] = Counter()
"""Answers that were compared."""


@pytest.mark.parametrize("seeds", batches(FIRST, TRIED), ids=str)
def test_never_is_said_where_no_emptied_world_places_the_pod(
    plane: ControlPlane, stage: Stage, seeds: range, tmp_path: Path
) -> None:
    worlds = [make(seed, prefix="never") for seed in seeds]
    stage.build(worlds)
    try:
        held = [one for world in worlds for index in range(4) for one in holder(world, index)]
        stage.add(held)
        stage.settled(named(held))
        snapshot = tmp_path / "before.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", snapshot)
        probes = {one.name: probe(one) for one in worlds}
        said = explained(probes.values(), snapshot, tmp_path)
        known = {
            name: one["answer"]
            for name, one in said.items()
            if one["answer"] in ("DoesNotFit", "NeverFits") and not one["undecided"]
        }
        empty(stage, worlds)
        stage.add([one for name in known for one in probes[name]])
        stage.settled((name, "probe") for name in known)
        may = {name for name, one in known.items() if one == "DoesNotFit"}
        deadline = time.monotonic() + PATIENCE
        while not may <= placed(stage, known) and time.monotonic() < deadline:
            time.sleep(0.5)
        time.sleep(AGAIN)
        COMPARED.update(known.values())
        assert placed(stage, known) == may
    finally:
        stage.remove(worlds)


def placed(stage: Stage, names: Iterable[str]) -> set[str]:
    """Return the worlds whose pod has a node."""
    there = stage.pods()
    return {name for name in names if there[name, "probe"]["spec"].get("nodeName")}


def empty(stage: Stage, worlds: Iterable[World]) -> None:
    """End all pods, complete all pools, and take away all taints."""
    for world in worlds:
        stage.plane.clear_namespace(world.name)
        slices = [one for one in world.manifests if one["kind"] == "ResourceSlice"]
        pools: dict[tuple[str, str], list[dict[str, object]]] = {}
        for one in slices:
            spec = one["spec"]
            pools.setdefault((spec["driver"], spec["pool"]["name"]), []).append(one)
        for found in pools.values():
            _complete(stage, found)


def _complete(stage: Stage, slices: list[dict[str, object]]) -> None:
    there = [stage.api.get("resourceslices", str(_name(one)), None) for one in slices]
    newest = max(one["spec"]["pool"]["generation"] for one in there)
    current = [one for one in there if one["spec"]["pool"]["generation"] == newest]
    for one in current:
        devices = one["spec"].get("devices")
        spec: Json = {"pool": {"resourceSliceCount": len(current)}}
        if devices:
            spec["devices"] = [
                {key: value for key, value in device.items() if key != "taints"}
                for device in devices
            ]
        stage.api.patch("resourceslices", one["metadata"]["name"], None, {"spec": spec})


def _name(manifest: dict[str, object]) -> object:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return metadata["name"]


def test_answers_of_both_kinds_were_compared(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\nanswers compared in emptied worlds:", dict(COMPARED))
    assert WORLDS < 200 or min(COMPARED["DoesNotFit"], COMPARED["NeverFits"]) >= 10
