"""`kubectl dra ui` and `top --html`, as processes and files."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class, pool
from tests.unit.toolkit.dra.ui.test_page import cluster


def test_html_writes_one_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *cluster())
    desk.run("top", "--html", tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert 'data-revision="0"' in html
    assert "cluster.jsonl" in html
    assert "fits on none of" in html or "fits on" in html


def test_html_says_why_it_cannot_be_written(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), pool("n", 1))
    result = invoke("top", "--html", tmp_path / "no" / "page.html", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_html_does_not_watch(tmp_path: Path) -> None:
    result = invoke("top", "--html", tmp_path / "page.html", "--watch")
    assert result.exit_code == 2
    assert "kubectl dra ui" in result.stderr


def test_the_address_is_printed_and_answers_until_interrupted(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *cluster())
    command = [sys.executable, "-m", "dragoman", "ui", "--no-browser", "--snapshot", str(desk.file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", process.stdout.readline())
        assert address is not None
        with urllib.request.urlopen(address[0], timeout=30) as answer:
            assert b"node-a" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_cluster_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    result = invoke("ui", "--no-browser", "--kubeconfig", tmp_path / "none.conf")
    assert result.exit_code == 2
    assert "none.conf" in result.stderr


@pytest.mark.hostile("page: the token")
def test_no_argument_of_the_browser_has_the_token(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *cluster())
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.part; mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "dragoman", "ui", "--snapshot", str(desk.file)]
    environment = {**os.environ, "BROWSER": f"{browser} %s", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/([\w-]{32})/", process.stdout.readline())
        assert found is not None
        while not seen.exists():
            time.sleep(0.05)
        opened = seen.read_text().strip()
        assert found[1] not in opened
        file = Path(opened.removeprefix("file://"))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f'content="0;url={found[0]}"' in file.read_text()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert not file.exists()
