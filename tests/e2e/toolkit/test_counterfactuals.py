"""What `explain` suggests lets the pod run, and what it does not name does not."""

import copy
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.conftest import BATCH, WORLDS, batches
from tests.e2e.toolkit.stage import Stage
from tests.e2e.toolkit.test_explain import explained, holder, named, probe
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import TAINT, World, make

FIRST = 50_000
TRIED = max(WORLDS * 2 // 5, BATCH)
PATIENCE, AGAIN = 30, 4
"""Seconds until a pod must be placed, and in which it must not be."""
ENOUGH, CHANGES = 2000, 300
"""So many worlds have so many changes of each sort."""
CARRIED_OUT: Counter[tuple[bool, str]] = Counter()
"""Changes by whether they were suggested, and by kind."""
PROBES = 8
"""Pods that are tried for a world until one is refused for a reason that can be changed."""
BATCHES = batches(FIRST, TRIED)


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
@pytest.mark.parametrize("suggested", [True, False], ids=["suggested", "not named"])
def test_a_change_lets_the_pod_run_exactly_where_it_is_named(
    plane: ControlPlane, stage: Stage, seeds: range, tmp_path: Path, *, suggested: bool
) -> None:
    prefix = "yes" if suggested else "no"
    worlds = [make(seed, prefix=prefix) for seed in seeds]
    stage.build(worlds)
    try:
        held = [one for world in worlds for index in range(2) for one in holder(world, index)]
        stage.add(held)
        for key, pod in stage.settled(named(held)).items():
            if not pod["spec"].get("nodeName"):  # it would take what comes free
                stage.plane.delete_pod(*key)
        snapshot = tmp_path / "before.jsonl"
        dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", snapshot)
        chosen = changes(stage, worlds, snapshot, tmp_path, suggested=suggested)
        assert chosen
        CARRIED_OUT.update((suggested, change["kind"]) for _, change in chosen.values())
        stage.add([one for manifests, _ in chosen.values() for one in manifests])
        stage.settled((name, "probe") for name in chosen)
        wrong = {name: change for name, (_, change) in chosen.items()}
        deadline = time.monotonic() + (PATIENCE if suggested else AGAIN)
        # The scheduler may try a pod before it has seen the change, and again when it has.
        while time.monotonic() < deadline and not (suggested and not wrong):
            time.sleep(0.5)
            there = stage.pods()
            for name in [*wrong] if suggested else [*chosen]:
                placed = bool(there[name, "probe"]["spec"].get("nodeName"))
                if placed is suggested:
                    wrong.pop(name, None)
                elif not suggested:
                    wrong[name] = chosen[name][1]
        assert wrong == {}
    finally:
        stage.remove(worlds)


def changes(
    stage: Stage, worlds: list[World], snapshot: Path, folder: Path, *, suggested: bool
) -> dict[str, tuple[list[Json], Json]]:
    """Carry out a change in each world that has one; return it with the pod to be tried then."""
    chosen: dict[str, tuple[list[Json], Json]] = {}
    for _ in range(PROBES):
        probes = {one.name: (one, probe(one)) for one in worlds if one.name not in chosen}
        if not probes:
            break
        said = explained((manifests for _, manifests in probes.values()), snapshot, folder)
        for name, (world, manifests) in probes.items():
            change = choice(world, said[name], stage, suggested=suggested)
            if change is not None:
                chosen[name] = (carried_out(stage, world, manifests, change), change)
    return chosen


def test_enough_changes_were_carried_out(capsys: pytest.CaptureFixture[str]) -> None:
    """After all worlds: print how many."""
    with capsys.disabled():
        print("\nchanges carried out, suggested or not:", dict(CARRIED_OUT.most_common()))
    counts = Counter(suggested for suggested, _ in CARRIED_OUT.elements())
    assert WORLDS < ENOUGH or min(counts[True], counts[False]) >= CHANGES


def choice(world: World, said: Any, stage: Stage, *, suggested: bool) -> Json | None:
    """Return a change that is suggested, or one that could be and is not; None without any."""
    if said["answer"] not in ("DoesNotFit", "Stopped"):
        return None
    if suggested:
        now = [one for one in said["suggestions"] if one["node"]]
        return world.random.choice(now) if now else None
    if said["answer"] == "Stopped":
        return None
    found = [one for one in others(world, stage) if not is_named(one, said["suggestions"])]
    return world.random.choice(found) if found else None


def others(world: World, stage: Stage) -> list[Json]:
    """Return everything that could be changed about a world."""
    holders = [
        f"held-{index}" for index in range(2) if stage.api.find("pods", f"held-{index}", world.name)
    ]
    changes: list[Json] = [
        {"kind": "EndHolder", "holders": [key], "claims": [key]}
        for key in (f"{world.name}/{name}" for name in holders)
    ]
    changes += [
        {"kind": "AddToleration", "key": TAINT["key"], "effect": effect, "requests": None}
        for effect in ("NoSchedule", "NoExecute")
    ]
    for one in world.manifests:
        if one["kind"] == "ResourceSlice":
            spec = one["spec"]
            change = {"kind": "CompletePool", "driver": spec["driver"]}
            changes.append(change | {"pool": spec["pool"]["name"]})
    return changes


def is_named(change: Json, suggestions: list[Json]) -> bool:
    """Whether a change is among the suggestions."""
    keys = {
        "EndHolder": ("holders",),
        "AddToleration": ("key", "effect"),
        "CompletePool": ("driver", "pool"),
    }[change["kind"]]
    return any(
        one["kind"] == change["kind"] and all(one[key] == change[key] for key in keys)
        for one in suggestions
    )


def carried_out(stage: Stage, world: World, manifests: list[Json], change: Json) -> list[Json]:
    """Carry out a change; return the manifests of the pod, changed where the change is theirs."""
    act: dict[str, Callable[[Stage, World, list[Json], Json], None]] = {
        "EndHolder": end_holder,
        "AddToleration": add_toleration,
        "CompletePool": complete_pool,
        "GuardSelector": guard_selector,
        "Correct": correct,
    }
    changed = copy.deepcopy(manifests)
    for one in change.get("changes", [change]):
        act[one["kind"]](stage, world, changed, one)
    return changed


def end_holder(stage: Stage, world: World, _: list[Json], change: Json) -> None:
    for key in change["holders"]:
        if not key.startswith("claim "):
            stage.api.delete("pods", key.partition("/")[2], world.name, gracePeriodSeconds=0)
    for key in change["claims"]:
        name = key.partition("/")[2]
        body = {"metadata": {"finalizers": None}}
        stage.api.patch("resourceclaims", name, world.name, body)
        stage.api.delete("resourceclaims", name, world.name)


def add_toleration(_: Stage, world: World, manifests: list[Json], change: Json) -> None:
    toleration = {"key": change["key"], "operator": "Exists", "effect": change["effect"]}
    if not change["effect"]:  # every effect
        del toleration["effect"]
    for claim in manifests[:-1]:
        for name, request in exact_requests(claim):
            key = f"{world.name}/{claim['metadata']['name']}:{name}"
            if change["requests"] is None or key in change["requests"]:
                request.setdefault("tolerations", []).append(toleration)


def exact_requests(claim: Json) -> list[tuple[str, Json]]:
    """Return the requests and subrequests of a claim by their full names."""
    found = []
    for request in claim["spec"]["devices"]["requests"]:
        if "exactly" in request:
            found.append((request["name"], request["exactly"]))
        found += [
            (f"{request['name']}/{exact['name']}", exact)
            for exact in request.get("firstAvailable", ())
        ]
    return found


def complete_pool(stage: Stage, world: World, _: list[Json], change: Json) -> None:
    slices = [
        one
        for one in world.manifests
        if one["kind"] == "ResourceSlice"
        and one["spec"]["driver"] == change["driver"]
        and one["spec"]["pool"]["name"] == change["pool"]
    ]
    newest = max(one["spec"]["pool"]["generation"] for one in slices)
    current = [one for one in slices if one["spec"]["pool"]["generation"] == newest]
    for one in current:
        body = {"spec": {"pool": {"resourceSliceCount": len(current)}}}
        stage.api.patch("resourceslices", one["metadata"]["name"], None, body)


def correct(stage: Stage, world: World, manifests: list[Json], change: Json) -> None:
    """Write what was probably meant; in these worlds all slips are in selectors of claims."""
    assert change["from"] in json.dumps(manifests), (stage, world, change)
    for claim in manifests[:-1]:
        for _, request in exact_requests(claim):
            for selector in request.get("selectors", ()):
                text = selector["cel"]["expression"]
                selector["cel"]["expression"] = text.replace(change["from"], change["to"])


def guard_selector(stage: Stage, world: World, manifests: list[Json], change: Json) -> None:
    for claim in manifests[:-1]:
        for _, request in exact_requests(claim):
            for selector in request.get("selectors", ()):
                if selector["cel"]["expression"] == change["expression"]:
                    selector["cel"]["expression"] = change["guarded"]
    assert change["origin"].startswith("claim"), (stage, world, change)
