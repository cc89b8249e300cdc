"""From nothing to an image: a root file system, and the archive that container runtimes import."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dragoman import __version__
from tests.image.application import APP, CHECKOUT, compile_all, install
from tests.image.architecture import Architecture, native
from tests.image.debian import unpack_base
from tests.image.oci import Settings, write_archive
from tests.image.sbom import PLACE, bill, debian_packages, python_packages

NAME = f"localhost/dragoman:{__version__}"
USER = 65532
ENTRYPOINT = ("/usr/bin/python3", "-P", "-m", "dragoman")
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": f"/{APP}",
    "PYTHONUNBUFFERED": "1",
    "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
}
REVISION = ("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")


@dataclass(frozen=True, slots=True)
class Image:
    """What was built.

    Attributes:
        root: Folder with the root file system.
        archive: The OCI archive.
        sbom: Its bill of materials, which lies in the image too.
        digest: Of its manifest.
    """

    root: Path
    archive: Path
    sbom: Path
    digest: str


def build(folder: Path, architecture: Architecture | None = None) -> Image:
    """Build root file system and archive below `folder`; what was there is replaced.

    Args:
        folder: Where both are put.
        architecture: For which they are; this machine's when absent.

    Raises:
        MmdebstrapMissingError: There is no mmdebstrap.
    """
    architecture = architecture or native()
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"dragoman-{__version__}-linux-{architecture.name}.oci.tar"
    root = folder / f"rootfs-{architecture.name}"
    with tempfile.TemporaryDirectory(dir=folder) as workshop:
        fresh = Path(workshop) / "rootfs"
        _fill(fresh, architecture)
        given = settings(architecture)
        _describe(fresh, given)
        digest = write_archive(fresh, given, Path(workshop) / "archive")
        shutil.rmtree(root, ignore_errors=True)
        fresh.rename(root)
        (Path(workshop) / "archive").rename(archive)
    sbom = folder / archive.name.replace(".oci.tar", ".cdx.json")
    shutil.copyfile(root / PLACE, sbom)
    return Image(root, archive, sbom, digest)


def settings(architecture: Architecture) -> Settings:
    """Return what the image says of itself; the Dockerfile says the same."""
    return Settings(
        name=NAME,
        architecture=architecture.name,
        entrypoint=ENTRYPOINT,
        user=f"{USER}:{USER}",
        environment=ENVIRONMENT,
        epoch=int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct") or 0),
        labels={
            "org.opencontainers.image.description": "The control plane of Kubernetes Dynamic "
            "Resource Allocation: claims, driver configs, CEL",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.revision": _git(*REVISION) or "unknown",
            "org.opencontainers.image.title": "dragoman",
            "org.opencontainers.image.version": __version__,
        },
    )


def _fill(root: Path, architecture: Architecture) -> None:
    root.mkdir()
    unpack_base(root, architecture)
    install(root, architecture)
    _trust(root)
    _compile(root, architecture)


def _describe(root: Path, given: Settings) -> None:
    """Write the bill of materials of what is in the root file system."""
    components = [
        *python_packages(root / APP),
        *debian_packages(root / "var/lib/dpkg/status.d", given.architecture),
    ]
    made = bill(
        components,
        version=__version__,
        revision=given.labels["org.opencontainers.image.revision"],
        architecture=given.architecture,
        epoch=given.epoch,
    )
    path = root / PLACE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(made, indent=1, sort_keys=True))


def _trust(root: Path) -> None:
    """Trust the authorities of the pinned wheel; a cluster's own comes with the kubeconfig."""
    link = root / "etc/ssl/certs/ca-certificates.crt"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"/{APP}/certifi/cacert.pem")


def _compile(root: Path, architecture: Architecture) -> None:
    here = native()
    if architecture == here:
        compile_all(root, root, here)
        return
    with tempfile.TemporaryDirectory() as base:
        unpack_base(Path(base), here)
        compile_all(root, Path(base), here)


def _git(*arguments: str) -> str:
    """Return what git says, nothing outside a checkout."""
    answer = subprocess.run(
        ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()
