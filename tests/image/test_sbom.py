"""The bill of materials: valid CycloneDX, complete, and the same for the same packages."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cyclonedx.schema
import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource

from tests.image import sbom
from tests.image.application import CHECKOUT
from tests.image.build import Image

CONTROL = """\
Package: libssl3t64
Version: 3.5.1-1+deb13u1
Architecture: amd64
Depends: libc6 (>= 2.38), zlib1g | zlib-ng
Description: cryptography
 over several lines: with a colon
"""
LIBC = "Package: libc6\nVersion: 1:2.41-12\nArchitecture: amd64\n"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder of Python packages and one of Debian control files."""
    app, packages = tmp_path / "app", tmp_path / "status.d"
    for name, lines in {
        "Typing_Extensions-4.15.0": "License-Expression: PSF-2.0",
        "attrs-25.3.0": "Classifier: License :: OSI Approved :: MIT License\n"
        "Requires-Dist: typing-extensions>=4; python_version < '3.13'\n"
        "Requires-Dist: nowhere[extra]>=1",
        "dragoman-0.1.0": "Requires-Dist: attrs",
    }.items():
        folder = app / f"{name}.dist-info"
        folder.mkdir(parents=True)
        project, _, version = name.rpartition("-")
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: {project}\nVersion: {version}\n{lines}\n"
        )
    packages.mkdir()
    (packages / "libssl3t64").write_text(CONTROL)
    (packages / "libssl3t64.md5sums").write_text("00 usr/lib/libssl.so.3\n")
    (packages / "libc6").write_text(LIBC)
    return app, packages


def schema() -> Draft7Validator:
    """Return CycloneDX's own JSON schema, without the network.

    The library's validator needs packages that slow down every import of jsonschema.
    """
    folder = Path(cyclonedx.schema.__file__).with_name("_res")
    found = {
        name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text())
        for name in ("bom-1.6", "jsf-0.82", "spdx")
    }
    # References name the files as they stand in the standard's repository.
    base = "http://cyclonedx.org/schema"
    resources = [
        (f"{base}/{name}.SNAPSHOT.schema.json", Resource.from_contents(one))
        for name, one in found.items()
    ]
    return Draft7Validator(found["bom-1.6"], registry=Registry().with_resources(resources))


def made(app: Path, packages: Path) -> dict[str, Any]:
    """Run the script as the Dockerfile does."""
    arguments = [f"--app={app}", f"--packages={packages}", "--version=0.1.0"]
    more = ["--revision=abc", "--architecture=amd64", "--epoch=1700000000"]
    script = CHECKOUT / "tests/image/sbom.py"
    done = subprocess.run(
        [sys.executable, "-I", script, *arguments, *more],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(document: dict[str, Any]) -> None:
    """Check a document against the schema of CycloneDX 1.6."""
    fault = next(iter(schema().iter_errors(document)), None)
    assert fault is None, fault


def test_python_and_debian_packages_are_listed_by_package_url(folders: tuple[Path, Path]) -> None:
    document = made(*folders)
    check(document)
    listed = {one["name"]: one for one in document["components"]}
    assert {name: one["purl"] for name, one in listed.items()} == {
        "attrs": "pkg:pypi/attrs@25.3.0",
        "typing-extensions": "pkg:pypi/typing-extensions@4.15.0",
        "libc6": "pkg:deb/debian/libc6@1%3A2.41-12?arch=amd64&distro=debian-13",
        "libssl3t64": "pkg:deb/debian/libssl3t64@3.5.1-1%2Bdeb13u1?arch=amd64&distro=debian-13",
    }
    assert listed["attrs"]["licenses"] == [{"license": {"name": "MIT License"}}]
    assert listed["typing-extensions"]["licenses"] == [{"license": {"name": "PSF-2.0"}}]


def test_dependencies_name_what_is_there(folders: tuple[Path, Path]) -> None:
    document = made(*folders)
    edges = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
    names = {one["purl"]: one["name"] for one in document["components"]}
    own = document["metadata"]["component"]["bom-ref"]
    assert sorted(edges.pop(own)) == sorted(names)
    assert {names[ref]: [names[to] for to in found] for ref, found in edges.items()} == {
        "attrs": ["typing-extensions"],
        "typing-extensions": [],
        "libssl3t64": ["libc6"],
        "libc6": [],
    }


def test_the_same_packages_give_the_same_bytes_and_others_another_number(
    folders: tuple[Path, Path],
) -> None:
    first = made(*folders)
    assert made(*folders) == first
    (folders[1] / "libc6").write_text(LIBC.replace("12", "13"))
    assert made(*folders)["serialNumber"] != first["serialNumber"]


@pytest.mark.slow
def test_the_image_has_a_bill_of_all_that_is_pinned(image: Image) -> None:
    document = json.loads(image.sbom.read_text())
    check(document)
    assert (image.root / sbom.PLACE).read_bytes() == image.sbom.read_bytes()
    listed = {one["purl"] for one in document["components"]}
    text = (CHECKOUT / "requirements.txt").read_text()
    # Markers leave out what other platforms and older versions of Python need.
    pinned = dict(re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==(\S+) \\$", text, flags=re.MULTILINE))
    assert len(pinned) > 20
    missing = {
        name
        for name, version in pinned.items()
        if f"pkg:pypi/{sbom.canonical(name)}@{version}" not in listed
    }
    assert missing == set()
    assert any(one.startswith("pkg:deb/debian/libc6@") for one in listed)
