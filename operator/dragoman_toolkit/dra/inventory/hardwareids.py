"""Devices by what monitoring prints of them: UUIDs, PCI addresses and serial numbers."""

import re
from collections.abc import Iterator

from dragoman.inventory.inventory import Inventory, InventoryDevice

_NAMES = re.compile(r"(?i)uuid|guid|serial|pci|bdf|bus|addr|mac|id$")
"""Attributes that identify a device; each driver names its own."""
_UUID = re.compile(r"(?:[a-z]{2,5}-)?[0-9a-f]{8}[-0-9a-f]*", re.ASCII)
_PCI = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.ASCII)


def devices_with(inventory: Inventory, text: str) -> list[InventoryDevice]:
    """Return the devices that an identifier means, in their order; case does not count.

    A PCI address may have any number of zeros in its domain, or none: nvidia-smi prints
    `00000000:0A:00.0` where drivers publish `0000:0a:00.0`.
    """
    wanted = _plain(text)
    if len(wanted) < 4:
        return []
    known = {key: {*_identifiers(one)} for key, one in inventory.devices.items()}
    found = [inventory.devices[key] for key, there in known.items() if wanted in there]
    if found or not _UUID.fullmatch(wanted):
        return found
    # As much of a UUID as tools print, with or without what stands before it.
    bare = _bare(wanted)
    return [
        inventory.devices[key]
        for key, there in known.items()
        if any(_UUID.fullmatch(one) and _bare(one).startswith(bare) for one in there)
    ]


def _bare(uuid: str) -> str:
    """Return a UUID without the kind of the device before it."""
    return uuid if re.match(r"[0-9a-f]{8}", uuid) else uuid.partition("-")[2]


def _identifiers(device: InventoryDevice) -> Iterator[str]:
    for name, value in (device.content.attributes if device.content else {}).items():
        if _NAMES.search(name.rpartition("/")[2]):
            for found in value.values():
                yield from (
                    _plain(str(one)) for one in (found if isinstance(found, list) else [found])
                )


def _plain(text: str) -> str:
    lower = text.strip().lower()
    found = _PCI.fullmatch(lower)
    if found is None:
        return lower
    domain, *rest = found.groups()
    return ":".join((f"{int(domain or '0', 16):x}", *rest))
