"""The pinned requirements follow pyproject.toml; `make requirements` writes them anew."""

import re
import tomllib
from functools import cache
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent.parent
RUNTIME, DEVELOPMENT = "requirements.txt", "tests/requirements.txt"


@cache
def pins(file: str) -> dict[str, tuple[str, int]]:
    """Return version and number of hashes by package."""
    entries = re.split(r"\n(?=\S)", (ROOT / file).read_text())
    found: dict[str, tuple[str, int]] = {}
    for entry in entries:
        requirement = Requirement(re.split(r"\s*\\?\n", entry)[0])
        version = str(requirement.specifier).removeprefix("==")
        hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry))
        found[canonicalize_name(requirement.name)] = (version, hashes)
    return found


def wanted() -> list[tuple[str, str]]:
    """Return which file must pin which requirement of pyproject.toml."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    runtime = project["dependencies"] + project["optional-dependencies"]["operator"]
    every = [entry for group in document["dependency-groups"].values() for entry in group]
    groups = [entry for entry in every if isinstance(entry, str)]  # others include a group
    return [
        *((RUNTIME, entry) for entry in runtime),
        *((DEVELOPMENT, entry) for entry in runtime + groups),
    ]


@pytest.mark.parametrize(("file", "entry"), wanted())
def test_every_dependency_is_pinned_to_a_version_that_satisfies_it(file: str, entry: str) -> None:
    requirement = Requirement(entry)
    name = canonicalize_name(requirement.name)
    assert name in pins(file), "run `make requirements`"
    assert requirement.specifier.contains(pins(file)[name][0]), "run `make requirements`"


@pytest.mark.parametrize("file", [RUNTIME, DEVELOPMENT])
def test_every_pin_has_hashes(file: str) -> None:
    assert len(pins(file)) > 10
    assert [name for name, (_, hashes) in pins(file).items() if not hashes] == []


def test_development_installs_the_same_versions_as_production() -> None:
    development = pins(DEVELOPMENT)
    assert {name: development.get(name, ("",))[0] for name in pins(RUNTIME)} == {
        name: version for name, (version, _) in pins(RUNTIME).items()
    }


@pytest.mark.parametrize(
    "file", [RUNTIME, DEVELOPMENT, "tests/support/controlplane/go/requirements.txt"]
)
def test_requirements_name_no_address(file: str) -> None:
    text = (ROOT / file).read_text()
    assert "--hash=sha256:" in text
    assert re.findall(r"://|--index|--extra-index|--find-links|--trusted-host| @ ", text) == []


def needed(entry: str) -> set[str]:
    """Return the packages that a requirement brings here, its own included."""
    found: set[str] = set()
    waiting = [Requirement(entry)]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += map(Requirement, requires(name) or ())
    return found


def test_users_install_few_packages() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    brought = set().union(*map(needed, document["project"]["dependencies"]))
    assert {"click", "markupsafe"} <= brought
    assert len(brought) <= 25
