"""Run a root file system as a container runtime would, with nothing but util-linux and chroot.

Read-only root, the image's own user, environment and entry point, no privileges to gain; a private
mount namespace that ends with the process. The network is this machine's.
"""

import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tests.image.extraction import extract

_RUN = """
chroot=$1 root=$2 run=$3 user=$4; shift 4
mount --bind "$root" "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o nosuid,nodev,size=16m tmpfs "$root/tmp"
mount --bind "$run" "$root/run"
mount -o remount,bind,ro "$root/run"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs "$chroot" --userspec="$user" --groups= "$root" "$@"
"""


def unpack(archive: Path, root: Path) -> dict[str, Any]:
    """Unpack the layer of an OCI archive, and return the `config` of its configuration."""
    root.mkdir(exist_ok=True)
    root.chmod(0o755)  # a layer does not speak of its root
    with tarfile.open(archive) as blobs:

        def content(name: str) -> IO[bytes]:
            found = blobs.extractfile(name)
            assert found is not None, f"{name} is no file of the archive"
            return found

        def blob(descriptor: Mapping[str, Any]) -> IO[bytes]:
            return content("blobs/" + descriptor["digest"].replace(":", "/"))

        index = json.load(content("index.json"))
        manifest = json.load(blob(index["manifests"][0]))
        (layer,) = manifest["layers"]
        with tarfile.open(fileobj=blob(layer)) as files:
            extract(files, root)
        config: dict[str, Any] = json.load(blob(manifest["config"]))["config"]
    return config


def command(
    root: Path,
    config: Mapping[str, Any],
    arguments: Sequence[str],
    *,
    run: Path,
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the command that runs a container; only root may run it.

    Args:
        root: Its root file system.
        config: The image's `config`: Entrypoint, Env, User.
        arguments: What follows the entry point.
        run: A folder that it finds, read-only, at /run, where Kubernetes mounts its secrets.
        environment: Variables beside the image's own.
    """
    given = {**dict(one.split("=", 1) for one in config["Env"]), **(environment or {})}
    chroot = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin") or "chroot"
    script = ["/bin/sh", "-euc", _RUN, "sh", chroot, str(root), str(run), config["User"]]
    return [
        *("/usr/bin/env", "-i", *(f"{name}={text}" for name, text in given.items())),
        *("/usr/bin/unshare", "--mount", "--propagation=private", *script),
        *config["Entrypoint"],
        *arguments,
    ]
