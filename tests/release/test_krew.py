"""The krew manifest: what krew's own validation demands, and what it installs."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.release import krew

SEMVER = re.compile(r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")


@pytest.fixture
def archives(tmp_path: Path) -> list[Path]:
    """Return an archive for each platform."""
    found = [tmp_path / f"kubectl-dra-{platform}.tar.gz" for platform in PLATFORMS]
    for path in found:
        path.write_bytes(path.name.encode())
    return found


def check(plugin: dict[str, Any], name: str) -> None:
    """Check what krew checks, by internal/index/validation of kubernetes-sigs/krew v0.5."""
    assert plugin["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert plugin["kind"] == "Plugin"
    assert re.fullmatch(r"[\w-]+", name, re.ASCII)
    assert plugin["metadata"]["name"] == name
    spec = plugin["spec"]
    assert SEMVER.fullmatch(spec["version"])
    assert spec["shortDescription"]
    assert "\n" not in spec["shortDescription"]
    assert len(spec["shortDescription"]) <= 50, "krew's index asks for a short line"
    assert spec["platforms"]
    for platform in spec["platforms"]:
        assert platform["uri"].startswith("https://")
        assert re.fullmatch(r"[a-f0-9]{64}", platform["sha256"])
        assert platform["bin"]
        assert platform["selector"]["matchLabels"].keys() <= {"os", "arch"}
        assert all(operation["from"] and operation["to"] for operation in platform["files"])


def test_the_manifest_is_valid_and_names_each_archive_by_its_hash(archives: list[Path]) -> None:
    plugin = krew.manifest("v0.1.0", archives)
    check(plugin, "dra")
    for archive, platform in zip(sorted(archives), plugin["spec"]["platforms"], strict=True):
        assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
        assert platform["uri"] == f"{krew.HOME}/releases/download/v0.1.0/{archive.name}"
        marks = platform["selector"]["matchLabels"]
        assert archive.name == f"kubectl-dra-{marks['os']}-{marks['arch']}.tar.gz"


def test_the_command_prints_the_manifest(
    archives: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert krew.main(["v0.1.0", *map(str, archives)]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == krew.manifest("v0.1.0", archives)


def test_an_archive_of_another_name_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "kubectl-dra-windows-amd64.zip"
    other.write_bytes(b"")
    with pytest.raises(ValueError, match="expected kubectl-dra-OS-ARCHITECTURE"):
        krew.manifest("v0.1.0", [other])
