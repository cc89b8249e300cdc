"""The progress of a build: how many packages of how many."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.controlplane.gobuild import importable, progress_of

LISTED = "go: downloading k8s.io/api v0.36.3\ngo: downloading k8s.io/client-go v0.36.3\n"
COMPILED = "internal/goarch\nunicode\nmath/bits\n"


def screen() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_bar_has_a_total_once_go_has_listed_the_packages(tmp_path: Path) -> None:
    log, console = tmp_path / "log", screen()
    log.write_text(LISTED)
    with progress_of("etcd", log, console) as progress:
        progress.report()
        progress.drawn.refresh()
        assert "etcd: 2 modules downloaded" in shown(console)
        progress.total = 12
        log.write_text(LISTED + COMPILED)
        progress.report()
        progress.drawn.refresh()
        assert "etcd: packages compiled" in shown(console)
        assert " 3/12" in shown(console)


def test_a_build_of_cached_packages_ends_with_a_full_bar(tmp_path: Path) -> None:
    console = screen()
    with progress_of("etcd", tmp_path / "log", console) as progress:
        progress.total = 12
    assert "12/12" in shown(console)


def test_lines_take_the_place_of_the_bar_in_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, console = tmp_path / "log", Console(file=io.StringIO())
    log.write_text(LISTED)
    with progress_of("etcd", log, console) as progress:
        progress.report()
        progress.total = 12
        log.write_text(LISTED + COMPILED)
        progress.report()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "etcd: 2 modules downloaded, 0:00 elapsed"
    assert second == "etcd: 3 of 12 packages compiled, 0:00 elapsed"


def test_a_test_counts_what_go_says_that_it_compiles(tmp_path: Path) -> None:
    listed = tmp_path / "packages"
    listed.write_text("math/bits\nexample.com/x [example.com/x.test]\nexample.com/x.test\n")
    assert importable(listed) == ["math/bits"]
