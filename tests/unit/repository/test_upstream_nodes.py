"""How Kubernetes' own tests are run on real nodes: which, in what order, with which images."""

import re
import sys
from pathlib import Path

import pytest

from tests.support.controlplane.recipes import RECIPES
from tests.upstream import images, nodes
from tests.upstream.ginkgo import Suite, apart, exactly
from tests.upstream.results import FAILED, PASSED


def test_serial_specs_run_alone() -> None:
    assert apart(["a", "b [Serial] c", "d [Slow]"]) == (["a", "d [Slow]"], ["b [Serial] c"])


def test_a_spec_is_chosen_by_its_whole_name() -> None:
    """Ginkgo searches the expression in the name, behind a description of the suite."""
    chosen = re.compile(exactly("[sig-node] DRA work (1)"))
    assert chosen.search("Kubernetes' tests [sig-node] DRA work (1)")
    assert not chosen.search("Kubernetes' tests [sig-node] DRA work (1) twice")
    assert not chosen.search("Kubernetes' tests other[sig-node] DRA work (1)")


def suite_of(folder: Path, *specs: tuple[str, str]) -> Suite:
    """Return a suite whose binary runs the specs that its focus matches, and says so."""
    binary = folder / "binary"
    binary.write_text(
        BINARY.format(python=sys.executable, specs=specs, order=str(folder / "order"))
    )
    binary.chmod(0o755)
    return Suite(binary, folder / "kubeconfig", folder)


BINARY = """#!{python}
import json, re, sys
flags = dict(one.partition("=")[::2] for one in sys.argv[1:])
focus = re.compile(flags["--ginkgo.focus"])
reports = []
for text, state in {specs!r}:
    chosen = focus.search("description " + text)
    ended = "passed" if "--ginkgo.dry-run" in flags else state
    reports.append(dict(
        ContainerHierarchyTexts=[], LeafNodeText=text, LeafNodeType="It",
        State=ended if chosen else "skipped", RunTime=1_000_000_000,
    ))
with open(flags["--ginkgo.json-report"], "w") as report:
    json.dump([dict(SpecReports=reports)], report)
ran = [one["LeafNodeText"] for one in reports if one["State"] != "skipped"]
with open({order!r}, "a") as order:
    print(*ran, sep="\\n", file=order)
"""


def test_each_spec_runs_by_itself_and_serial_ones_at_the_end(tmp_path: Path) -> None:
    specs = [("kubelet [Serial] a", PASSED), ("kubelet b", FAILED), ("plane c", PASSED)]
    results = suite_of(tmp_path, *specs).run_each("kubelet", workers=2)
    assert {name: spec.state for name, spec in results.items()} == {
        "kubelet [Serial] a": PASSED,
        "kubelet b": FAILED,
        "plane c": "skipped",
    }
    order = (tmp_path / "order").read_text().splitlines()
    assert order[2:] == ["kubelet b", "kubelet [Serial] a"]  # the first two are those of the list


def test_tests_that_write_no_report_are_an_error(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_text("#!/bin/sh\necho no cluster\n")
    binary.chmod(0o755)
    with pytest.raises(SystemExit, match="no cluster"):
        Suite(binary, tmp_path / "kubeconfig", tmp_path).run("all", ["."])


@pytest.mark.parametrize("version", ["v1.36.3", "v1.37.2"])
def test_every_image_has_a_tag_and_a_recipe(version: str) -> None:
    found = images.images(version)
    names = [one.reference.rpartition("/")[2].partition(":")[0] for one in found]
    assert names == ["busybox", "hostpathplugin", "sample-device-plugin"]
    assert all(one.program in {"", *RECIPES} for one in found)


def test_folders_that_were_not_there_go_again(tmp_path: Path) -> None:
    old, new, full = (tmp_path / name for name in ("old", "new", "full"))
    old.mkdir()
    with nodes.nothing_left([old, new, full, tmp_path / "never"]):
        new.mkdir()
        full.mkdir()
        (full / "file").touch()
    assert old.exists()
    assert full.exists()
    assert not new.exists()
