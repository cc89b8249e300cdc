"""The Dockerfile makes the same image as `make image-rootfs`, which is the one that tests run."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dragoman import __version__
from tests.image.application import CHECKOUT, UNUSED
from tests.image.architecture import AMD64
from tests.image.build import settings
from tests.image.debian import PYTHON, SUITE
from tests.image.sbom import PLACE

TEXT = (CHECKOUT / "Dockerfile").read_text()
BUILD, SHIPPED = re.split(r"^FROM \$\{BASE\}$", TEXT, flags=re.MULTILINE)


def instructions(stage: str, name: str) -> list[str]:
    """Return what follows an instruction's name, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", stage, flags=re.MULTILINE))
    return re.findall(rf"^{name} (.*)$", joined, flags=re.MULTILINE)


def pairs(name: str) -> dict[str, str]:
    """Return what LABEL or ENV sets in the shipped stage."""
    words = (word for line in instructions(SHIPPED, name) for word in shlex.split(line))
    return dict(word.split("=", 1) for word in words)


def test_both_images_have_the_same_entry_point_and_user() -> None:
    ours = settings(AMD64)
    assert [json.loads(one) for one in instructions(SHIPPED, "ENTRYPOINT")] == [
        list(ours.entrypoint)
    ]
    assert instructions(SHIPPED, "USER") == [ours.user]


def test_both_images_have_the_same_labels() -> None:
    given = dict(one.split("=") for one in instructions(SHIPPED, "ARG"))
    labels = {
        name: re.sub(r"\$\{(\w+)\}", lambda m: given[m[1]], text)
        for name, text in pairs("LABEL").items()
    }
    ours = settings(AMD64).labels
    assert labels == {**ours, "org.opencontainers.image.revision": "unknown"}


def test_both_images_have_the_same_environment() -> None:
    # The base image brings these.
    brought = {"PATH", "SSL_CERT_FILE"}
    ours = settings(AMD64).environment
    assert pairs("ENV") == {name: ours[name] for name in ours.keys() - brought}


def test_both_images_are_of_the_same_debian_and_python() -> None:
    bases = dict(one.split("=") for one in instructions(BUILD, "ARG") if "=" in one)
    assert bases["BUILD"] == f"python:{PYTHON}-slim-{SUITE}"
    assert bases["BASE"].startswith("gcr.io/distroless/python3-debian13:")
    assert SUITE == "trixie"  # that is Debian 13


def test_the_image_holds_what_the_wheel_holds() -> None:
    wheel = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]
    copied = dict(line.split() for line in instructions(BUILD, "COPY"))
    assert copied.pop("requirements.txt") == copied.pop("tests/image/sbom.py") == "./"
    roots = [source for source, target in copied.items() if target == "/app"]
    faces = (face for root in roots for face in (CHECKOUT / root).glob("*/__init__.py"))
    assert {str(one.parent.relative_to(CHECKOUT)) for one in faces} == {*wheel["packages"]}
    assert {path: place for path, place in copied.items() if path not in roots} == {
        path: f"/app/{inside}" for path, inside in wheel["force-include"].items()
    }


def test_both_images_leave_out_the_same_generated_code() -> None:
    (loop,) = (line for line in instructions(BUILD, "RUN") if line.startswith("for folder in "))
    folders = loop.removeprefix("for folder in ").split(";")[0].split()
    assert tuple(f"kubernetes/{folder}" for folder in folders) == UNUSED


@pytest.mark.parametrize("source", [line.split()[0] for line in instructions(BUILD, "COPY")])
def test_the_build_context_has_all_that_is_copied(source: str) -> None:
    lines = (CHECKOUT / ".dockerignore").read_text().splitlines()
    assert f"!{source}" in lines
    assert (CHECKOUT / source).exists()


def test_both_images_have_their_bill_of_materials_at_the_same_place() -> None:
    (line,) = (one for one in instructions(SHIPPED, "COPY") if "cdx" in one)
    assert line.split()[-1] == f"/{PLACE}"


def test_the_version_is_the_same_in_both_stages() -> None:
    for stage in (BUILD, SHIPPED):
        assert f"VERSION={__version__}" in instructions(stage, "ARG")


def test_requirements_are_pinned_by_hash_and_bytecode_is_compiled() -> None:
    runs = "\n".join(instructions(BUILD, "RUN"))
    assert "--require-hashes" in runs
    assert "python -m compileall" in runs
    assert re.search(r"compileall .*/app$", runs, flags=re.MULTILINE)


def test_the_linter_of_dockerfiles_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run(
        [hadolint, CHECKOUT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
