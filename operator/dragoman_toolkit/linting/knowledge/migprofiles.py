"""MIG profiles of NVIDIA's GPUs.

Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, supported MIG profiles; the driver
publishes them as attribute `profile` (kubernetes-sigs/dra-driver-nvidia-gpu, mig.go).
"""

import re

from dragoman_base.words.spelling import closest

_MEMORY = {
    # Memory of one slice, of a double slice, of half the GPU, of the whole GPU in GB
    "A100 40GB": (5, 10, 20, 40),
    "A100 80GB, H100 80GB": (10, 20, 40, 80),
    "H100 64GB": (8, 16, 32, 64),
    "H100 94GB": (12, 24, 47, 94),
    "H100 96GB, H20, GH200": (12, 24, 48, 96),
    "H100 PCIe 94GB": (11, 22, 47, 94),
    "H200": (18, 35, 71, 141),
    "GH200 144GB": (18, 36, 72, 144),
    "B200": (23, 45, 90, 180),
    "GB200": (24, 47, 95, 189),
    "GB200 186GB": (23, 47, 93, 186),
    "B300": (34, 67, 135, 269),
    "GB300": (35, 70, 139, 278),
}
_QUARTERS = {"A30": (6, 12, 24), "RTX PRO 6000": (24, 48, 96), "RTX PRO 5000": (12, 24, 48)}
"""GPUs with four slices: memory of one, of two and of all."""
_SUFFIX = re.compile(r"(\+me|\+gfx|\+me\.all|-me|\+me,gfx|\+gfx\.all)$")
_INSTANCE = re.compile(r"^[1-7]c\.")


def _profiles() -> frozenset[str]:
    found = set()
    for one, double, half, whole in _MEMORY.values():
        found |= {f"1g.{one}gb", f"1g.{double}gb", f"2g.{double}gb"}
        found |= {f"3g.{half}gb", f"4g.{half}gb", f"7g.{whole}gb"}
    for one, double, whole in _QUARTERS.values():
        found |= {f"1g.{one}gb", f"2g.{double}gb", f"4g.{whole}gb"}
    return frozenset(found)


PROFILES = _profiles()


def nearest_profile(value: str) -> str | None:
    """Return what a profile that no GPU has was meant to be.

    Returns:
        None where GPUs have it, an empty text where nothing is near.
    """
    plain = _SUFFIX.sub("", _INSTANCE.sub("", value))
    if plain in PROFILES:
        return None
    if len(value) > 32:
        return ""
    tidy = re.sub(r"[\s_-]", "", plain.lower().removeprefix("mig").removeprefix("nvidia.com/mig"))
    tidy = tidy if tidy.endswith("gb") else f"{tidy.removesuffix('g')}gb"
    if tidy in PROFILES:
        return value.replace(plain, tidy)
    # Another number of slices or gigabytes is another profile: nothing certain is near.
    guess = closest(
        tidy, [one for one in PROFILES if one.replace(".", "") == tidy.replace(".", "")]
    )
    return guess or ""
