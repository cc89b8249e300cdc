"""The architectures that an image can be for."""

import platform
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture under the names that different worlds give it.

    Attributes:
        name: In images and in Debian, such as `amd64`.
        machine: What `uname -m` says.
        wheels: What `uv --python-platform` calls it.
        loader: Path of the dynamic loader below a root file system.
    """

    name: str
    machine: str
    wheels: str
    loader: str

    @property
    def libraries(self) -> str:
        """Path of the shared libraries below a root file system."""
        return f"usr/lib/{self.machine}-linux-gnu"


AMD64 = Architecture("amd64", "x86_64", "x86_64-manylinux_2_28", "lib64/ld-linux-x86-64.so.2")
ARM64 = Architecture("arm64", "aarch64", "aarch64-manylinux_2_28", "lib/ld-linux-aarch64.so.1")
ARCHITECTURES = {one.name: one for one in (AMD64, ARM64)}


def native() -> Architecture:
    """Return this machine's.

    Raises:
        RuntimeError: No image can be for it.
    """
    for one in ARCHITECTURES.values():
        if one.machine == platform.machine():
            return one
    raise RuntimeError(f"no image is made for {platform.machine()}")
