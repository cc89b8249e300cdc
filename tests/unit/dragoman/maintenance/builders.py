"""Facts of a pool with devices, claims and pods."""

from collections.abc import Iterable
from typing import Any

from dragoman.maintenance import manifests
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.holds import (
    HOLD_TAINT,
    Hold,
    HoldKind,
    HoldSelector,
    parse_claim,
    parse_rule,
)
from dragoman.maintenance.manifests import Origin
from dragoman.maintenance.plan import MaintenanceFacts
from dragoman.model import claimcontent
from dragoman.model.claim import Claim
from dragoman.model.deviceid import DeviceID
from dragoman.model.pod import Pod
from tests.support import manifests as objects
from tests.support.worlds.inventory import DRIVER, claim, held, pod

API = "resource.k8s.io/v1"
OLD, NEW = "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"
A, B = DeviceID(DRIVER, "n", "a"), DeviceID(DRIVER, "n", "b")


def user(name: str, device: str = "a", *, created: str = OLD, **more: Any) -> Claim:
    """Make a claim with a device, used by the pod of its name."""
    document = held(claim(name), ("n", device), pods=[pod(name)], **more)
    document["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": created}
    return claimcontent.parse_claim(document)


def running(name: str, **status: Any) -> Pod:
    """Make the pod of a claim of this name."""
    document = pod(name, claims={"gpu": name}, node="n")
    return Pod.parse({**document, "status": {"phase": "Running", **status}})


def rule(selector: HoldSelector = HoldSelector(*A), created: str = OLD) -> Hold:  # noqa: B008 — frozen
    """Make the stored rule of a hold."""
    made = manifests.rule_manifest(API, selector, HOLD_TAINT, Origin())
    made["metadata"]["creationTimestamp"] = created
    return parse_rule(made)


def held_claim(device: DeviceID = A, *, allocated: bool = True, overlapped: bool = False) -> Hold:
    """Make the stored held claim of a device."""
    made = manifests.claim_manifest(API, "ops", device, Origin())
    if allocated:
        made["status"] = {"allocation": manifests.allocation(device)}
    if overlapped:
        made["metadata"]["annotations"]["dragoman.dev/overlapped"] = "true"
    found = parse_claim(made)
    assert found is not None
    return found


def facts(
    *claims: Claim,
    kind: HoldKind = HoldKind.RULE,
    holds: Iterable[Hold] = (),
    pods: Iterable[Pod] = (),
    evict: EvictionMode = EvictionMode.WHEN_ALLOWED,
    devices: tuple[DeviceID, ...] = (A,),
) -> MaintenanceFacts:
    """Make the facts of a target."""
    return MaintenanceFacts(
        devices=devices,
        kind=kind,
        selectors=tuple(HoldSelector(*device) for device in devices),
        holds=tuple(holds),
        claims=claims,
        pods={one.metadata.uid: one for one in pods},
        evict=evict,
    )


def budget_document(name: str, allowed: int, **labels: str) -> objects.Json:
    """Make a PodDisruptionBudget."""
    return {
        "metadata": {"name": name, "namespace": "ns", "generation": 1},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
        },
    }
