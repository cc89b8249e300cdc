"""The workflows: pinned actions, least permissions, and every part of a release."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controlplane import binaries

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
FILES = [*WORKFLOWS, FOLDER / "actions/check/action.yml"]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
Json = dict[str, Any]


def load(path: Path) -> Json:
    """Return a file as YAML 1.2 reads it: `on` is a key."""
    loaded: Json = yaml.load(path.read_text(), yaml.BaseLoader)
    return loaded


RELEASE = load(FOLDER / "workflows/release.yml")


def steps(workflow: Json) -> Iterator[Json]:
    """Return the steps of all jobs."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


def ran(job: str) -> str:
    """Return the commands of one job of the release."""
    return "\n".join(step.get("run", "") for step in RELEASE["jobs"][job]["steps"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_commit_and_names_its_version(path: Path) -> None:
    used = re.findall(r"^ *-? *uses: (.+)$", path.read_text(), re.MULTILINE)
    assert used
    assert [one for one in used if not PINNED.fullmatch(one)] == []


def test_an_action_has_the_same_version_everywhere() -> None:
    text = "".join(path.read_text() for path in FILES)
    used = {tuple(one.split("@")) for one in re.findall(r"uses: (\S+@\S+)", text)}
    assert len({name for name, _ in used}) == len(used)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_job_has_only_the_permissions_that_it_names(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert "permissions" in job, name
        assert "timeout-minutes" in job, name
    checkouts = [s for s in steps(workflow) if s.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)
    assert "${{ secrets." not in path.read_text()


def test_who_may_write_what() -> None:
    allowed = {
        name: {key for key, value in job["permissions"].items() if value == "write"}
        for name, job in RELEASE["jobs"].items()
    }
    assert {name: rights for name, rights in allowed.items() if rights} == {
        "image": {"packages"},
        "index": {"packages", "id-token", "attestations"},
        "chart": {"packages", "id-token"},
        "pypi": {"id-token"},
        "release": {"contents", "id-token", "attestations"},
    }


def test_the_image_has_two_architectures_provenance_signature_and_bills_of_materials() -> None:
    matrix = RELEASE["jobs"]["image"]["strategy"]["matrix"]["include"]
    assert [one["architecture"] for one in matrix] == ["amd64", "arm64"]
    (build,) = (s for s in RELEASE["jobs"]["image"]["steps"] if s.get("id") == "build")
    assert (build["with"]["provenance"], build["with"]["sbom"]) == ("mode=max", "true")
    commands = ran("index")
    assert "cosign sign --yes --recursive" in commands
    assert "cosign attest --yes --type cyclonedx" in commands
    assert "/usr/share/sbom/dragoman.cdx.json" in commands


def test_base_images_are_pinned_by_digest_and_verified() -> None:
    commands = ran("bases")
    assert "imagetools inspect" in commands
    assert "cosign verify" in commands
    (build,) = (s for s in RELEASE["jobs"]["image"]["steps"] if s.get("id") == "build")
    for name in ("BUILD", "BASE"):
        assert (
            f"{name}=${{{{ needs.bases.outputs.{name.lower()} }}}}" in build["with"]["build-args"]
        )
        assert f'"${name}" == *@sha256:*' in ran("image")


def test_every_part_of_a_release_is_published() -> None:
    jobs = RELEASE["jobs"]
    assert "helm push" in ran("chart")
    assert "cosign sign" in ran("chart")
    assert jobs["pypi"]["environment"]["name"] == "pypi"
    assert "password" not in str(jobs["pypi"])
    assert "make zipapp" in ran("wheel")
    platforms = {one["platform"] for one in jobs["plugin"]["strategy"]["matrix"]["include"]}
    assert platforms == {"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"}
    assert "tests.release.krew" in ran("release")
    assert "SHA256SUMS" in ran("release")
    assert "gh release create" in ran("release")


def test_what_a_job_uploads_is_downloaded_by_the_release() -> None:
    uploaded = {
        step["with"]["name"]
        for step in steps(RELEASE)
        if step.get("uses", "").startswith("actions/upload-artifact@")
    }
    taken = [
        step["with"].get("name") or step["with"]["pattern"]
        for step in steps(RELEASE)
        if step.get("uses", "").startswith("actions/download-artifact@")
    ]
    patterns = [re.compile(re.escape(one).replace(r"\*", ".*")) for one in taken]
    unused = {one for one in uploaded if not any(p.match(one) for p in patterns)}
    assert unused == set()


def test_modules_and_targets_that_workflows_run_exist() -> None:
    text = "".join(path.read_text() for path in WORKFLOWS)
    for module in set(re.findall(r"-m (tests\.[\w.]+)", text)):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:run: |&& |^ +)make ([a-z][a-z-]+)", text, re.MULTILINE)):
        assert f"\n{target}:" in makefile, target


@pytest.mark.slow
def test_linters_of_workflows_find_nothing() -> None:
    actionlint = binaries.find(["actionlint"])["actionlint"]
    zizmor = Path(sys.executable).with_name("zizmor")
    for command in (
        [actionlint, *WORKFLOWS],
        [zizmor, "--offline", "--quiet", "--persona", "auditor", FOLDER],
    ):
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
