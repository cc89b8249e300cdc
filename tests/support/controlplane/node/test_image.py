"""Images made from nothing are what the OCI's image specification says."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.controlplane.node.image import write_archive, write_image


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """Make an image of a program, and return the archive's files by name."""
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF and so on")
    archive = write_archive(program, tmp_path / "image.tar", "example.test/tool:1", "tool")
    with tarfile.open(archive) as tar:
        return {one.name: content(tar, one) for one in tar if one.isfile()}


def content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    found = tar.extractfile(entry)
    assert found is not None
    return found.read()


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """Return what a descriptor names, after holding it against its digest and size."""
    algorithm, _, name = descriptor["digest"].partition(":")
    found = files[f"blobs/{algorithm}/{name}"]
    assert hashlib.sha256(found).hexdigest() == name
    assert len(found) == descriptor["size"]
    return found


def test_every_descriptor_leads_to_the_bytes_that_it_names(files: dict[str, bytes]) -> None:
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"] == {"io.containerd.image.name": "example.test/tool:1"}
    manifest = json.loads(blob(files, entry))
    config = json.loads(blob(files, manifest["config"]))
    (layer,) = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    assert config["config"]["Entrypoint"] == ["/tool"]
    with tarfile.open(fileobj=io.BytesIO(blob(files, layer))) as tar:
        modes = {one.name: (one.mode, one.uid, one.mtime) for one in tar}
    assert modes == {"tmp": (0o1777, 0, 0), "tool": (0o755, 0, 0)}


def test_the_same_program_makes_the_same_bytes(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"x")
    first, second = (write_archive(program, tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


def test_an_image_has_many_programs_and_links_to_them(tmp_path: Path) -> None:
    program = tmp_path / "busybox"
    program.write_bytes(b"x")
    programs = {"bin/busybox": program, "tool": program}
    archive = write_image(tmp_path / "a.tar", "a:1", programs, links={"bin/sh": "busybox"})
    with tarfile.open(archive) as tar:
        files = {one.name: content(tar, one) for one in tar if one.isfile()}
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(files, entry))
    config = json.loads(blob(files, manifest["config"]))
    assert config["config"] == {"Env": ["PATH=/bin:/"], "WorkingDir": "/"}
    (layer,) = manifest["layers"]
    with tarfile.open(fileobj=io.BytesIO(blob(files, layer))) as tar:
        assert tar.getnames() == ["tmp", "bin/busybox", "tool", "bin/sh"]
        assert tar.getmember("bin/sh").linkname == "busybox"
