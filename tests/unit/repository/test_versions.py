"""How `make test-versions` reads and shows results."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.versions import faults
from tests.versions.__main__ import Result, complete, listed, read, run, table, versions

REPORT = """<testsuites><testsuite>
<testcase name="passes"/><testcase name="also"/>
<testcase name="breaks"><failure message="x"/></testcase>
<testcase name="cannot start"><error message="y"/></testcase>
<testcase name="left"><skipped message="1.34 has no PodGroups"/></testcase>
</testsuite></testsuites>"""


def test_a_report_gives_numbers_names_and_reasons(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    found = read(report)
    assert found.passed == 2
    assert found.failed == ("breaks", "cannot start")
    assert found.skipped == {"1.34 has no PodGroups": 1}


@pytest.mark.parametrize("status", [2, 3, 5], ids=["interrupted", "internal error", "no tests"])
def test_a_run_that_was_not_complete_is_never_recorded(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        (tmp_path / "v1.37.2-modes.xml").write_text(REPORT)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", ended)
    with pytest.raises(SystemExit, match=f"status {status}"):
        run("v1.37.2", "modes", tmp_path)


def test_the_table_names_failures_and_reasons_and_says_what_was_not_run() -> None:
    result = Result("2026-11-22", 2, ("breaks",), {"no PodGroups": 3})
    lines = table({"v1.34.4": {"lifecycle": result}}).splitlines()
    assert lines[2] == (
        "| v1.34.4 | 2 passed, **1 failed**, 3 skipped (2026-11-22) "
        "| not run | not run | not run | not run |"
    )
    assert lines[-2:] == [
        "* v1.34.4, lifecycle, failed: `breaks`",
        "* v1.34.4, lifecycle, 3 skipped: no PodGroups",
    ]


def test_every_minor_version_from_1_34_on_is_pinned_in_order() -> None:
    found = [".".join(version.split(".")[:2]) for version in versions()]
    assert found == ["v1.34", "v1.35", "v1.36", "v1.37", "v1.38"]


def test_a_version_that_never_ran_stands_in_the_table() -> None:
    result = Result("2026-11-22", 2, (), {})
    shown = complete({"v1.37.2": {"modes": result}})
    assert [*shown] == versions()
    assert table(shown).count("| not run | not run | not run | not run | not run |") == 4


def test_a_recorded_patch_release_stands_until_the_pinned_one_ran() -> None:
    assert [one for one in listed(["v1.37.0"]) if one not in versions()] == ["v1.37.0"]
    assert listed(["v1.37.0", "v1.37.2"]) == versions()


def test_readme_has_the_faults_that_were_measured() -> None:
    readme = faults.PAGE.read_text()
    assert readme == faults.renewed(readme, faults.load()), "run `make test-faults`"


def test_the_table_of_faults_says_yes_no_and_where_a_version_lacks_the_situation() -> None:
    results: faults.Results = {
        "v1.34.4": {"finished": True, "crash": None},
        "v1.37.2": {"finished": False},
    }
    lines = faults.table(results).splitlines()
    assert lines[0] == "| fault | v1.34.4 | v1.37.2 |"
    assert lines[2] == "| creates claims again for finished pods that stay | yes | no |"
    assert lines[-1].endswith("| - | - |")
