"""Where objects have their driver configs; loads nothing, so that others may ask it first."""

from collections.abc import Mapping
from typing import Any

CLUSTER_TEMPLATE = "ClusterResourceClaimTemplate"
PLACES: Mapping[str, tuple[str, ...]] = {
    "ResourceClaim": ("spec", "devices"),
    "ResourceClaimTemplate": ("spec", "spec", "devices"),
    CLUSTER_TEMPLATE: ("spec", "template", "spec", "devices"),
    "DeviceClass": ("spec",),
}

KINDS = tuple(PLACES)
"""The kinds that carry config entries; CLUSTER_TEMPLATE is of dragoman.dev, others of DRA."""


def holder_of(kind: str, document: Any) -> Any:
    """Find the part of an object that holds its entries and requests, all that a review reads.

    Returns:
        None without such a part, and for kinds other than `KINDS`.
    """
    place = PLACES.get(kind, ())
    holder = document if place else None
    for name in place:
        holder = holder.get(name) if isinstance(holder, dict) else None
    return holder
