"""A snapshot without names has no name of the cluster in it, and gives the same answers."""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.inventory.snapshots.documents import KEPT, KINDS, reduced
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen, dump, load
from dragoman_base.versions import NEWEST
from dragoman_toolkit.anonymous import anonymized
from dragoman_toolkit.anonymous.fields import FIELDS
from dragoman_toolkit.linting.knowledge.api import api_of
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.planting import FACTS, Plants
from tests.support.worlds.inventory import DRIVER, claim, held, pod, pool, snapshot
from tests.support.worlds.randomclusters import TAINT, make

EXAMPLE = Path(__file__).parents[4] / "examples/toolkit/cluster.jsonl"
TOKEN = re.compile(
    r"\b(?:node|ns|object|class|label|value|entry|program|request|uid|slice|rule)-\d+\b"
)


def written(taken: Snapshot) -> str:
    return b"".join(dump(anonymized(taken), version="1")).decode()


@pytest.mark.hostile("snapshot: planted names")
def test_no_planted_name_stays(tries: Any) -> None:
    api = api_of(NEWEST)
    plants = Plants(api.resolved, FACTS)
    found: dict[str, list[Any]] = {plural: [] for plural in KINDS.values()}
    for age in ("v1", "resource.k8s.io/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"):
        for kind, plural in KINDS.items():
            schema = api.schema(age, kind)
            for _ in range(2 if schema else 0):
                document = plants.grow(schema or {}, kind)
                found[plural].append(reduced(plural, document))
    taken = Snapshot(
        "2026-11-22T12:00:00Z",
        "v1.36.3-planted-0-z",
        {plural: tuple(one) for plural, one in found.items()},
        (Unseen("pods", "planted-1-z", "planted-2-z"),),
    )
    assert [*plants.left(written(taken))] == []
    assert len(plants.paths) > 500
    tries(len(plants.paths))


@pytest.mark.hostile("snapshot: planted names")
@pytest.mark.parametrize("shape", range(3))
def test_no_planted_name_stays_of_kinds_whose_schema_is_not_known(shape: int, tries: Any) -> None:
    plants = Plants(lambda schema: schema, FACTS)
    found = {
        plural: (shaped(plants.along(KEPT[plural], plural), shape),)
        for plural in (
            *("nodes", "pods", "namespaces", "resourcequotas", "poddisruptionbudgets"),
            *("driverconfigschemas", "validatingwebhookconfigurations"),
        )
    }
    found["driverconfigschemas"][0]["spec"].pop("driver")  # stays: it is the name of a program
    assert [*plants.left(written(Snapshot("2026-11-22T12:00:00Z", "v1.36.3", found)))] == []
    tries(len(plants.paths))


def shaped(value: Any, shape: int) -> Any:
    """Return a value with one of the three shapes at the ends of its tree."""
    if isinstance(value, Mapping):
        return {key: shaped(inner, shape) for key, inner in value.items()}
    if isinstance(value, list) and len(value) == 3:
        return value[shape]
    return [shaped(item, shape) for item in value]


def test_every_field_of_a_snapshot_is_treated() -> None:
    assert set(FIELDS) == set(KEPT)
    for plural, tree in KEPT.items():
        assert [*missing(tree, FIELDS[plural], plural)] == []


OMITTED = {"dragoman.dev/reason", "dragoman.dev/author", "dragoman.dev/device", "name"}
"""Free text, and the name `claim:…` in the kubelet's report, which nothing reads."""


def missing(kept: Any, fields: Any, path: str) -> Iterator[str]:
    """Yield the fields that a snapshot keeps and one without names does not know."""
    if isinstance(kept, list):
        yield from missing(kept[0], fields[0], path)
    elif isinstance(kept, Mapping) and isinstance(fields, Mapping):
        for key, inner in kept.items():
            if key in fields:
                yield from missing(inner, fields[key], f"{path}.{key}")
            elif key not in OMITTED:
                yield f"{path}.{key}"


def test_unknown_fields_are_kept_only_with_names() -> None:
    secret = {"future": "secret-of-mine"}
    part = pool("n", [{"name": "d", **secret}])
    part["spec"] |= secret
    wanted = claim()
    wanted["spec"]["devices"]["requests"][0]["exactly"] |= secret
    taken = snapshot(part, wanted)
    assert "secret-of-mine" in b"".join(dump(taken, version="1")).decode()
    assert "secret-of-mine" not in written(taken)
    assert "future" not in written(taken)


def test_names_of_nodes_are_replaced_in_attributes_and_in_expressions() -> None:
    where = [{"name": "d", "attributes": {"host": {"string": "rack-7"}, "model": {"string": "h"}}}]
    text = f'device.attributes["{DRIVER}"].host == "rack-7" // of Alice\n&& "h" != "a//b"'
    wanted = claim()
    exactly = wanted["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": text}}]
    found = load(
        dump(
            anonymized(snapshot(objects.node("rack-7"), pool("rack-7", where), wanted)), version="1"
        ).__iter__()
    )
    (part,), (other,) = found.of("resourceslices"), found.of("resourceclaims")
    (device,) = part["spec"]["devices"]
    assert device["attributes"] == {"host": {"string": "node-1"}, "model": {"string": "h"}}
    (selector,) = other["spec"]["devices"]["requests"][0]["exactly"]["selectors"]
    expected = f'device.attributes["{DRIVER}"].host == "node-1" \n&& "h" != "a//b"'
    assert selector["cel"]["expression"] == expected


