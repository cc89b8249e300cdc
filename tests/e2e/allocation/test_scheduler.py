"""Random worlds on a real kube-scheduler: pods go where the library says, with the same devices."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pytest

from tests.e2e.allocation.comparison import State, difference, message
from tests.e2e.allocation.worlds import World, world
from tests.e2e.running import Running
from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.schedulersync import SchedulerSync

Json = dict[str, Any]

FEW = 20
WORLDS = int(os.environ.get("DRAGOMAN_WORLDS", FEW))
RULES = WORLDS > FEW
"""DeviceTaintRules need a control plane with other gates, which a few worlds are not worth."""
BATCH = 40
UNUSED = "example.com/unused"
"""Key of a taint that no world has."""
PATIENCE = 300.0
SETTLE = 40.0
"""Seconds in which the scheduler may try again: its caches lag behind what the test reads."""

pytestmark = pytest.mark.skipif(
    not binaries.chosen_version().startswith("v1.36."), reason="worlds are made for 1.36"
)


if RULES:

    @pytest.fixture(scope="module")
    def plane() -> Iterator[ControlPlane]:
        """Run a control plane that serves DeviceTaintRules."""
        served = {"resource.k8s.io/v1beta2": True}
        gates = {"DRADeviceTaintRules": True}
        with ControlPlane(scheduler=True, feature_gates=gates, runtime_config=served) as running:
            yield running


class Batch:
    """Some worlds that share the control plane."""

    def __init__(self, plane: ControlPlane, worlds: list[World]) -> None:
        self._plane = plane
        self._api = plane.api()
        self.counts: Counter[str] = Counter()
        self.differences: list[str] = []
        made = self._api.in_parallel(self._create, worlds)
        self.worlds = [one for one, stored in zip(worlds, made, strict=True) if stored]
        # A pod that comes before its scheduler knows all slices gets other devices, for good.
        self._sync = SchedulerSync(plane, UNUSED if RULES else "")
        self._sync.create()
        self._sync.wait()
        self.counts["worlds"] = len(self.worlds)
        self.counts["refused by the API server"] = len(worlds) - len(self.worlds)
        self._namespace = plane.create_namespace(
            "worlds", **{"resource.kubernetes.io/admin-access": "true"}
        )

    def _create(self, one: World) -> bool:
        try:
            for document in one.objects:
                self._api.create(document)
        except ApiError as error:
            if error.code != 422:
                raise
            print(f"{one.name}: {error}")
            self._delete(one)
            return False
        return True

    def _delete(self, one: World) -> None:
        for document in one.objects:
            try:
                self._api.delete(_PLURALS[document["kind"]], document["metadata"]["name"])
            except ApiError as error:
                if error.code != 404:
                    raise

    def run(self) -> None:
        """Let each world's pods come one after the other, all worlds at once."""
        for number in range(3):
            pods = {f"{one.name}-{number}": one for one in self.worlds}
            started = self._api.in_parallel(partial(self._start, pods, number), pods)
            pods = {one: pods[one] for one, good in zip(pods, started, strict=True) if good}
            decided = wait_for(
                partial(self._decided, pods), timeout=PATIENCE, message=f"{len(pods)} decisions"
            )
            self._compare(pods, decided)
            waiting = [name for name, pod in decided.items() if not pod["spec"].get("nodeName")]
            for name in waiting:
                self._api.delete("pods", name, self._namespace, gracePeriodSeconds=0)

    def _start(self, pods: dict[str, World], number: int, name: str) -> bool:
        one = pods[name]
        entries = {}
        for index, spec in enumerate(one.pods[number].claims):
            template = f"{name}-{index}"
            document = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": template, "namespace": self._namespace},
                "spec": {"spec": spec},
            }
            try:
                self._api.create(document)
            except ApiError as error:
                if error.code != 422:
                    raise
                self.counts["pods refused by the API server"] += 1
                print(f"{name}: {error}")
                return False
            entries[f"e{index}"] = template
        self._api.create(self._pod(name, one, number, entries))
        return True

    def _pod(self, name: str, one: World, number: int, entries: dict[str, str]) -> Json:
        selector = {"world": one.name}
        pod = objects.pod(name, self._namespace, templates=entries, nodeSelector=selector)
        listed = pod["spec"]["containers"][0].get("resources", {})
        pod["spec"] |= {key: found for key, found in one.pods[number].containers.items() if found}
        first = pod["spec"]["containers"][0]
        first["resources"] = {**first.get("resources", {}), **listed}
        self.counts["pods with extended resources"] += "requests" in str(
            one.pods[number].containers
        )
        return pod

    def _decided(self, pods: dict[str, World]) -> dict[str, Json] | None:
        if any("binding" in one.themes for one in pods.values()):
            self._make_ready()
        found = {
            pod["metadata"]["name"]: pod
            for pod in self._api.list("pods", self._namespace)
            if pod["metadata"]["name"] in pods and (pod["spec"].get("nodeName") or message(pod))
        }
        return found if len(found) == len(pods) else None

    def _make_ready(self) -> None:
        """Do the part of drivers: make the binding conditions of allocated devices true."""
        for claim in self._api.list("resourceclaims", self._namespace):
            allocation = claim.get("status", {}).get("allocation", {})
            devices = [
                _ready(result)
                for result in allocation.get("devices", {}).get("results", ())
                if result.get("bindingConditions")
            ]
            if devices and not claim["status"].get("devices"):
                body = {"status": {"devices": devices}}
                name = claim["metadata"]["name"]
                self._api.patch("resourceclaims", name, self._namespace, body, subresource="status")
                self.counts["claims with binding conditions"] += 1

    def _compare(self, pods: dict[str, World], decided: dict[str, Json]) -> None:
        deadline = time.monotonic() + SETTLE
        while True:
            state = State(self._api, set(pods), rules=RULES)
            found = {
                name: text
                for name, pod in decided.items()
                if (text := difference(state, pods[name], pod))
            }
            if not found or time.monotonic() > deadline:
                break
            time.sleep(1)
            decided |= self._decided(pods) or {}
        for name, pod in decided.items():
            self.counts["scheduled" if pod["spec"].get("nodeName") else "refused"] += 1
            if "claim default" in message(pod) or "filter plugin" in message(pod):
                self.counts["errors"] += 1
            if name in found:
                self.differences.append(f"{name} {pods[name].themes}: {found[name]}")

    def clear(self) -> None:
        """Remove everything; the operator removes claims at the same time."""
        while True:
            with suppress(ApiError):
                self._plane.clear_namespace(self._namespace)
                break
        self._api.in_parallel(self._delete, self.worlds)
        self._sync.delete()


