"""Versions, packages and the chart as they are released."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
import yaml

from dragoman import __version__
from tests.release import chart, versions
from tests.support.controlplane import binaries

ROOT = Path(__file__).parents[2]
DATA = frozenset({".css", ".js", ".j2", ".json", ".yaml"})
"""Suffixes of files beside the code."""
DIGEST = f"sha256:{'a' * 64}"


def test_every_file_states_the_same_version() -> None:
    assert set(versions.stated().values()) == {__version__}
    assert versions.faults(f"v{__version__}") == []


@pytest.mark.parametrize("tag", ["0.1.0", "v0.1", "v0.1.0-x", "v0.1.0\n", "release", ""])
def test_a_tag_that_is_no_version_is_refused(tag: str) -> None:
    assert "is no version" in versions.faults(tag)[0]


def test_a_tag_of_another_version_is_refused_by_every_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert versions.main(["v9.9.9"]) == 1
    said = capsys.readouterr().err
    for place in versions.stated():
        assert f"{place} is {__version__}, and the tag is v9.9.9" in said


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_packages_are_what_the_index_accepts(packages: Path) -> None:
    twine = Path(sys.executable).with_name("twine")
    files = sorted(str(path) for path in packages.iterdir())
    assert len(files) == 2
    done = subprocess.run(
        [twine, "--no-color", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == 2


@pytest.mark.slow
def test_the_wheel_says_where_to_find_what(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith("METADATA"))
        metadata = HeaderParser().parsestr(archive.read(name).decode())
        assert "dragoman_configs/crds/driverconfigschemas.yaml" in archive.namelist()
    urls = dict(one.split(", ") for one in metadata.get_all("Project-URL") or ())
    assert {"Source", "Issues", "Documentation", "Changelog"} <= urls.keys()
    assert metadata["Author"] == "dragoman maintainers"
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_page_of_the_toolkit_is_made_from_the_wheel_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "app")
    roots = (ROOT / "operator", ROOT / "webhooks")
    data = {
        path.relative_to(root) for root in roots for path in root.rglob("*") if path.suffix in DATA
    }
    assert {path.name for path in data} >= {"page.css", "page.js", "page.html.j2"}
    assert [path for path in data if not (tmp_path / "app" / path).is_file()] == []
    snapshot, page = ROOT / "examples/toolkit/cluster.jsonl", tmp_path / "page.html"
    command = [sys.executable, "-m", "dragoman", "top", "--html", str(page)]
    subprocess.run(
        [*command, "--snapshot", str(snapshot)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "app")},
        check=True,
        capture_output=True,
    )
    html = page.read_text()
    style = ROOT / "operator/dragoman_toolkit/dra/ui/static/page.css"
    assert style.read_text().strip() in html
    assert "node-1" in html


def test_a_digest_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected the digest"):
        chart.released("ghcr.io/dragoman-dev", "latest", tmp_path)


@pytest.mark.slow
def test_the_released_chart_is_packaged_and_starts_the_released_image(tmp_path: Path) -> None:
    helm = str(binaries.find(["helm"])["helm"])
    folder = chart.released("ghcr.io/dragoman-dev", DIGEST, tmp_path)
    packed = [helm, "package", str(folder), "--destination", str(tmp_path)]
    subprocess.run(packed, check=True, capture_output=True)
    archive = tmp_path / f"dragoman-{__version__}.tgz"
    subprocess.run([helm, "lint", "--strict", str(archive)], check=True, capture_output=True)
    done = subprocess.run(
        [helm, "template", "dragoman", str(archive)], capture_output=True, text=True, check=True
    )
    images = set(re.findall(r"image: (\S+)", done.stdout))
    assert {json.loads(one) if one[0] == '"' else one for one in images} == {
        f"ghcr.io/dragoman-dev/dragoman@{DIGEST}"
    }
    annotations = yaml.safe_load((folder / "Chart.yaml").read_text())["annotations"]
    (named,) = yaml.safe_load(annotations["artifacthub.io/images"])
    assert named["image"] == f"ghcr.io/dragoman-dev/dragoman@{DIGEST}"


def test_the_chart_of_a_checkout_names_no_image_and_every_crd() -> None:
    annotations = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["annotations"]
    assert "artifacthub.io/images" not in annotations
    named = {one["name"] for one in yaml.safe_load(annotations["artifacthub.io/crds"])}
    assert named == {f"{path.stem}.dragoman.dev" for path in (chart.ROOT / "crds").glob("*.yaml")}


def test_issue_templates_have_the_fields_that_the_form_needs() -> None:
    for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")):
        form = yaml.safe_load(path.read_text())
        if path.stem == "config":
            assert form["contact_links"]
            continue
        assert form["name"]
        assert form["description"]
        ids = [field["id"] for field in form["body"]]
        assert len(set(ids)) == len(ids)
        assert all(field["attributes"]["label"] for field in form["body"])


def test_the_policy_names_the_private_way_and_the_project_links_agree() -> None:
    policy = (ROOT / ".github/SECURITY.md").read_text()
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert f"{urls['Source']}/security/advisories/new" in policy
