"""The page about adding a Kubernetes version: its steps, walked for the newest version."""

import re

import pytest

from docs.generate_api_schemas import VERSIONS
from dragoman.allocation.features import profile
from dragoman.allocation.gates import STAGES
from dragoman_base.versions import DEFAULT, KNOWN, NEWEST, OLDEST, name, parse
from dragoman_toolkit.linting.knowledge.api import api_of
from tests.conformance.allocation_oracle import MODULES as ORACLES
from tests.conformance.allocation_oracle import SOURCES
from tests.docs.pages import ROOT
from tests.support.controlplane.toolchain import MODULES

PAGE = ROOT / "docs/kubernetes-versions.md"
STEPS = re.findall(r"^\| (\d+)\. ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
RELEASE = max(VERSIONS, key=parse)


def test_the_steps_are_counted() -> None:
    assert [str(number) for number in range(1, 10)] == STEPS


def test_1_the_sources_of_every_version_are_pinned() -> None:
    pinned = {
        parse(path.name.removeprefix("kubernetes-")): path for path in MODULES.glob("kubernetes-*")
    }
    assert set(pinned) == set(KNOWN)
    for kind in ("kubelet", "upstream"):
        assert (MODULES / f"{kind}-{pinned[NEWEST].name.removeprefix('kubernetes-')}").is_dir()


def test_2_the_versions_are_in_order() -> None:
    assert OLDEST <= DEFAULT <= NEWEST
    assert profile(f"1.{NEWEST[1] + 1}").version == NEWEST


def test_3_every_gate_has_a_stage_for_every_version() -> None:
    assert {gate for gate, stages in STAGES.items() if len(stages) != len(KNOWN)} == set()


def test_code_asks_the_table_of_releases_instead_of_comparing_versions() -> None:
    literal = re.compile(r"(?:[<>]=?|since|SINCE\w*:? =) \(1, (?:3[4-9]|[4-9]\d)\)")
    sources = [one for root in ("operator", "webhooks") for one in (ROOT / root).rglob("*.py")]
    assert len(sources) > 500
    found = {one.name for one in sources if literal.search(one.read_text(encoding="utf-8"))}
    assert found == set()


@pytest.mark.parametrize("version", KNOWN, ids=name)
def test_4_check_knows_the_api_of_every_version(version: tuple[int, int]) -> None:
    assert api_of(version).version == version
    assert api_of(version).schema("resource.k8s.io/v1", "ResourceClaim") is not None
    assert version in [parse(release) for release in VERSIONS]


def test_5_to_8_the_files_of_the_page_exist() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(linked) >= 10
    assert [path for path in linked if not (PAGE.parent / path).exists()] == []


def test_6_the_allocator_of_every_version_can_be_compared() -> None:
    assert list(ORACLES) == [name(one) for one in KNOWN]
    file, _ = ORACLES[name(NEWEST)]
    assert f"k8s.io/dynamic-resource-allocation v0.{RELEASE.split('.', 1)[1]}" in (
        SOURCES / file
    ).read_text(encoding="utf-8")


def test_9_the_newest_version_was_run() -> None:
    page = (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {re.escape(RELEASE)} \| \d+ passed", page, re.MULTILINE)