_PLURALS = {
    "Node": "nodes",
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
    "DeviceTaintRule": "devicetaintrules",
}


def _ready(result: Json) -> Json:
    """Make what a driver reports of a device that can be bound."""
    conditions = [
        {"type": name, "status": "True", "reason": "Ready", "message": "",
         "lastTransitionTime": "2026-05-01T12:00:00Z"}
        for name in result["bindingConditions"]
    ]  # fmt: skip
    device: Json = {
        key: result[key] for key in ("driver", "pool", "device", "shareID") if key in result
    }
    return {**device, "conditions": conditions}


def test_pods_go_where_the_library_says_with_the_same_devices(
    plane: ControlPlane, operator: Running
) -> None:
    del operator  # makes the claims
    seed = int(os.environ.get("DRAGOMAN_SEED", "0"))
    print(f"seed {seed}")
    random = Random(seed)
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for first in range(0, WORLDS, BATCH):
        numbers = range(first, min(first + BATCH, WORLDS))
        batch = Batch(plane, [world(random, number, rules=RULES) for number in numbers])
        try:
            batch.run()
        finally:
            batch.clear()
        counts += batch.counts
        differences += batch.differences
        print(
            f"{numbers.stop} of {WORLDS}: {dict(counts)}, {len(differences)} differences",
            flush=True,
        )
        for text in batch.differences:
            print(text, flush=True)
    assert differences == []
    assert counts["scheduled"] > WORLDS // 3
    assert counts["refused"] > WORLDS // 10
    assert counts["worlds"] > WORLDS * 0.9
