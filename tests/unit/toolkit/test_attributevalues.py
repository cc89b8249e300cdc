"""`kubectl dra top --by ATTRIBUTE`, and the values that placed pods get."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.allocation import profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman_toolkit import attributevalues
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import claim, device, device_class, held, pool, snapshot

ROOT = "resource.kubernetes.io/pcieRoot"
GPU, NIC = "gpu.example.com", "nic.example.com"


def on(name: str, root: str | None, **more: Any) -> Any:
    attributes = {} if root is None else {ROOT: {"string": root}}
    return device(name, attributes={**attributes, **more})


def world() -> list[Any]:
    return [
        device_class("gpu", GPU),
        device_class("nic", NIC),
        pool("n", [on("g0", "a"), on("g1", "a"), on("g2", "b")], GPU),
        pool("n", [on("c0", "a"), on("c1", "b"), on("c2", None)], NIC),
        pool("n", [on("x", None)], "other.example.com"),
        held(claim("used"), ("n", "c1"), driver=NIC),
    ]


def test_devices_are_counted_by_node_and_value(tmp_path: Path) -> None:
    found = Desk(tmp_path, *world()).document("top", "--by", ROOT)
    assert found["rows"] == [
        {
            "node": "n",
            "value": "a",
            "drivers": {GPU: {"free": 2, "all": 2}, NIC: {"free": 1, "all": 1}},
            "pairs": 1,
        },
        {
            "node": "n",
            "value": "b",
            "drivers": {GPU: {"free": 1, "all": 1}, NIC: {"free": 0, "all": 1}},
            "pairs": 0,
        },
        {
            "node": "",
            "value": None,
            "drivers": {GPU: {"free": 0, "all": 0}, NIC: {"free": 1, "all": 1}},
            "pairs": 0,
        },
    ]


@pytest.mark.parametrize("name", ["numa", f"{GPU}/numa"])
def test_a_name_without_a_domain_is_one_of_the_driver(tmp_path: Path, name: str) -> None:
    devices = [on("g0", None, numa={"int": 0}), on("g1", None, numa={"int": 1})]
    found = Desk(tmp_path, pool("n", devices, GPU)).document("top", "--by", name)
    assert [row["value"] for row in found["rows"]] == ["0", "1"]


def test_an_attribute_that_no_device_has_is_corrected(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *world())
    result = invoke("top", "--by", "resource.kubernetes.io/pcieroot", "--snapshot", desk.file)
    assert (result.exit_code, f"did you mean {ROOT}?" in result.output) == (2, True)


def gang(count: int) -> list[Any]:
    requests = [{"name": name, "exactly": {"deviceClassName": name}} for name in ("gpu", "nic")]
    devices = {"requests": requests, "constraints": [{"matchAttribute": ROOT}]}
    spec = {
        "containers": [{"name": "c", "resources": {"claims": [{"name": "pair"}]}}],
        "resourceClaims": [{"name": "pair", "resourceClaimTemplateName": "pair"}],
        "restartPolicy": "Never",
    }
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "pair"},
            "spec": {"spec": {"devices": devices}},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {"parallelism": count, "completions": count, "template": {"spec": spec}},
        },
    ]


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"pods": "100"}},
}


@pytest.mark.parametrize(("count", "agree"), [(1, True), (2, False)])
def test_simulate_says_which_values_the_pods_get(tmp_path: Path, count: int, agree: bool) -> None:
    devices = [one for one in world() if one["kind"] != "ResourceClaim"]
    desk = Desk(tmp_path, NODE, *devices)
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump_all(gang(count)))
    (found,) = desk.document("simulate", "-f", job)["values"]
    assert (found["attribute"], found["agree"]) == (ROOT, agree)
    assert [one["value"] for one in found["values"]] == ["a", "b"][:count]
    said = desk.run("simulate", "-f", job)
    assert ("all pods agree" in said) is agree


@pytest.mark.parametrize("seed", range(12))
def test_as_many_pods_are_placed_as_pairs_are_left(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    roots = [chr(ord("a") + number) for number in range(chance.randint(1, 4))]

    def devices(prefix: str) -> list[Any]:
        return [
            on(f"{prefix}{number}", chance.choice([*roots, None]))
            for number in range(chance.randint(1, 8))
        ]

    manifests = [
        *(NODE, device_class("gpu", GPU), device_class("nic", NIC)),
        *(pool("n", devices(name[0]), name) for name in (GPU, NIC)),
    ]
    taken = parse(snapshot(*manifests))
    _, rows = attributevalues.rows(take(taken, profile("1.36")), ROOT)
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump_all(gang(9)))
    arguments = ("simulate", "-f", job, "-o", "json", "--snapshot")
    desk = Desk(tmp_path, *manifests)
    both = all(len(row.drivers) == 2 for row in rows)
    result = invoke(*arguments, desk.file)
    placed = yaml.safe_load(result.output)["placed"]
    assert placed == (sum(row.pairs for row in rows) if both else 0)
