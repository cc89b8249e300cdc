"""OCI archives: what they say, and that the same input gives the same bytes."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.image.container import unpack
from tests.image.oci import Settings, write_archive

EPOCH = 1_700_000_000
SETTINGS = Settings(
    name="localhost/thing:1",
    architecture="arm64",
    entrypoint=("/bin/thing", "--fast"),
    user="65532:65532",
    environment={"LANG": "C.UTF-8", "A": "b=c"},
    epoch=EPOCH,
    labels={"org.opencontainers.image.version": "1"},
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/thing").write_bytes(b"\x7fELF")
    (root / "usr/bin/thing").chmod(0o755)
    (root / "bin").symlink_to("usr/bin")
    os.link(root / "usr/bin/thing", root / "usr/bin/also-thing")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    return root


def blobs(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as files:
        return {member.name: (files.extractfile(member) or io.BytesIO()).read() for member in files}


def manifest(archive: Path) -> dict[str, Any]:
    content = blobs(archive)
    (pointer,) = json.loads(content["index.json"])["manifests"]
    found: dict[str, Any] = json.loads(content["blobs/" + pointer["digest"].replace(":", "/")])
    return found


def layer(archive: Path) -> dict[str, tarfile.TarInfo]:
    (one,) = manifest(archive)["layers"]
    content = io.BytesIO(blobs(archive)["blobs/" + one["digest"].replace(":", "/")])
    with tarfile.open(fileobj=content) as files:
        return {member.name: member for member in files}


def test_every_blob_is_named_by_its_content_and_described_by_its_size(
    root: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    digest = write_archive(root, SETTINGS, archive)
    content = blobs(archive)
    index = json.loads(content["index.json"])
    found = manifest(archive)
    described = [*index["manifests"], found["config"], *found["layers"]]
    assert described[0]["digest"] == digest
    for one in described:
        blob = content["blobs/" + one["digest"].replace(":", "/")]
        assert f"sha256:{hashlib.sha256(blob).hexdigest()}" == one["digest"]
        assert len(blob) == one["size"]
    assert len(content) == len(described) + len({"oci-layout", "index.json"})


def test_a_runtime_finds_user_entry_point_environment_and_labels(
    root: Path, tmp_path: Path
) -> None:
    write_archive(root, SETTINGS, tmp_path / "archive")
    assert unpack(tmp_path / "archive", tmp_path / "unpacked") == {
        "User": "65532:65532",
        "Entrypoint": ["/bin/thing", "--fast"],
        "Env": ["A=b=c", "LANG=C.UTF-8"],
        "Labels": {"org.opencontainers.image.version": "1"},
        "WorkingDir": "/",
    }
    assert (tmp_path / "unpacked/bin/also-thing").read_bytes() == b"\x7fELF"


def test_the_configuration_names_the_layer_by_its_unpacked_content(
    root: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    write_archive(root, SETTINGS, archive)
    found = manifest(archive)
    config = json.loads(blobs(archive)["blobs/" + found["config"]["digest"].replace(":", "/")])
    packed = blobs(archive)["blobs/" + found["layers"][0]["digest"].replace(":", "/")]
    plain = hashlib.sha256(gzip.decompress(packed)).hexdigest()
    assert config["rootfs"]["diff_ids"] == [f"sha256:{plain}"]
    assert (config["architecture"], config["os"]) == ("arm64", "linux")
    assert config["created"] == "2023-11-14T22:13:20Z"


def test_all_files_belong_to_root_and_keep_their_modes(root: Path, tmp_path: Path) -> None:
    write_archive(root, SETTINGS, tmp_path / "archive")
    members = layer(tmp_path / "archive")
    assert {(one.uid, one.gid, one.uname) for one in members.values()} == {(0, 0, "")}
    assert members["tmp"].mode == 0o1777
    assert members["usr/bin/thing"].mode == 0o755
    assert members["bin"].linkname == "usr/bin"
    assert list(members) == sorted(members, key=lambda name: name.split("/"))


def test_no_file_is_younger_than_the_image(root: Path, tmp_path: Path) -> None:
    os.utime(root / "usr/bin/thing", (EPOCH + 1000, EPOCH + 1000))
    os.utime(root / "tmp", (EPOCH - 1000, EPOCH - 1000))
    write_archive(root, SETTINGS, tmp_path / "archive")
    members = layer(tmp_path / "archive")
    assert max(one.mtime for one in members.values()) == EPOCH
    assert members["tmp"].mtime == EPOCH - 1000


def test_the_same_files_give_the_same_archive(root: Path, tmp_path: Path) -> None:
    write_archive(root, SETTINGS, tmp_path / "first")
    (root / "usr/bin/also-thing").unlink()  # a copy instead of a link, made later
    (root / "usr/bin/also-thing").write_bytes(b"\x7fELF")
    (root / "usr/bin/also-thing").chmod(0o755)
    write_archive(root, SETTINGS, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
