"""DeviceMaintenances: what users do with them, and what must hold."""

import random
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dragoman.kube.http.request import Request
from tests.simulation.objects import (
    DRIVER,
    Device,
    Json,
    claim_name,
    deleting,
    devices_of,
    done,
    entries_of,
    is_for,
    published,
    timestamp,
    uid_of,
)
from tests.simulation.server import Commit

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

PLURAL = "devicemaintenances"
LABEL = "dragoman.dev/maintenance"
FINALIZER = "dragoman.dev/devicemaintenance"
LATE = 150.0
"""Seconds for which a write has the reason that it had when it was sent."""


# Users


def generate(chance: random.Random, span: float) -> list[Any]:
    """Return an event of a user."""
    time, name = chance.uniform(2, span), chance.choice(("m1", "m2"))
    evict = chance.choice(("Never", "WhenAllowed", "WhenAllowed", "Now"))
    pool, device = f"node-{chance.randrange(2)}", f"gpu-{chance.randrange(2)}"
    targets: tuple[Json, ...] = (
        {"driver": DRIVER, "pool": pool},
        {"driver": DRIVER, "pool": pool, "device": device},
        {"node": pool},
    )
    until = chance.choice((None, None, 5, 30))
    events: tuple[list[Any], ...] = (
        ["maintenance+", name, chance.choice(targets), evict, until],
        ["maintenance+", name, chance.choice(targets), evict, until],
        ["maintenance~", name, evict],
        ["maintenance-", name],
        ["budget", chance.choice("ab"), chance.choice((0, 1, 9))],
    )
    return [time, *chance.choice(events)]


def make(sim: "Simulation", name: str, target: Json, evict: str, until: float | None) -> None:
    """Take devices out of service, for some seconds or until the object is deleted."""
    spec = {"target": target, "evict": evict}
    if until is not None:
        spec["until"] = timestamp(sim.server.wall + until)
    sim.server.create("user", PLURAL, "", {"metadata": {"name": name}, "spec": spec})


def change(sim: "Simulation", name: str, evict: str) -> None:
    """Treat pods otherwise."""
    patch = {"spec": {"evict": evict}}
    sim.server.patch("user", PLURAL, "", name, patch, "merge")


def delete(sim: "Simulation", name: str) -> None:
    """Put the devices back in service."""
    sim.server.delete("user", PLURAL, "", name)


def budget(sim: "Simulation", namespace: str, least: int) -> None:
    """Keep so many pods of a namespace; none for 0."""
    place = ("poddisruptionbudgets", namespace)
    if sim.server.find(*place, "b") is not None:
        sim.server.delete("user", *place, "b")
    if least:
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": "x"}}}
        sim.server.create("user", *place, {"metadata": {"name": "b"}, "spec": spec})


# Invariants


def targets(sim: "Simulation", one: Json) -> set[Device]:
    """Return the devices that meet the target of a DeviceMaintenance."""
    target = one["spec"]["target"]
    return {
        (pool, device)
        for pool, device in published(sim.server.of("resourceslices").values())
        if target.get("pool") in (None, pool)
        and target.get("node") in (None, pool)
        and target.get("device") in (None, device)
    }


def draining(sim: "Simulation", *modes: str) -> set[Device]:
    """Return the devices whose pods are to be evicted."""
    found: Iterable[Json] = sim.server.of(PLURAL).values()
    wanted = (one for one in found if one["spec"]["evict"] in (modes or ("WhenAllowed", "Now")))
    return {device for one in wanted for device in targets(sim, one)}


def expired(sim: "Simulation", one: Json) -> bool:
    until = one["spec"].get("until")
    return bool(until) and str(until) <= timestamp(sim.server.wall)


def asked(sim: "Simulation", request: Request) -> None:
    """A pod is deleted in spite of budgets only where a user wants it now."""
    path = request.target.partition("?")[0]
    if request.method == "DELETE" and "/pods/" in path:
        last = sim.invariants.urgent_at
        if sim.now - last > LATE:
            sim.violate("budget", f"{path} is deleted, and no DeviceMaintenance wants that")


