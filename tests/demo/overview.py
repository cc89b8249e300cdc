"""What there is to see: pods, their claims, the devices behind them. Pure, from API objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Json = Mapping[str, Any]
FINAL = ("Succeeded", "Failed")


class State(Enum):
    """How far a pod is with one of its claims; the values are what people read."""

    NO_TEMPLATE = "waits for its template"
    NO_CLAIM = "waits for its claim"
    NO_DEVICE = "waits for a device"
    SCHEDULED = "has its device"
    RUNNING = "running"
    RELEASING = "finished, not yet released"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Row:
    """One claim of one pod.

    Attributes:
        claim: Name of the claim, or empty while there is none and when it is gone.
        device: Name of the device, or empty.
        node: Where the pod is placed, or empty.
        users: How many pods have the claim reserved.
    """

    pod: str
    claim: str
    device: str
    node: str
    state: State
    users: int


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a pool, which has the name of its node here, and whether a claim holds it."""

    node: str
    name: str
    held: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything at one moment.

    Attributes:
        rows: By pod name, then in the order of the pod's entries.
        devices: By node and name.
        claims: Names of all claims that exist.
    """

    rows: tuple[Row, ...]
    devices: tuple[Device, ...]
    claims: tuple[str, ...]

    @property
    def held(self) -> int:
        """How many devices are held by a claim."""
        return sum(device.held for device in self.devices)

    def of(self, prefix: str) -> tuple[Row, ...]:
        """Return the rows of pods whose name begins so."""
        return tuple(row for row in self.rows if row.pod.startswith(prefix))

    def all_are(self, state: State, prefix: str, count: int) -> bool:
        """Whether there are `count` rows of these pods, all in the state."""
        rows = self.of(prefix)
        return len(rows) == count and all(row.state is state for row in rows)


def overview_of(
    pods: Iterable[Json], claims: Iterable[Json], templates: Iterable[Json], slices: Iterable[Json]
) -> Overview:
    """Put API objects of one namespace, and the cluster's slices, into one overview."""
    known = {name_of(claim): claim for claim in claims}
    held = {device for claim in known.values() for device in devices_of(claim)}
    present = {name_of(template) for template in templates}
    return Overview(
        rows=tuple(
            row for pod in sorted(pods, key=name_of) for row in rows_of(pod, known, present)
        ),
        devices=tuple(
            Device(node, name, (node, name) in held)
            for node, name in sorted(
                (one["spec"]["pool"]["name"], device["name"])
                for one in slices
                for device in one["spec"].get("devices") or ()
            )
        ),
        claims=tuple(sorted(known)),
    )


def rows_of(pod: Json, claims: Mapping[str, Json], templates: set[str]) -> Iterator[Row]:
    """Yield one row for each entry of a pod."""
    status = pod.get("status", {})
    bound = {
        entry["name"]: entry.get("resourceClaimName", "")
        for entry in status.get("resourceClaimStatuses", ())
    }
    for entry in pod["spec"].get("resourceClaims", ()):
        claim = claims.get(entry.get("resourceClaimName") or bound.get(entry["name"], ""))
        template_missing = entry.get("resourceClaimTemplateName", "") not in {*templates, ""}
        users = users_of(claim) if claim else ()
        uses = pod["metadata"]["uid"] in users
        device = next(iter(devices_of(claim)), ("", ""))[1] if claim and uses else ""
        yield Row(
            pod=name_of(pod),
            claim=name_of(claim) if claim else "",
            device=device,
            node=pod["spec"].get("nodeName", ""),
            state=state_of(
                status.get("phase", ""), claim is not None, uses, template_missing=template_missing
            ),
            users=len(users),
        )


def state_of(phase: str, has_claim: bool, uses: bool, *, template_missing: bool) -> State:
    """Tell how far a pod is with a claim.

    Args:
        phase: The pod's.
        has_claim: Whether the claim exists and the pod's status or spec names it.
        uses: Whether the claim is reserved for the pod, which means that it has its device.
        template_missing: Whether the entry names a template that does not exist.
    """
    if phase in FINAL:
        return State.RELEASING if uses else State.FINISHED
    if uses:
        return State.RUNNING if phase == "Running" else State.SCHEDULED
    if has_claim:
        return State.NO_DEVICE
    return State.NO_TEMPLATE if template_missing else State.NO_CLAIM


def devices_of(claim: Json) -> list[tuple[str, str]]:
    """Return the devices allocated for a claim as (pool, device); a pool is a node's here."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return [(result["pool"], result["device"]) for result in results]


def users_of(claim: Json) -> tuple[str, ...]:
    """Return the UIDs for which a claim is reserved."""
    return tuple(user["uid"] for user in claim.get("status", {}).get("reservedFor") or ())


def name_of(manifest: Json) -> str:
    """Return an object's name."""
    name: str = manifest["metadata"]["name"]
    return name
