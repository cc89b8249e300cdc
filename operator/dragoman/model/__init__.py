"""Facts: the objects of the cluster, parsed once at the edge, holding only what decisions use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.model.allocated import AllocatedDevice, Held
    from dragoman.model.claim import Claim, Consumer
    from dragoman.model.clustertemplate import ClusterTemplate, Namespace
    from dragoman.model.fields import Document, MalformedObjectError
    from dragoman.model.holder import ClaimEntry, ClaimHolder
    from dragoman.model.metadata import Metadata, Owner
    from dragoman.model.nodehealth import NodeHealth
    from dragoman.model.pod import Pod
    from dragoman.model.podgroup import PodGroup
    from dragoman.model.taints import Toleration
    from dragoman.model.template import Template

__all__ = [
    "AllocatedDevice",
    "Claim",
    "ClaimEntry",
    "ClaimHolder",
    "ClusterTemplate",
    "Consumer",
    "Document",
    "Held",
    "MalformedObjectError",
    "Metadata",
    "Namespace",
    "NodeHealth",
    "Owner",
    "Pod",
    "PodGroup",
    "Template",
    "Toleration",
]

_MODULES = {
    "allocated": ("AllocatedDevice", "Held"),
    "claim": ("Claim", "Consumer"),
    "clustertemplate": ("ClusterTemplate", "Namespace"),
    "fields": ("Document", "MalformedObjectError"),
    "holder": ("ClaimEntry", "ClaimHolder"),
    "metadata": ("Metadata", "Owner"),
    "nodehealth": ("NodeHealth",),
    "pod": ("Pod",),
    "podgroup": ("PodGroup",),
    "taints": ("Toleration",),
    "template": ("Template",),
}
"""What each module defines: loaded on first use, because the allocator needs `fields` alone."""


def __getattr__(name: str) -> Any:
    """Load a module on first use of what it defines."""
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