def written(sim: "Simulation", commit: Commit) -> None:
    """Devices stay held for as long as a user wants it; nothing of users is changed."""
    if commit.plural == PLURAL and commit.old and commit.old["spec"] != commit.new["spec"]:
        sim.violate("fields", f"changed the spec of {commit.key[1]}")
    if commit.plural != "devicetaintrules" or commit.verb == "create":
        return
    old = commit.old or {}
    if LABEL not in (old["metadata"].get("labels") or {}):
        sim.violate("foreign", f"{commit.verb} of rule {commit.key[1]}, which is a user's")
    owners = {one["uid"] for one in old["metadata"].get("ownerReferences") or ()}
    for one in sim.server.of(PLURAL).values():
        if uid_of(one) in owners and not deleting(one) and not expired(sim, one):
            sim.violate("released", f"{commit.key[1]} is deleted, and {name_of(one)} holds")


def final(sim: "Simulation") -> Iterator[tuple[str, str]]:
    """Every device of a target is held, what has ended holds nothing, statuses say so."""
    server = sim.server
    held: dict[str, set[Device]] = {}
    for (_, name), rule in sorted(server.of("devicetaintrules").items()):
        owner = (rule["metadata"].get("labels") or {}).get(LABEL)
        if owner is None:
            continue
        selector = rule["spec"]["deviceSelector"]
        held.setdefault(owner, set()).update(
            (pool, device)
            for pool, device in published(server.of("resourceslices").values())
            if selector.get("pool") in (None, pool) and selector.get("device") in (None, device)
        )
        found = server.find(PLURAL, "", owner)
        if found is None or expired(sim, found):
            yield "final-hold", f"{name} stays, and {owner} has ended"
    for (_, name), one in sorted(server.of(PLURAL).items()):
        yield from _of_one(sim, name, one, held.get(name, set()))


def _of_one(
    sim: "Simulation", name: str, one: Json, held: set[Device]
) -> Iterator[tuple[str, str]]:
    status = one.get("status") or {}
    states = {found["type"]: found["status"] for found in status.get("conditions") or ()}
    if deleting(one):
        yield "final-maintenance", f"{name} is being deleted and stays"
        return
    if status.get("observedGeneration") != one["metadata"]["generation"]:
        yield "final-status", f"{name}: {status}"
    if expired(sim, one):
        if states.get("Expired") != "True":
            yield "final-status", f"{name} has ended: {states}"
        return
    wanted = targets(sim, one)
    if not wanted <= held or FINALIZER not in one["metadata"].get("finalizers", ()):
        yield "final-hold", f"{name} does not hold {sorted(wanted - held)}"
    claims = sim.server.of("resourceclaims")
    busy = wanted & {device for claim in claims.values() for device in devices_of(claim)}
    if states.get("Held") != "True" or states.get("Idle") != ("False" if busy else "True"):
        yield "final-status", f"{name} has {sorted(busy)} in use: {states}"
    if one["spec"]["evict"] != "Never":
        yield from _pods(sim, name, wanted)


def _pods(sim: "Simulation", name: str, wanted: set[Device]) -> Iterator[tuple[str, str]]:
    """No pod stays, but for budgets, and for claims that keep their device for the next pod."""
    claims = sim.server.of("resourceclaims")
    for key, pod in sorted(sim.server.of("pods").items()):
        if done(pod) or deleting(pod) or sim.server.find("poddisruptionbudgets", key[0], "b"):
            continue
        for entry in entries_of(pod):
            claim = claims.get((key[0], claim_name(pod, entry)))
            if claim is not None and is_for(claim, pod) and wanted & set(devices_of(claim)):
                yield "final-pod", f"{key[1]} stays on devices of {name}"


def name_of(one: Json) -> str:
    return str(one["metadata"]["name"])
