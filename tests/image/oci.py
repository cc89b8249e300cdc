"""OCI images as archives, made from a root file system by nothing but the standard library.

The same files, settings and date give the same bytes. Formats: OCI image specification 1.1.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class Settings:
    """What an image says besides its files.

    Attributes:
        name: Reference under which it is imported, such as `localhost/dragoman:1.0`.
        architecture: Such as `amd64`.
        entrypoint: Program and first arguments.
        user: `uid:gid` of processes.
        environment: Variables of processes.
        labels: Annotations such as `org.opencontainers.image.version`.
        epoch: Seconds since 1970: the date of the image and the latest one of its files.
    """

    name: str
    architecture: str
    entrypoint: tuple[str, ...]
    user: str
    environment: Mapping[str, str]
    epoch: int
    labels: Mapping[str, str] = field(default_factory=dict)

    def config(self, layer: str) -> dict[str, Any]:
        """Return the image's configuration; `layer` is the digest of its only layer's tar."""
        created = datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "created": created,
            "architecture": self.architecture,
            "os": "linux",
            "config": {
                "User": self.user,
                "Env": [f"{name}={value}" for name, value in sorted(self.environment.items())],
                "Entrypoint": list(self.entrypoint),
                "WorkingDir": "/",
                "Labels": dict(sorted(self.labels.items())),
            },
            "rootfs": {"type": "layers", "diff_ids": [layer]},
            "history": [{"created": created, "created_by": "make image-rootfs"}],
        }


def write_archive(root: Path, settings: Settings, archive: Path) -> str:
    """Write an image with one layer, which holds all of `root`, owned by uid 0.

    Returns:
        The digest of its manifest, `sha256:…`, by which it can be pinned.
    """
    layer = layer_of(root, settings.epoch)
    packed = gzip.compress(layer, 6, mtime=0)
    config = _json(settings.config(digest(layer)))
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": _descriptor(f"{MEDIA}.config.v1+json", config),
            "layers": [_descriptor(f"{MEDIA}.layer.v1.tar+gzip", packed)],
            "annotations": dict(sorted(settings.labels.items())),
        }
    )
    pointer = _descriptor(f"{MEDIA}.manifest.v1+json", manifest) | {
        "platform": {"architecture": settings.architecture, "os": "linux"},
        # The first is for containerd, which wants the whole reference.
        "annotations": {
            "io.containerd.image.name": settings.name,
            "org.opencontainers.image.ref.name": settings.name,
        },
    }
    index = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.index.v1+json",
        "manifests": [pointer],
    }
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as sink:
        _add(sink, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}), settings.epoch)
        _add(sink, "index.json", _json(index), settings.epoch)
        for blob in (manifest, config, packed):
            name = digest(blob).removeprefix("sha256:")
            _add(sink, f"blobs/sha256/{name}", blob, settings.epoch)
    return digest(manifest)


def layer_of(root: Path, epoch: int) -> bytes:
    """Return the tar of a folder: sorted, owned by uid 0, no date after `epoch`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as sink:
        for path in _walk(root):
            member = sink.gettarinfo(path, str(path.relative_to(root)))
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = min(int(member.mtime), epoch)
            if member.islnk():  # each file by itself: which one is the link depends on the disk
                member.type, member.linkname, member.size = tarfile.REGTYPE, "", path.stat().st_size
            if member.isreg():
                with path.open("rb") as content:
                    sink.addfile(member, content)
            else:
                sink.addfile(member)
    return buffer.getvalue()


def digest(blob: bytes) -> str:
    """Return the content address of a blob."""
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _walk(root: Path) -> Iterator[Path]:
    for path in sorted(root.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(blob), "size": len(blob)}


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def _add(sink: tarfile.TarFile, name: str, content: bytes, epoch: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), epoch, 0o644
    sink.addfile(member, io.BytesIO(content))
