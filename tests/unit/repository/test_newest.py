"""How `make newest` finds the newest release, and names what differs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conformance import cel_columns
from tests.conformance.oracle import Oracle
from tests.newest import api, causes, gates, notes, published, report, selectors, sources, suites
from tests.newest.report import Difference, Found


def test_a_release_is_newer_than_its_candidates_and_other_tags_do_not_count() -> None:
    tags = ["v1.37.2", "v1.38.0-alpha.3", "v1.38.0-beta.0", "v1.9.11", "v1.38.0-dev", "latest"]
    assert published.newest(tags) == "v1.38.0-beta.0"
    assert published.newest([*tags, "v1.38.0-rc.0"]) == "v1.38.0-rc.0"
    assert published.newest([*tags, "v1.38.0", "v1.38.0-rc.1"]) == "v1.38.0"


def test_no_release_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="names no release"):
        published.newest(["latest"])


def test_what_could_not_run_is_not_taken_for_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that raises is reported as not compared, and runs again the next time."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="Kubernetes' own tests"):
        suites.upstream(published.release("v1.38.0"), tmp_path, 1)
    monkeypatch.setattr(cel_columns, "VECTORS", tmp_path / "absent")
    with pytest.raises(RuntimeError, match="recorded selectors are absent"):
        selectors.vectors(cast(Oracle, None), (1, 37))


def test_the_other_modules_of_a_release_have_versions_of_their_own() -> None:
    found = published.release("v1.38.0-beta.0")
    assert (found.modules, found.minor) == ("v0.38.0-beta.0", (1, 38))
    with pytest.raises(ValueError, match=r"expected one such as v1\.38\.0"):
        published.release("1.38")


PINS = """module dragoman.dev/oracle

go 1.26.0

toolchain go1.26.8

require (
	k8s.io/api v0.37.2
	k8s.io/kubernetes v1.37.2
)

