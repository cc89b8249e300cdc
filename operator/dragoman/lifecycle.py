"""Which release of Kubernetes serves a version of resource.k8s.io no more.

Source: k8s.io/api v0.37.1, resource/*/zz_generated.prerelease-lifecycle.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dragoman.versions import KNOWN, NEWEST, Version, name, parse

NEXT: Final[Version] = (NEWEST[0], NEWEST[1] + 1)
"""The release whose removals are known, and nothing else of it."""
TARGETS: Final = (*KNOWN, NEXT)
_KINDS: Final = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
REMOVED_IN: Final[Mapping[tuple[str, str], Version]] = MappingProxyType(
    {
        **{("v1beta1", kind): (1, 38) for kind in _KINDS},
        **{("v1beta2", kind): (1, 39) for kind in _KINDS},
        ("v1alpha3", "DeviceTaintRule"): (1, 39),
        ("v1beta2", "DeviceTaintRule"): (1, 42),
        ("v1alpha3", "ResourcePoolStatusRequest"): (1, 42),
    }
)
"""First release without a kind in a version, by version and kind."""

GATES_REMOVED_IN: Final[Mapping[str, Version]] = MappingProxyType(
    {
        "KubeletPodResourcesDynamicResources": (1, 37),
        "KubeletPodResourcesGet": (1, 37),
        "DynamicResourceAllocation": (1, 38),
        "DRAAdminAccess": (1, 39),
    }
)
"""First release that does not know a gate, and whose components end where a flag sets it.

Source: the comments of pkg/features/kube_features.go in Kubernetes 1.36.3.
"""
OWN_DOMAIN_REFUSED: Final[Version] = (1, 38)
"""First release of the drivers' helper library that publishes no slice with a name that carries the
driver's own domain (kubernetes#142218)."""


def target(text: str) -> Version:
    """Read a target; raise ValueError naming those that are known."""
    version = parse(text)
    if version not in TARGETS:
        listed = ", ".join(map(name, TARGETS))
        raise ValueError(f"Kubernetes {text} is not known; known: {listed}")
    return version


def removal(api_version: str, kind: str) -> Version | None:
    """Return the first release that serves a kind in a version no more, None if none is known."""
    group, _, version = api_version.partition("/")
    return REMOVED_IN.get((version, kind)) if group == "resource.k8s.io" else None
