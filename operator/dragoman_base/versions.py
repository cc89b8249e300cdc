"""Versions of Kubernetes: which are known, how one is read, and what each serves no more.

docs/kubernetes-versions.md lists what a new one needs.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

Version = tuple[int, int]

OLDEST: Version = (1, 34)
"""The first version that serves resource.k8s.io/v1."""
DEFAULT: Version = (1, 36)
"""How a cluster behaves that does not say its version."""
RELEASED: Version = (1, 37)
"""The newest release; what is known of a later version is that of a pre-release."""
NEWEST: Version = (1, 38)
"""What is newer counts as this, and every answer about it says so: see `beyond`."""
KNOWN: tuple[Version, ...] = tuple((1, minor) for minor in range(OLDEST[1], NEWEST[1] + 1))

NEXT: Version = (NEWEST[0], NEWEST[1] + 1)
"""The release whose removals are known, and nothing else of it."""
TARGETS = (*KNOWN, NEXT)
_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
GROUP = "resource.k8s.io"
"""The API group of Dynamic Resource Allocation."""
REMOVED_IN: Mapping[tuple[str, str], Version] = MappingProxyType(
    {
        **{("v1beta1", kind): (1, 38) for kind in _KINDS},
        **{("v1beta2", kind): (1, 39) for kind in _KINDS},
        ("v1alpha3", "DeviceTaintRule"): (1, 39),
        ("v1beta2", "DeviceTaintRule"): (1, 42),
        ("v1alpha3", "ResourcePoolStatusRequest"): (1, 42),
    }
)
"""First release without a kind in a version of resource.k8s.io, by version and kind.

Source: k8s.io/api v0.38.0-beta.0, resource/*/zz_generated.prerelease-lifecycle.go.
"""

OWN_DOMAIN_REFUSED: Version = (1, 38)
"""First release of the drivers' helper library that publishes no slice with a name that carries the
driver's own domain (kubernetes#142218)."""


class HasVersion(Protocol):
    """An object that behaves as one version."""

    @property
    def version(self) -> Version:
        """The version."""


class Since:
    """A field that states whether the version has a behaviour that came with a minor version."""

    def __init__(self, minor: int) -> None:
        self._first = (1, minor)

    def __get__(self, instance: HasVersion, owner: Any) -> bool:
        return instance.version >= self._first


_RELEASE = re.compile(
    r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[.+-].*)?", re.ASCII | re.DOTALL
)


def parse_release(text: str) -> tuple[int, int, int]:
    """Read a release such as `v1.36.3`, also with a vendor's suffix; the patch is 0 where unsaid.

    Raises:
        ValueError: The text is no version.
    """
    match = _RELEASE.fullmatch(text)
    if match is None:
        shown = text if len(text) <= 32 else f"{text[:32]}…"
        raise ValueError(
            f"invalid Kubernetes version {shown!r}: expected one such as 1.36 or v1.36.2"
        )
    return int(match[1]), int(match[2]), int(match[3] or 0)


def parse(text: str) -> Version:
    """Read the first two numbers of a version, as of `1.36` or `v1.36.2`; raise ValueError."""
    return parse_release(text)[:2]


def known(version: Version) -> Version:
    """Return the known version whose behaviour a version has.

    Raises:
        ValueError: It is older than the oldest one.
    """
    if version < OLDEST:
        raise ValueError(
            f"Kubernetes {name(version)} is too old: resource.k8s.io/v1 exists since {name(OLDEST)}"
        )
    return min(version, NEWEST)


def name(version: Version) -> str:
    """Return a version as text, such as `1.36`."""
    return "{}.{}".format(*version)


def beyond(text: str) -> str:
    """Return what to say of answers about a cluster that is newer than what is known.

    Args:
        text: The server's version, such as `v1.36.3`.

    Returns:
        The words; empty for a version that is known, and for a text that is none.
    """
    try:
        version = parse(text)
    except ValueError:
        return ""
    if version <= NEWEST:
        return ""
    return f"by the rules of {name(NEWEST)}; this cluster is {name(version)}"


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
    return REMOVED_IN.get((version, kind)) if group == GROUP else None
