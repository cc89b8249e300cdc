"""Sends the writes of a simulated run to a real API server, which must end in the same state."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import orjson

from tests.simulation.events import apply
from tests.simulation.execution import profile
from tests.simulation.fidelity import JSON, MERGE, Ask
from tests.simulation.objects import (
    Json,
    Key,
    claim_name,
    deleting,
    devices_of,
    entries_of,
    reserved_for,
    uid_of,
)
from tests.simulation.scenarios import SCENARIOS, SPAN
from tests.simulation.schedule import generate
from tests.simulation.server import Commit
from tests.simulation.simulation import Simulation

PLURALS = ("pods", "resourceclaims", "resourceclaimtemplates")
SYSTEM = (
    *("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields"),
    *("deletionGracePeriodSeconds", "namespace", "generation"),
)
State = dict[tuple[str, Key], object]


def recorded(seed: int, name: str = "calm") -> tuple[list[Commit], State]:
    """Return the writes of a run, and the state in which it ends."""
    commits: list[Commit] = []
    with Simulation(seed, SCENARIOS[name].world, profile(seed)) as sim:
        sim.server.observers.append(
            lambda commit: commits.append(commit) if commit.plural in PLURALS else None
        )
        for event in generate(seed, name):
            sim.loop.world_later(event[0], apply, sim, event)
        sim.run_until(SPAN)
        sim.settle(SCENARIOS[name].quiet, SCENARIOS[name].bound)
        objects = {plural: dict(sim.server.of(plural)) for plural in PLURALS}
    return commits, state(objects, lambda namespace: namespace)


def state(objects: dict[str, dict[Key, Json]], named: Callable[[str], str]) -> State:
    """Return what matters of all objects, without UIDs, versions and times."""
    return {
        (plural, (named(namespace), name)): {
            "deleting": deleting(one),
            "finalizers": one["metadata"].get("finalizers") or [],
            "annotations": one["metadata"].get("annotations") or {},
            "owners": [own["name"] for own in one["metadata"].get("ownerReferences") or ()],
            "reserved": sorted(use["name"] for use in reserved_for(one)),
            "devices": devices_of(one),
            "phase": (one.get("status") or {}).get("phase"),
            "node": (one.get("spec") or {}).get("nodeName"),
            "claims": [claim_name(one, entry) for entry in entries_of(one)],
        }
        for plural, found in objects.items()
        for (namespace, name), one in found.items()
    }


@dataclass
class Replay:
    """Repeats commits on a real API server."""

    ask: Ask
    namespaces: dict[str, str]  # Of the simulation -> of the server
    uids: dict[str, str] = field(default_factory=dict)  # The same
    refused: list[str] = field(default_factory=list)

    def all(self, commits: Iterable[Commit]) -> None:
        """Send the writes one after the other."""
        for commit in commits:
            self._send(commit)

    def state(self) -> State:
        """Return what the server has."""
        back = {real: simulated for simulated, real in self.namespaces.items()}
        objects: dict[str, dict[Key, Json]] = {plural: {} for plural in PLURALS}
        for real in back:
            for plural, found in objects.items():
                _, answer = self.ask("GET", self._path(plural, real), None, JSON)
                found |= {(real, one["metadata"]["name"]): one for one in answer["items"]}
        return state(objects, back.__getitem__)

    def _path(self, plural: str, namespace: str, name: str = "", subresource: str = "") -> str:
        root = "/api/v1" if plural == "pods" else "/apis/resource.k8s.io/v1"
        parts = (root, "namespaces", namespace, plural, name, subresource)
        return "/".join(part for part in parts if part)

    def _do(self, commit: Commit, method: str, subresource: str, body: Json, kind: str) -> Json:
        namespace, name = self.namespaces[commit.key[0]], commit.key[1]
        place = "" if method == "POST" and not subresource else name
        text = orjson.dumps(body).decode()
        for simulated, real in self.uids.items():
            text = text.replace(simulated, real)
        path = self._path(commit.plural, namespace, place, subresource)
        code, answer = self.ask(method, path, orjson.loads(text), kind)
        if code >= 400:
            self.refused.append(f"{method} {path}: {code} {answer.get('reason')}")
        return answer

    def _send(self, commit: Commit) -> None:
        old, new = commit.old, commit.new
        if old is None:
            body = {key: value for key, value in new.items() if key != "status"}
            kept = {key: v for key, v in new["metadata"].items() if key not in SYSTEM}
            if commit.plural == "pods":
                containers = [{"name": "c", "image": "example.com/none"}]
                body["spec"] = {**body["spec"], "containers": containers}
            made = self._do(commit, "POST", "", {**body, "metadata": kept}, JSON)
            self.uids[uid_of(new)] = str((made.get("metadata") or {}).get("uid"))
        elif commit.verb == "delete":
            grace = new["metadata"].get("deletionGracePeriodSeconds", 0)
            options = {"gracePeriodSeconds": int(grace if deleting(new) else 0)}
            pod = commit.plural == "pods"
            self._do(commit, "DELETE", "", options if pod else {}, JSON)
        else:
            self._update(commit, old, new)

    def _update(self, commit: Commit, old: Json, new: Json) -> None:
        if new["spec"].get("nodeName") != old["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": new["spec"]["nodeName"]}
            body = {"apiVersion": "v1", "kind": "Binding", "target": target}
            body |= {"metadata": {"name": commit.key[1]}}
            self._do(commit, "POST", "binding", body, JSON)
        if new.get("status") != old.get("status"):
            status = {**dict.fromkeys(old.get("status") or {}), **(new.get("status") or {})}
            self._do(commit, "PATCH", "status", {"status": status}, MERGE)
        fields = ("finalizers", "annotations", "labels")
        changed = {key: new["metadata"].get(key) for key in fields}
        if changed != {key: old["metadata"].get(key) for key in fields}:
            self._do(commit, "PATCH", "", {"metadata": changed}, MERGE)
