"""How results of Kubernetes' own tests are read and compared."""

import json
from pathlib import Path

import pytest

from tests.upstream import integration
from tests.upstream.__main__ import only_built_in
from tests.upstream.kubelet import running
from tests.upstream.results import FAILED, PASSED, Spec, failures, left_out, read, summary


def spec(texts: list[str], leaf: str, state: str, kind: str = "It", message: str = "") -> object:
    return {
        "ContainerHierarchyTexts": texts,
        "LeafNodeText": leaf,
        "LeafNodeType": kind,
        "State": state,
        "RunTime": 1_500_000_000,
        "Failure": {"Message": message} if message else None,
    }


def test_a_report_is_read_without_the_nodes_around_its_specs(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    specs = [
        spec([], "", "passed", "BeforeSuite"),
        spec(["[sig-node] DRA", "control plane"], "supports claims", "passed"),
        spec(["[sig-node] DRA"], "fails", "failed", message="expected\n  one"),
    ]
    report.write_text(json.dumps([{"SpecReports": specs}]))
    assert list(read(report).values()) == [
        Spec("[sig-node] DRA control plane supports claims", PASSED, 1.5),
        Spec("[sig-node] DRA fails", FAILED, 1.5, "expected one"),
    ]


def made(**states: str) -> dict[str, Spec]:
    return {
        name: Spec(name, state, 1.0, "why" * (state == FAILED)) for name, state in states.items()
    }


def test_the_table_has_the_specs_that_ran_anywhere_and_their_number() -> None:
    ours = made(a=PASSED, b=FAILED, c="skipped")
    stock = made(a=PASSED, b=PASSED, c="skipped")
    assert summary("spec, Kubernetes v1.36.3", {"dragoman": ours, "built-in": stock}) == [
        "| spec, Kubernetes v1.36.3 | dragoman | built-in |",
        "|---|---|---|",
        "| a | passed | passed |",
        "| b | **failed** | passed |",
        "| **2 of 3 ran** | 1 passed, 1 failed | 2 passed |",
    ]
    assert failures(ours) == ["b: failed: why"]


def test_what_was_left_out_has_a_reason() -> None:
    specs = {
        one.name: one
        for one in (
            Spec("DRA kubelet on single node starts", "skipped", 0),
            Spec("DRA extended resources start [KubeletMinVersion:1.34]", "skipped", 0),
            Spec("[DRA] metadata starts", "skipped", 0),
            Spec("DRA control plane asks", "skipped", 0, "gate is off"),
            Spec("DRA control plane answers", "skipped", 0),
            Spec("another area", "skipped", 0),
        )
    }
    assert left_out(specs) == [
        "3 left out: needs containers that run (suite `node`)",
        "1 left out: gate is off",
        "1 left out: needs no containers that run (suite `e2e`)",
        "1 left out: belongs to none of the suites",
    ]


def test_a_pod_with_a_node_is_reported_as_ready() -> None:
    pod = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "main", "image": "pause"}]},
    }
    status = running(pod)
    assert status["phase"] == "Running"
    assert {"type": "Ready", "status": "True"} in status["conditions"]
    assert [one["name"] for one in status["containerStatuses"]] == ["main"]


LOG = """=== RUN   TestDRA/all/WorkloadResourceClaims
    dra.go:12: --- PASS: in a message
--- PASS: TestDRA (92.00s)
    --- PASS: TestDRA/all (90.10s)
        --- FAIL: TestDRA/all/WorkloadResourceClaims (12.50s)
            --- PASS: TestDRA/all/WorkloadResourceClaims/step (1.00s)
        --- PASS: TestDRA/all/ShareResourceClaimSequentially (33.00s)
"""


def test_results_of_integration_tests_are_those_of_tests_not_of_steps() -> None:
    assert integration.read(LOG) == {
        "all/ShareResourceClaimSequentially": Spec(
            "all/ShareResourceClaimSequentially", PASSED, 33.0
        ),
        "all/WorkloadResourceClaims": Spec("all/WorkloadResourceClaims", FAILED, 12.5),
    }


def test_a_package_that_starts_its_controller_in_another_way_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "dra.go").write_text(
        "package dra\n\tcontroller.Run(claimControllerCtx, 1 /* one */)\n"
    )
    (package / "dra_test.go").write_text("package dra\n")
    integration.copied(package, tmp_path / "copy")
    copied = {path.name: path.read_text() for path in (tmp_path / "copy").iterdir()}
    assert list(copied) == ["dra.go"]
    assert "runClaimController(claimControllerCtx, func()" in copied["dra.go"]
    (package / "dra.go").write_text("package dra\n")
    with pytest.raises(RuntimeError, match="starts the claim controller in 0 places"):
        integration.copied(package, tmp_path / "other")


def test_what_passes_with_the_built_in_controller_only_is_named() -> None:
    ours, stock = made(a=PASSED, b=FAILED), made(a=PASSED, b=PASSED, c=PASSED, d=FAILED)
    assert only_built_in({"dragoman": ours, "built-in": stock}) == ["b", "c"]