def test_numbers_stay_because_selectors_compare_them() -> None:
    node = objects.node("n")
    node["metadata"]["labels"] |= {"acme.example/slots": "12", "acme.example/row": "north"}
    terms = [
        {
            "matchExpressions": [
                {"key": "acme.example/slots", "operator": "Gt", "values": ["10"]},
                {"key": "acme.example/row", "operator": "In", "values": ["north", "south"]},
            ]
        }
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    user = pod(affinity={"nodeAffinity": required})
    found = load(iter(dump(anonymized(snapshot(node, user)), version="1")))
    labels = found.of("nodes")[0]["metadata"]["labels"]
    assert labels == {
        "kubernetes.io/hostname": "node-1",
        "label-1": "value-1",
        "label-2": "12",
    }
    kept = found.of("pods")[0]["spec"]["affinity"]["nodeAffinity"]
    (term,) = kept["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [one["values"] for one in term["matchExpressions"]] == [["10"], ["value-1", "value-2"]]


def world(seed: int) -> tuple[list[Any], list[str]]:
    """Make a random cluster with devices in use, and pods that wait; return also their names."""
    made = make(seed, rules=True)
    chance = random.Random(seed)
    found = [*made.manifests]
    for index in range(2):
        user = made.pod(f"held-{index}", f"held-{index}")
        user["spec"]["nodeName"] = node = chance.choice(made.nodes)
        user["metadata"]["uid"] = f"held-uid-{index}"
        one = made.claim(f"held-{index}", calm=True)
        taken = held({**one}, (node, f"d0{index}"), pods=[user])
        taken["status"]["allocation"]["devices"]["results"][0]["driver"] = made.drivers[0]
        found += [taken, user]
    names = [f"probe-{index}" for index in range(3)]
    for name in names:
        waiting = made.pod(name, name)
        waiting["spec"]["tolerations"] = [{"key": "acme.example/x", "operator": "Exists"}]
        found += [made.claim(name), waiting]
    return found, names


def masked(text: str, names: Iterable[str]) -> str:
    """Return a text with one sign for any name, and without the order that names give lists."""
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(r"\s+", " ", TOKEN.sub("*", re.sub(rf"\b(?:{known})\b", "*", text)))


@pytest.mark.parametrize("seed", range(12))
def test_explanations_are_the_same(seed: int, tmp_path: Path) -> None:
    manifests, names = world(seed)
    desk = Desk(tmp_path, *manifests)
    taken = load(desk.file.read_bytes().splitlines())
    plain = {*terms(taken), TAINT["value"]}
    pods = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in taken.of("pods")]
    before = [explained(desk, *one) for one in pods if one[1] in names]
    desk.write(anonymized(taken))
    renamed = load(desk.file.read_bytes().splitlines()).of("pods")
    others = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in renamed]
    after = [explained(desk, *o) for p, o in zip(pods, others, strict=True) if p[1] in names]
    assert [masked(one, plain) for one in after] == [masked(one, plain) for one in before]


def explained(desk: Desk, namespace: str, name: str) -> str:
    found = json.loads(
        invoke(
            "explain", "pod", name, "-n", namespace, "-o", "json", "--snapshot", desk.file
        ).stdout
    )
    return json.dumps(found, sort_keys=True)


def terms(taken: Snapshot) -> Iterator[str]:
    """Yield all names of a snapshot that get tokens."""
    for found in taken.objects.values():
        for document in found:
            yield from _strings(document)


def _strings(value: Any, key: str = "") -> Iterator[str]:
    names = {"name", "namespace", "uid", "pool", "nodeName", "request", "key", "deviceClassName"}
    if isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _strings(one, inner)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one, key)
    elif isinstance(value, str) and key in names:
        yield value


JOB = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair, namespace: fresh}
spec:
  spec:
    devices:
      requests:
      - name: devices
        exactly:
          deviceClassName: gpu.nvidia.com
          count: 2
          selectors:
          - cel: {expression: 'device.attributes["gpu.nvidia.com"].productName == "H200"'}
---
apiVersion: v1
kind: Pod
metadata: {name: job, namespace: fresh}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: pair}]
  containers: [{name: main, image: example, resources: {claims: [{name: gpu}]}}]
"""


@pytest.mark.parametrize(
    "options", [("--fill",), ("--replicas", "9"), ("--replicas", "3", "--add-node", "like=node-4")]
)
def test_simulations_are_the_same(options: tuple[str, ...], tmp_path: Path) -> None:
    taken = load(EXAMPLE.read_bytes().splitlines())
    desk = Desk(tmp_path)
    job = tmp_path / "job.yaml"
    job.write_text(JOB)
    said = []
    for one in (taken, anonymized(taken)):
        desk.write(one)
        found = invoke("simulate", "-f", job, *options, "-o", "json", "--snapshot", desk.file)
        # A virtual slice has the name of the slice that it is like, with or without its node's.
        said.append((found.exit_code, found.stdout.replace("-virtual-1", "")))
    assert said[0][0] == said[1][0]
    before, after = (masked(text, {*terms(taken)}).replace("*-*", "*") for _, text in said)
    assert after == before
    assert '"not found"' not in before
