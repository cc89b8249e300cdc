"""Images in place of those that Kubernetes' own tests pull: a shell, and what runs beside it.

The shell is Debian's static busybox, unpacked into the cache and not installed. The driver's pods
join sockets with go/relay; the device plugin is built from Kubernetes' own module.
"""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.controlplane import artifacts, binaries
from tests.support.controlplane.libraries import unpack
from tests.support.controlplane.node.image import write_image
from tests.upstream.versions import needs

PACKAGE = "busybox-static"
REGISTRY = "registry.k8s.io"


@dataclass(frozen=True, slots=True)
class Image:
    """One image of this suite.

    Attributes:
        reference: By which the tests name it.
        program: The recipe of the program in it, if there is one beside the shell.
        path: Of that program.
        entry: Whether containers run it that name no command.
    """

    reference: str
    program: str = ""
    path: str = ""
    entry: bool = field(default=False, kw_only=True)


def images(version: str) -> list[Image]:
    """Return the images that the tests of a Kubernetes version need."""
    tags = needs(version)
    tests = f"{REGISTRY}/e2e-test-images"
    device = "sample-device-plugin"
    return [
        Image(f"{tests}/busybox:{tags.shell}"),
        Image(f"{REGISTRY}/sig-storage/hostpathplugin:{tags.proxy}", "relay", "hostpathplugin"),
        Image(f"{tests}/{device}:{tags.plugin}", device, device, entry=True),
    ]


def write(version: str, folder: Path) -> list[Path]:
    """Write an archive of each image."""
    shell = busybox(artifacts.cache_root())
    links = {f"bin/{name}": "busybox" for name in commands(shell)}
    made = []
    for number, one in enumerate(images(version)):
        programs = {"bin/busybox": shell}
        if one.program:
            programs[one.path] = binaries.find([one.program], version)[one.program]
        entry = one.path if one.entry else ""
        archive = folder / f"{number}.tar"
        made.append(write_image(archive, one.reference, programs, links=links, entry=entry))
    return made


def busybox(cache: Path) -> Path:
    """Return a busybox that needs no libraries, fetching it once.

    Raises:
        RuntimeError: It is not in the cache, and Debian's tools cannot fetch it.
    """
    home = cache / PACKAGE
    if not home.exists():
        unpack(PACKAGE, home)
    return next(home.rglob("bin/busybox"))


def commands(shell: Path) -> list[str]:
    """Return the names by which busybox is called, but for its own."""
    listed = subprocess.run([shell, "--list"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if name != "busybox"]
