"""Container images made from nothing: OCI archives of static programs."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

REFERENCE = "dragoman.test/errand:1"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"
Blobs = dict[str, bytes]


def write_archive(
    program: Path, archive: Path, reference: str = REFERENCE, name: str = "errand"
) -> Path:
    """Write an OCI archive whose only file is a static program, which is also its entry point.

    Args:
        program: A static binary; it becomes `/<name>`.
        archive: The tar file that is written.
        reference: Name and tag of the image.
        name: By which containers call the program.
    """
    return write_image(archive, reference, {name: program}, entry=name)


def write_image(
    archive: Path,
    reference: str,
    programs: Mapping[str, Path],
    *,
    links: Mapping[str, str] = MappingProxyType({}),
    entry: str = "",
) -> Path:
    """Write an OCI archive of some static programs.

    Args:
        archive: The tar file that is written.
        reference: Name and tag of the image.
        programs: Static binaries by their paths in the image.
        links: Further paths in the image, and the paths to which they lead.
        entry: The path of what containers run that name no command.
    """
    blobs: Blobs = {}
    layer = layer_of(programs, links)
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {
            **({"Entrypoint": [f"/{entry}"]} if entry else {}),
            "Env": ["PATH=/bin:/"],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": stored(blobs, f"{OCI}.config.v1+json", encoded(config)),
        "layers": [stored(blobs, f"{OCI}.layer.v1.tar", layer)],
    }
    top = stored(blobs, f"{OCI}.manifest.v1+json", encoded(manifest))
    top["annotations"] = {"io.containerd.image.name": reference}
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [top]}
    files = {
        "oci-layout": encoded({"imageLayoutVersion": "1.0.0"}),
        "index.json": encoded(index),
        **{f"blobs/sha256/{name.removeprefix('sha256:')}": blob for name, blob in blobs.items()},
    }
    archive.write_bytes(tar_of(files))
    return archive


def layer_of(programs: Mapping[str, Path], links: Mapping[str, str]) -> bytes:
    """Return the layer: programs, links to them, and a folder for temporary files."""
    contents = {name: program.read_bytes() for name, program in programs.items()}
    return tar_of(contents, mode=0o755, folders=("tmp",), links=links)


def stored(blobs: Blobs, kind: str, blob: bytes) -> dict[str, Any]:
    """Add a blob and return the descriptor by which others refer to it."""
    blobs[digest(blob)] = blob
    return {"mediaType": kind, "digest": digest(blob), "size": len(blob)}


def tar_of(
    files: Mapping[str, bytes],
    mode: int = 0o644,
    folders: tuple[str, ...] = (),
    links: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return a tar of files that belong to root and have no time."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        for name in folders:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return sink.getvalue()


def encoded(document: Any) -> bytes:
    """Return JSON, the same bytes for the same document."""
    return json.dumps(document, sort_keys=True).encode()


def digest(blob: bytes) -> str:
    """Return the name of a blob."""
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"
