"""MIG profiles of NVIDIA's GPUs, by the rule that makes their names.

A profile is named `SLICESg.MEMORYgb`; its memory is a number of eighths of the GPU's, rounded to
GB, so that a GPU is known by its memory alone. A GPU of more memory than any known one is judged by
the form of its profiles only.

Sources: docs.nvidia.com/datacenter/tesla/mig-user-guide, supported GPUs and MIG profiles;
NVIDIA/go-nvlib, mig_profile.go (`getMigMemorySizeGB`); the driver publishes them as attribute
`profile` (kubernetes-sigs/dra-driver-nvidia-gpu, mig.go).
"""

import re

from dragoman_base.words.spelling import closest

_EIGHTHS = {1: (1, 2), 2: (2,), 3: (4,), 4: (4,), 7: (8,)}
"""Eighths of the memory by slices, where a GPU has seven slices."""
_QUARTERED = {1: (2,), 2: (4,), 4: (8,)}
"""The same where it has four."""
# GB of A100 40GB, H100 64GB, A100 and H100 80GB, H100 94GB, H100 96GB and H20 and GH200, H200,
# GH200 144GB, B200, GB200 186GB, GB200, B300, GB300
_MEMORY = (40, 64, 80, 94, 96, 141, 144, 180, 186, 189, 269, 278)
# GB of A30, RTX PRO 5000 of both sizes, RTX PRO 6000
_QUARTERED_MEMORY = (24, 48, 72, 96)
_EXCEPTIONS = frozenset({"1g.11gb", "1g.22gb", "2g.22gb"})
"""H100 PCIe 94GB: the documentation rounds down."""
_PROFILE = re.compile(
    r"(?:([1-7])c\.)?([1-7])g\.([1-9]\d{0,3})gb(?:\+(?:me|gfx)(?:\.all)?(?:,gfx)?|-me)?", re.ASCII
)


def _part(eighths: int, memory: int) -> int:
    """Return the GB of a profile, halves rounded up."""
    return (2 * eighths * memory + 8) // 16


def _profiles() -> frozenset[str]:
    sorts = ((_EIGHTHS, _MEMORY), (_QUARTERED, _QUARTERED_MEMORY))
    return _EXCEPTIONS | {
        f"{slices}g.{_part(one, memory)}gb"
        for eighths, sizes in sorts
        for slices, parts in eighths.items()
        for one in parts
        for memory in sizes
    }


PROFILES = _profiles()


def is_profile(value: str) -> bool:
    """Tell whether a GPU has a profile, or one of more memory than the known ones may."""
    found = _PROFILE.fullmatch(value)
    if found is None or int(found[1] or 1) > int(found[2]):
        return False
    slices, memory = int(found[2]), int(found[3])
    larger = any(memory > _part(one, max(_MEMORY)) for one in _EIGHTHS.get(slices, ())[-1:])
    return larger or f"{slices}g.{memory}gb" in PROFILES


def nearest_profile(value: str) -> str | None:
    """Return what a profile that no GPU has was meant to be.

    Returns:
        None where GPUs have it, an empty text where nothing is near.
    """
    if is_profile(value):
        return None
    if len(value) > 32:
        return ""
    tidy = re.sub(r"[\s_-]", "", value.lower().removeprefix("nvidia.com/")).removeprefix("mig")
    tidy = tidy.removesuffix("gb").removesuffix("g") + "gb"
    if is_profile(tidy):
        return tidy
    # Another number of slices or gigabytes is another profile: nothing certain is near.
    guess = closest(
        tidy, [one for one in PROFILES if one.replace(".", "") == tidy.replace(".", "")]
    )
    return guess or ""
