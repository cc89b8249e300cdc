"""What a hold or drain would do, in counts and names, before anything is written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dragoman.inventory.inventory import InventoryDevice
from dragoman.maintenance.actions import CreateTaintRule
from dragoman.maintenance.plan import MaintenanceFacts, evictions, plan, unmanaged
from dragoman.model.deviceid import DeviceID
from dragoman_base import words
from dragoman_base.words import counted

NAMES = 10
"""Names of one kind that are written out."""


@dataclass(frozen=True, slots=True)
class MaintenancePreview:
    """The effect of a command."""

    devices: tuple[DeviceID, ...]  # The target
    used: tuple[DeviceID, ...] = ()  # Devices of it that claims have
    claims: tuple[str, ...] = ()  # `namespace/name` of these claims
    pods: tuple[str, ...] = ()  # `namespace/name` of the pods that use the claims
    evicted: tuple[str, ...] = ()  # Pods that would be evicted, in order
    # Why the Eviction API would refuse a pod now, by `namespace/name`
    refusals: Mapping[str, str] | None = None
    # Pods to be evicted that have no controller, so that nothing replaces them
    unmanaged: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()  # Those of them that stay for this reason
    unused: tuple[str, ...] = ()  # Claims that have a device although no pod uses them
    admin: tuple[str, ...] = ()  # Pods with admin access to the devices, which stay
    rules: int = 0  # DeviceTaintRules that would be created
    held: tuple[DeviceID, ...] = ()  # Devices that are held already

    def lines(self) -> Iterator[str]:
        """Yield the preview in words, most important first."""
        text = counted(len(self.devices), "device")
        if not self.used:
            text += ", used by no claim"
        else:
            pods = counted(len(self.pods), "pod")
            text += f", used by {counted(len(self.claims), 'claim')}, {pods}"
        if self.pods:
            text += f": {listed(self._pod(pod) for pod in self.pods)}"
        yield text
        if self.spared:
            yield f"refused without --force, because no controller replaces {listed(self.spared)}"
        elif self.unmanaged:
            yield f"no controller replaces {listed(self.unmanaged)}"
        if self.unused:
            unused = listed(self.unused, "claim")
            yield f"no pod uses {unused}: the device is in use until the claim is deleted"
        if self.admin:
            yield f"admin access, which a hold does not end: {listed(self.admin)}"
        if self.held:
            yield f"held already: {listed(map(str, self.held))}"

    def _pod(self, pod: str) -> str:
        refusal = (self.refusals or {}).get(pod)
        return f"{pod} ({refusal})" if refusal else pod


def preview(
    facts: MaintenanceFacts,
    devices: Iterable[InventoryDevice],
    refusals: Mapping[str, str] | None = None,
) -> MaintenancePreview:
    """Return what carrying out the plans for these facts would do.

    Args:
        facts: As for `plan`.
        devices: The same devices, for their admin access.
        refusals: Of `budgets.predict`; None where budgets were not read.
    """
    first = plan(facts)
    return MaintenancePreview(
        devices=facts.devices,
        used=first.busy,
        claims=tuple(claim.key for claim in first.claims),
        pods=tuple(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in first.pods),
        evicted=tuple(one.key for one in evictions(facts)),
        refusals=refusals,
        unmanaged=unmanaged(replace(facts, unmanaged=False)),
        spared=first.unmanaged,
        unused=tuple(claim.key for claim in first.claims if not claim.consumers),
        admin=tuple(sorted(_admin(devices))),
        rules=sum(isinstance(one, CreateTaintRule) for one in first.actions),
        held=tuple(one for one in facts.devices if one not in first.unheld),
    )


def _admin(devices: Iterable[InventoryDevice]) -> set[str]:
    return {
        user.key
        for device in devices
        for holding in device.holdings
        if holding.result.admin
        for user in holding.users
    }


def listed(names: Iterable[str], noun: str = "") -> str:
    """Return names with commas between them, shortened; the noun stands before the first."""
    found = [*names]
    head = f"{noun if len(found) == 1 else noun + 's'} " if noun else ""
    return head + words.listed(found, NAMES)