require (
	k8s.io/klog/v2 v2.130.1 // indirect
)
"""


def test_pins_of_another_release_leave_indirect_ones_to_go() -> None:
    text = published.repinned(PINS, "v0.37.2", published.release("v1.38.0-beta.0"), "1.27.0")
    assert "k8s.io/api v0.38.0-beta.0\n" in text
    assert "k8s.io/kubernetes v1.38.0-beta.0\n" in text
    assert "klog" not in text
    assert "go 1.27.0\n\ntoolchain go1.27.0\n" in text


def test_a_newer_toolchain_that_is_pinned_stays() -> None:
    assert published.toolchain("1.27.0", "go1.27.3") == "go1.27.3"
    assert published.toolchain("1.28", "go1.27.3") == "go1.28"


def test_modules_that_are_not_served_are_replaced_by_the_one_before() -> None:
    words = (
        "x.go:2:2: sigs.k8s.io/structured-merge-diff/v7@v7.0.1: reading https://proxy/@v/v7.0.1.zip"
        ": 403 Forbidden\n"
        "go: k8s.io/api@v0.38.0: reading https://proxy/@v/v0.38.0.mod: 404 Not Found\n"
        "go: downloading k8s.io/klog/v2 v2.140.0\n"
    )
    assert published.unserved(words) == {
        "sigs.k8s.io/structured-merge-diff/v7": "v7.0.1",
        "k8s.io/api": "v0.38.0",
    }
    assert published.substitute("v7.0.1", ["v6.9.0", "v7.0.0", "v7.1.0"]) == "v7.0.0"
    assert published.substitute("v0.38.0", []) == ""


SPECS: list[Mapping[str, Any]] = [
    {"default": False, "lockToDefault": False, "preRelease": "Beta", "version": "1.37"},
    {
        "default": True,
        "lockToDefault": False,
        "preRelease": "Beta",
        "version": "1.37",
        "minCompatibilityVersion": "1.37",
    },
    {"default": True, "lockToDefault": True, "preRelease": "GA", "version": "1.38"},
]


def test_a_default_that_needs_the_release_as_compatibility_version_is_off() -> None:
    assert gates.stage(SPECS, (1, 36)) == ""
    assert gates.stage(SPECS, (1, 37)) == "beta, off"
    assert gates.stage(SPECS, (1, 38)) == "locked"


def test_gates_whose_stage_is_another_one_and_gates_that_are_gone_are_found() -> None:
    found = [*gates.stages({"DRAFractionalCapacityRange": SPECS}, (1, 38), (1, 37))]
    said = [one.cause for one in found]
    assert "feature gate DRAFractionalCapacityRange: locked; known as beta, off" in said
    assert "feature gate DRAConsumableCapacity: gone; known as beta" in said
    gone = [*gates.gone({}, {"SidecarContainers": [], "Other": []}, (1, 37))]
    assert [one.cause.split()[2] for one in gone] == ["Other"]


def test_kinds_and_fields_that_differ_are_named() -> None:
    old = {"resource.v1.Device": {"properties": {"name": {"type": "string"}, "old": {}}}}
    new = {"resource.v1.Device": {"properties": {"name": {"type": "object"}, "size": {}}}}
    assert [one.cause for one in api.fields(old, new)] == [
        "field resource.v1.Device.name takes other values",
        "field resource.v1.Device.old is gone",
        "field resource.v1.Device.size is new",
    ]
    assert [one.cause for one in api.kinds({"v1/A": "a"}, {"v1/B": "b"})] == [
        "kind v1/B is new",
        "kind v1/A is gone",
    ]


def test_a_comment_changes_no_function_and_a_statement_does() -> None:
    before = "func (c *Controller) Run(n int) {\n\t// once\n\tgo c.work()\n}\n\nfunc old() {\n}\n"
    after = "func (c *Controller) Run(n int) {\n\tgo c.work()\n}\n\nfunc fresh() {\n\trun()\n}\n"
    assert [*sources.changed(sources.functions(before), sources.functions(after))] == [
        ("new", "fresh"),
        ("gone", "old"),
    ]
    other = before.replace("go c.work()", "c.work()")
    assert ("changed", "Controller.Run") in sources.changed(
        sources.functions(before), sources.functions(other)
    )


def test_notes_about_devices_in_later_releases_are_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "CHANGELOG"
    folder.mkdir()
    (folder / "CHANGELOG-1.38.md").write_text(
        "# v1.38.0-beta.0\n- DRA: names ([#1](x))\n- Services: other ([#2](x))\n"
        "# v1.38.0-alpha.1\n- DRA: names ([#1](x))\n- A ResourceClaim is kept ([#3](x))\n"
        "# v1.37.2\n- DRA: old ([#4](x))\n"
    )
    assert [head for head, _ in notes.notes(tmp_path, "v1.37.2")] == [
        "v1.38.0-beta.0",
        "v1.38.0-alpha.1",
    ]
    assert [*notes.notes(tmp_path, "v1.38.0-beta.0")] == []


def test_alike_differences_have_one_cause() -> None:
    one = {"error": 'device a/b/c: unsupported value for "x"', "scope": "fatal"}
    other = {"error": 'device d/e/f: unsupported value for "y"', "scope": "fatal"}
    case = {"variant": ""}
    first = causes.allocation(case, one, {"fits": False}, steps=False)
    assert first == causes.allocation(case, other, {"fits": False}, steps=False)
    assert "known: does not fit" in first
    assert causes.allocation(case, one, {"results": []}, steps=False) != first
    parts = causes.allocation(case, {"results": [{"a": 1}]}, {"results": [{"a": 2}]}, steps=False)
    assert parts == "allocator: other results.a"


def test_the_report_counts_by_cause_and_says_what_was_not_compared(tmp_path: Path) -> None:
    grouped = report.grouped([("b", "long example"), ("a", "x"), ("b", "short")])
    assert grouped == (Difference("b", 2, "short"), Difference("a", 1, "x"))
    found = Found("gates", "all", grouped, ("module m v1 is not served",))
    report.save(found, tmp_path / "gates.json")
    assert report.load(tmp_path / "gates.json") == found
    assert report.load(tmp_path / "api.json") is None
    text = report.text("Kubernetes v1.39.0", [found])
    assert "2 differences by cause" in text
    assert "* b (2 times)\n  `short`" in text
    assert "**not compared**: module m v1 is not served" in text


def test_a_selector_whose_cost_alone_differs_has_another_cause_than_its_outcome() -> None:
    cost = causes.selector({"actual_cost": 1}, {"actual_cost": -2}, ["actual_cost"])
    assert cost == "selectors: actual_cost lower, where it has a result"
    error = {"compile_error": "ERROR: <input>:1:1: undeclared reference to 'x'"}
    other = {"compile_error": "ERROR: <input>:9:4: undeclared reference to 'y'"}
    found = causes.selector(error, {}, ["compiles"])
    assert found == causes.selector(other, {}, ["compiles"])
    assert "undeclared reference" in found
