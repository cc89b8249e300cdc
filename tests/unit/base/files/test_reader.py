"""Files that others wrote: regular, bounded in bytes, values and depth, or one sentence."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_base import files
from dragoman_base.files import UnreadableError, documents

pytestmark = pytest.mark.hostile("files")


@pytest.mark.parametrize("kind", ["FIFO", "socket", "device", "folder"])
def test_only_regular_files_are_opened(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("file")
    for read in (files.read, files.read_end, documents.trees):
        with pytest.raises(UnreadableError, match=f"a {kind}, not a regular file"):
            read(path)


def test_no_file_is_an_empty_one() -> None:
    assert files.read("/dev/null") == b""
    assert documents.tree("/dev/null") is None


def test_a_pipe_of_the_shell_is_read() -> None:
    code = "from dragoman_base import files; print(files.read_text('/dev/stdin'))"
    done = subprocess.run(
        [sys.executable, "-c", code], input="text", capture_output=True, text=True, check=True
    )
    assert done.stdout == "text\n"


def test_so_many_bytes_are_read_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadableError, match="larger than 16 MiB"):
        files.read(path)
    assert len(files.read_end(path)) == 1 << 20


def test_the_end_of_a_log_begins_at_a_position(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nsecond\xff\n")
    assert files.read_end(path, 6) == "second\ufffd\n"
    assert files.read_end(path, 99) == ""
    assert files.read_end(path, 0, 3) == "d\ufffd\n"


LONG_TAG = "%TAG ! tag:x," + "a" * 1_000_000 + "\n---\n" + "- !a x\n" * 40_000
MANY = {
    "a bomb": "a0: &a0 [x]\n"
    + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)),
    "merges": "a0: &a0 {k: v}\n"
    + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 10)),
    "itself": "&a [*a]",
    "brackets": "[" * 200_000,
    "braces": "{a: " * 60_000,
    "dashes": "- " * 60_000 + "a",
    "a list": "- a\n" * 200_000,
    "aliases": "- &a a\n" + "- *a\n" * 300_000,
    "JSON": "[" + "[]," * 200_000 + "[]]",
    "JSON that is deep": '{"a":' * 60_000,
    "documents": "--- a\n" * 60_000,
    "documents of JSON": "{}\n" * 60_000,
    "a line of JSON": "[] " * 30_000,
    "a long tag": LONG_TAG,
    "a long tag behind byte order marks": f"\ufeff\ufeff{LONG_TAG}",
}


@pytest.mark.parametrize("name", MANY)
def test_what_stands_for_too_much_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_text(MANY[name])
    with pytest.raises(UnreadableError, match=r"more than \d+|nested|too "):
        documents.trees(path)


def test_text_that_looks_like_many_values_is_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('{"a": "' + "[,{" * 200_000 + '"}')
    assert documents.trees(path) == [{"a": "[,{" * 200_000}]
