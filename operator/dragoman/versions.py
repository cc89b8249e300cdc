"""Versions of Kubernetes: which are known, and how one is read.

docs/kubernetes-versions.md lists what a new one needs.
"""

import re

Version = tuple[int, int]

OLDEST: Version = (1, 34)
"""The first version that serves resource.k8s.io/v1."""
DEFAULT: Version = (1, 36)
"""How a cluster behaves that does not say its version."""
NEWEST: Version = (1, 37)
"""What is newer counts as this."""
KNOWN: tuple[Version, ...] = tuple((1, minor) for minor in range(OLDEST[1], NEWEST[1] + 1))

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
