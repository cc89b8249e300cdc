"""What is prepared, on disk: it survives SIGKILL, and two instances of the driver share it."""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman_base import files
from dragoman_drivers.kubeletplugin.messages import ClaimReference, PreparedDevice
from dragoman_drivers.pretend.preparation import Preparation
from dragoman_toolkit.replacing import replace_file

VERSION = 1
ADDED = ("consumed", "podClaim")
"""Fields that the first release neither wrote nor read. They have defaults, and a release that does
not know them ignores them: then an upgrade and a downgrade keep what is prepared."""
Prepared = dict[str, Preparation]
"""Preparations by claim UID."""


class CheckpointError(ValueError):
    """The file is no checkpoint of this version; the message says why."""


class Checkpoint:
    """Reads and writes the checkpoint below a folder.

    Args:
        folder: Of the driver.

    Attributes:
        first: Whether it is that of the first release, without what `ADDED` names.
    """

    def __init__(self, folder: Path) -> None:
        self.first = False
        self.path = folder / "checkpoint.json"
        self._lock = folder / "serialize.lock"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads and other instances of the driver out."""
        with self._lock.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def read(self) -> Prepared:
        """Return what is prepared; nothing where there is no file.

        Raises:
            CheckpointError: The file is broken or of another version.
        """
        try:
            tree = json.loads(files.read_text(self.path))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.path}: invalid JSON ({error})") from error
        if not isinstance(tree, dict) or tree.get("version") != VERSION:
            raise CheckpointError(f"{self.path}: not version {VERSION}")
        try:
            return {one["claim"]["uid"]: _preparation(self._known(one)) for one in tree["claims"]}
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"{self.path}: malformed entry ({error!r})") from error

    def write(self, prepared: Mapping[str, Preparation]) -> None:
        """Replace the file."""
        claims = [dict(self._known(_tree(one))) for one in prepared.values()]
        text = json.dumps({"version": VERSION, "claims": claims})
        replace_file(self.path, text.encode(), mode=0o600)

    def _known(self, tree: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what this release knows of an entry."""
        return {key: one for key, one in tree.items() if not (self.first and key in ADDED)}


def _tree(one: Preparation) -> dict[str, Any]:
    return {
        "claim": asdict(one.claim),
        "devices": [asdict(device) for device in one.devices],
        "configs": [[*key, value] for key, value in one.configs.items()],
        "owned": sorted(one.owned),
        "consumed": [list(entry) for entry in one.consumed],
        "podClaim": one.pod_claim,
    }


def _preparation(tree: Mapping[str, Any]) -> Preparation:
    devices = tuple(
        PreparedDevice(**{**one, "requests": tuple(one["requests"]), "cdi": tuple(one["cdi"])})
        for one in tree["devices"]
    )
    return Preparation(
        ClaimReference(**tree["claim"]),
        devices,
        {(name, share): value for name, share, value in tree["configs"]},
        frozenset(tree["owned"]),
        tuple((device, name, amount) for device, name, amount in tree.get("consumed", ())),
        tree.get("podClaim", ""),
    )
