"""Where etcd and kube-apiserver are: a folder of the user's, PATH, the cache, or a download.

In this order: the folder that is given, `KUBEBUILDER_ASSETS`, PATH, the cache below
`$XDG_CACHE_HOME/dragoman/controlplane/<version>`, and the official release (see `official`).
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from dragoman_drivers.throwaway import downloads, official
from dragoman_drivers.throwaway.downloads import DownloadError

KUBERNETES = "v1.36.3"
"""The release that is fetched unless the user names another."""
NAMES = ("etcd", "kube-apiserver")
Say = Callable[[str], None]


class MissingAssetError(Exception):
    """A binary is nowhere; the message names the remedies."""


def find(folder: Path | None, version: str = KUBERNETES, say: Say = print) -> dict[str, Path]:
    """Return the path of etcd and of kube-apiserver.

    Args:
        folder: Holds both, if given; no other place is searched then.
        version: Of Kubernetes, for the cache and for downloads.
        say: Called with a line about each download.

    Raises:
        MissingAssetError: One of them is nowhere and cannot be fetched.
    """
    return {name: _find(name, folder, version, say) for name in NAMES}


def cache_root() -> Path:
    """Return the folder of binaries that are fetched or built once per machine."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman" / "controlplane"


def _find(name: str, folder: Path | None, version: str, say: Say) -> Path:
    if folder:
        if not (folder / name).is_file():
            raise MissingAssetError(f"--assets {folder}: {name} is not in it")
        return folder / name
    envtest = os.environ.get("KUBEBUILDER_ASSETS")
    places = [Path(envtest) / name] if envtest else []
    on_path = shutil.which(name)
    places += [Path(on_path)] if on_path else []
    places.append(cache_root() / version / name)
    for place in places:
        if place.is_file():
            return place
    return _fetched(name, version, say)


def _fetched(name: str, version: str, say: Say) -> Path:
    target = cache_root() / version / name
    try:
        say(f"{name} {version}: downloading the official release")
        if pin := downloads.pinned(name, version):
            downloads.fetch(pin, target)
        elif downloads.unpinned_allowed():
            say(official.fetch(name, version, target, cache_root() / "digests", lambda *_: None))
        else:
            return _absent(name, f"{downloads.ALLOWED} or CI allows only pinned downloads")
    except DownloadError as error:
        return _absent(name, str(error))
    return target


def _absent(name: str, why: str) -> NoReturn:
    raise MissingAssetError(
        f"{name} is neither in KUBEBUILDER_ASSETS nor on PATH, and cannot be fetched: {why}. "
        "Name a folder that holds etcd and kube-apiserver with --assets; "
        "`setup-envtest use -p path` of controller-runtime prints one"
    )
