"""Every command of the pages can be typed, and prints what the page says."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import (
    CLUSTER,
    EMPTY_CLUSTER,
    NOT_RUN,
    ROOT,
    SHELL,
    Block,
    agrees,
    blocks,
    pages,
)
from tests.docs.readers import Reader, at_desk, on_cluster

BLOCKS = [block for page in pages() for block in blocks(page) if block.runs]


def parts(needs: str) -> list[Any]:
    """Return the pages with blocks that need something, each with these blocks in order."""
    found = {
        page: [one for one in BLOCKS if (one.page, one.needs) == (page, needs)] for page in pages()
    }
    return [
        pytest.param(chosen, id=str(page.relative_to(ROOT)))
        for page, chosen in found.items()
        if chosen
    ]


def follow(reader: Reader, chosen: list[Block]) -> list[str]:
    """Return what was wrong, by block."""
    if any("| jq " in block.text for block in chosen) and shutil.which("jq") is None:
        pytest.skip("jq, which the page uses, is not installed")
    return [
        f"{block.name}: {fault}"
        for block in chosen
        for command in block.commands
        if (fault := reader.follow(command, block.page.parent.relative_to(ROOT)))
    ]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Run one cluster with dragoman for all pages."""
    with on_cluster(tmp_path_factory.mktemp("desk"), empty=False) as reader:
        yield reader


@pytest.mark.parametrize("chosen", parts(SHELL))
def test_commands_in_a_shell(chosen: list[Block], tmp_path: Path) -> None:
    assert follow(at_desk(tmp_path), chosen) == []


@pytest.mark.parametrize("chosen", parts(CLUSTER))
def test_commands_on_a_cluster(chosen: list[Block], cluster: Reader) -> None:
    assert follow(cluster, chosen) == []


@pytest.mark.parametrize("chosen", parts(EMPTY_CLUSTER))
def test_commands_on_an_empty_cluster(chosen: list[Block], tmp_path: Path) -> None:
    with on_cluster(tmp_path, empty=True) as reader:
        assert follow(reader, chosen) == []


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_what_is_not_run_says_why(block: Block) -> None:
    assert block.needs in {SHELL, CLUSTER, EMPTY_CLUSTER, NOT_RUN}
    if block.mark.startswith(NOT_RUN):
        assert len(block.mark.removeprefix(f"{NOT_RUN}: ")) > 10


@pytest.mark.parametrize(
    ("printed", "said", "same"),
    [
        pytest.param("a\nb\n", "a\nb\n", True, id="the same lines"),
        pytest.param("a  \nb\n", "a\nb\n", True, id="ends of lines do not count"),
        pytest.param("a\nb\n", "a\n", False, id="a line more"),
        pytest.param("a\n", "a\nb\n", False, id="a line less"),
        pytest.param("a\nx\ny\nb\n", "a\n[…]\nb\n", True, id="any lines in between"),
        pytest.param("a\nb\n", "a\n[…]\nb\n", True, id="any may be none"),
        pytest.param("a\nx\n", "a\n[…]\nb\n", False, id="what follows any lines must follow"),
        pytest.param("", "", True, id="nothing"),
    ],
)
def test_output_is_compared_line_by_line(printed: str, said: str, *, same: bool) -> None:
    assert agrees(printed, said) is same
