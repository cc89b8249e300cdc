"""`simulate` places as many pods as the real scheduler, on the same devices."""

from pathlib import Path

import pytest
import yaml

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import SEED, WORLDS, batches
from tests.e2e.toolkit.stage import Stage
from tests.e2e.toolkit.test_explain import holder, named
from tests.support import manifests as objects
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import BROKEN, LABEL, World, make

FIRST = 90_000
TRIED = max(WORLDS // 4, 10)
BATCHES = batches(FIRST, TRIED)
REPLICAS = 12
FILLED = max(WORLDS // 40, 2)
"""Worlds that are filled, pod by pod."""
MOST = 60
"""Pods of one of them."""


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_as_many_pods_are_placed(
    plane: ControlPlane, stage: Stage, seeds: range, tmp_path: Path
) -> None:
    worlds = [make(seed, prefix="sim") for seed in seeds]
    stage.build(worlds)
    try:
        held = [one for world in worlds for one in holder(world, 0)]
        stage.add(held)
        stage.settled(named(held))
        snapshot = tmp_path / "before.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", snapshot)
        said = {}
        wanted: list[Json] = []
        broken = {world.name for world in worlds if world.chance(0.2)}
        for world in worlds:
            claim = world.claim("more", calm=True)
            if world.name in broken:
                break_selector(claim, world)
            said[world.name] = simulated(world, claim, snapshot, tmp_path)
            wanted += copies(world, claim)
        stage.add(wanted)
        decided = stage.settled(named(wanted))
        placed = {world.name: 0 for world in worlds}
        for (namespace, _), pod in decided.items():
            placed[namespace] += bool(pod["spec"].get("nodeName"))
        # Where a selector fails at a device that the second pod reaches, nodes decide by chance.
        compared = {
            name: (bool(placed[name]), bool(said[name]))
            if name in broken
            else (placed[name], said[name])
            for name in said
        }
        assert {name: both for name, both in compared.items() if both[0] != both[1]} == {}
    finally:
        stage.remove(worlds)


def break_selector(claim: Json, world: World) -> None:
    """Let the first request of a claim have a selector that fails on some devices."""
    request = claim["spec"]["devices"]["requests"][0]["exactly"]
    driver = world.drivers[int(request["deviceClassName"].rpartition("-c")[2])]
    request["selectors"] = [{"cel": {"expression": BROKEN.format(driver=driver)}}]


def test_fill_ends_where_the_scheduler_refuses(
    plane: ControlPlane, stage: Stage, tmp_path: Path
) -> None:
    worlds = [make(seed, prefix="fill") for seed in range(FIRST + SEED, FIRST + SEED + FILLED)]
    stage.build(worlds)
    try:
        snapshot = tmp_path / "before.jsonl"
        stage.add([one for world in worlds for one in holder(world, 0)])
        stage.settled([(world.name, "held-0") for world in worlds])
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", snapshot)
        claims = {world.name: world.claim("more", calm=True) for world in worlds}
        said = {
            one.name: simulated(one, claims[one.name], snapshot, tmp_path, "--fill")
            for one in worlds
        }
        placed = {one.name: filled(stage, one, claims[one.name]) for one in worlds}
        assert placed == said
    finally:
        stage.remove(worlds)


def filled(stage: Stage, world: World, claim: Json) -> int:
    """Return how many pods with a claim of their own are placed until the first refusal."""
    for number in range(MOST):
        name = f"more-{number}"
        made = {**claim, "metadata": {"name": name, "namespace": world.name}}
        stage.add([made, world.pod(name, name)])
        (pod,) = stage.settled([(world.name, name)]).values()
        if not pod["spec"].get("nodeName"):
            return number
    return MOST


def simulated(world: World, claim: Json, snapshot: Path, folder: Path, *how: str) -> int:
    """Return how many pods with a claim of their own fit, as `simulate` says."""
    template = objects.template("more", world.name, "none")
    template["spec"]["spec"] = claim["spec"]
    pod = objects.pod("more", world.name, templates={"a": "more"}, nodeSelector={LABEL: world.name})
    file = folder / f"{world.name}.yaml"
    file.write_text(yaml.safe_dump_all([template, pod]))
    count = how or ("--replicas", str(REPLICAS))
    arguments = ("-f", file, *count, "--snapshot", snapshot, "-o", "json")
    placed: int = dra("simulate", *arguments, expected=(0, 1)).document["placed"]
    return placed


def copies(world: World, claim: Json) -> list[Json]:
    """Return pods with a claim each."""
    made: list[Json] = []
    for index in range(REPLICAS):
        name = f"more-{index}"
        metadata = {"name": name, "namespace": world.name}
        made += [{**claim, "metadata": metadata}, world.pod(name, name)]
    return made


def test_virtual_nodes_are_what_real_ones_become(
    plane: ControlPlane, stage: Stage, tmp_path: Path
) -> None:
    world = make(7, prefix="virtual")
    node, driver = "virtual7-n0", "d0.virtual7.example.com"
    world.nodes, world.drivers = [node], [driver]
    manifest = objects.node(node)
    manifest["metadata"]["labels"][LABEL] = world.name
    devices = [{"name": name} for name in ("c", "a", "b")]
    slices = [
        objects.resource_slice(node, devices[:2], driver, f"{node}-x"),
        objects.resource_slice(node, devices[2:], driver, f"{node}-a"),
    ]
    for one in slices:
        one["spec"]["pool"]["resourceSliceCount"] = 2
    world.manifests = [manifest, objects.device_class("virtual7-c0", driver), *slices]
    stage.build([world])
    try:
        file = tmp_path / "job.yaml"
        template = objects.template("more", world.name, "virtual7-c0")
        pod = objects.pod(
            "more", world.name, templates={"a": "more"}, nodeSelector={LABEL: world.name}
        )
        file.write_text(yaml.safe_dump_all([template, pod]))
        arguments = ("--add-node", f"like={node}", "--without-node", node, "--replicas", 3)
        said = dra(
            "simulate", "-f", file, *arguments, "--kubeconfig", plane.kubeconfig, "-o", "json"
        ).document
        stage.api.delete("nodes", node)
        for one in slices:
            stage.api.delete("resourceslices", one["metadata"]["name"])
        stage.api.in_parallel(stage.api.create, said["virtual"])
        stage.sync.wait()
        world.manifests += said["virtual"]
        expected = [
            device
            for one in said["nodes"]
            if one["virtual"]
            for placed in one["pods"]
            for device in placed["devices"]
        ]
        got = []
        for index in range(3):
            pair = world.simple_pod(f"p{index}", "virtual7-c0")
            stage.add(pair)
            stage.settled(named(pair))
            status = stage.api.get("resourceclaims", f"p{index}", world.name)["status"]
            (result,) = status["allocation"]["devices"]["results"]
            got.append(f"{result['driver']}/{result['pool']}/{result['device']}")
        assert got == expected
        assert len(got) == 3
    finally:
        stage.remove([world])
