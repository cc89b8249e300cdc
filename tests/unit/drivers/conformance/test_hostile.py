"""A driver whose files are hostile: the kit names them, and goes on."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman_base.files import UnreadableError
from dragoman_drivers.conformance import documents, reaper, subject
from dragoman_drivers.conformance.scenarios import cdi
from dragoman_drivers.conformance.scenarios.sharing import wrong_metadata
from dragoman_drivers.conformance.site import Site

pytestmark = pytest.mark.hostile("kit")

GOOD: dict[str, Any] = {"cdiVersion": "0.3.0", "kind": "a.b/c", "devices": [{"name": "d"}]}
BOMB = "kind: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)
TEXTS = {
    "a list": "[1, 2]",
    "a text": "hello",
    "nothing": "",
    "two": "--- {}\n--- {}\n",
    "a bomb": BOMB,
    "deep": "[" * 100_000,
    "deep JSON": '{"a":' * 100_000,
    "large": '{"a": "' + "x" * (2 << 20) + '"}',
    "devices": json.dumps({**GOOD, "devices": "d"}),
    "a device": json.dumps({**GOOD, "devices": ["d"]}),
    "a name": json.dumps({**GOOD, "devices": [{"name": ["d"]}]}),
    "edits": json.dumps({**GOOD, "containerEdits": []}),
    "edits of a device": json.dumps({**GOOD, "devices": [{"name": "d", "containerEdits": "x"}]}),
    "mounts": json.dumps({**GOOD, "containerEdits": {"mounts": {"hostPath": "/"}}}),
    "a mount": json.dumps({**GOOD, "containerEdits": {"mounts": ["/"]}}),
    "a path": json.dumps({**GOOD, "containerEdits": {"mounts": [{"hostPath": 5}]}}),
    "nodes": json.dumps({**GOOD, "containerEdits": {"deviceNodes": "x"}}),
    "env": json.dumps({**GOOD, "containerEdits": {"env": {"A": "b"}}}),
    "a variable": json.dumps({**GOOD, "containerEdits": {"env": [1]}}),
    "a version": json.dumps({**GOOD, "cdiVersion": 5}),
    "a kind": json.dumps({**GOOD, "kind": {"a": "b"}}),
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made: Site = object.__new__(Site)
    made.cdi = tmp_path
    return made


@pytest.mark.parametrize("name", TEXTS)
def test_a_document_of_another_form_is_named_and_is_none(site: Site, name: str) -> None:
    (site.cdi / "good.json").write_text(json.dumps(GOOD))
    (site.cdi / "bad.yaml").write_text(TEXTS[name])
    assert site.cdi_documents() == {"good.json": GOOD}
    assert [*site.cdi_faults()] == ["bad.yaml"]
    assert site.cdi_ids() == {"a.b/c=d": ["good.json"]}
    assert cdi.malformed(GOOD) == ""
    assert cdi.showing(site.cdi, "secret") == []


@pytest.mark.parametrize("name", ["FIFO", "device", "folder"])
def test_a_document_that_is_no_file_is_named(site: Site, name: str) -> None:
    path = site.cdi / "bad.json"
    if name == "FIFO":
        os.mkfifo(path)
    elif name == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert site.cdi_faults() == {"bad.json": f"a {name}, not a regular file"}
    assert site.cdi_documents() == {}
    assert site.cdi_ids() == {}
    assert cdi.showing(site.cdi, "secret") == []


def test_a_document_that_is_no_text_is_named(site: Site) -> None:
    (site.cdi / "bad.json").write_bytes(b"\xff\xfe")
    assert site.cdi_faults() == {"bad.json": "line 1: not UTF-8"}


def test_a_version_of_many_digits_is_said_in_one_line() -> None:
    said = cdi.malformed({**GOOD, "cdiVersion": f"0.{'9' * 100_000}.0"})
    assert said.startswith("cdiVersion is")
    assert len(said) < 100


def test_metadata_that_is_deep_is_none() -> None:
    said = wrong_metadata('{"a":' * 100_000, {"uid": "u"}, "d", [])
    assert said.startswith("no DeviceMetadata")
    assert len(said) < 200


def test_a_secret_is_found_in_the_beginning_of_a_large_file(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        file.write(b"secret")
        file.truncate(1 << 40)
    assert cdi.showing(tmp_path, "secret") == ["log"]
    with pytest.raises(UnreadableError, match="larger than 1 MiB"):
        documents.read(tmp_path / "log")


LEAVES = """
import os, sys, time
SLEEP = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)"
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sleep = [sys.executable, "-c", SLEEP, sys.argv[1] + "/" + str(os.getpid())]
            os.execve(sys.executable, sleep, {})
        os._exit(0)
while len(os.listdir(sys.argv[1])) < 8 or not sys.argv[2:]:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("ends", [False, True], ids=["runs", "ends by itself"])
def test_nothing_is_left_of_a_driver_whose_processes_leave_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    """As without root, without process ids of their own; and they clear their environment."""
    monkeypatch.setattr(subject, "namespaces", reaper.command)
    script, pids = tmp_path / "driver.py", tmp_path / "pids"
    script.write_text(LEAVES)
    pids.mkdir()
    places = subject.Places(
        **dict.fromkeys(subject.Places.names(), "x") | {"python": sys.executable}
    )
    command = f"{{python}} {script} {pids}{' ends' if ends else ''}"
    driver = subject.DriverInstance(command, places, tmp_path / "log")
    driver.start()
    while len(found := [int(one.name) for one in pids.iterdir()]) < 8:
        assert driver.runs or ends, driver.logged()
        time.sleep(0.01)
    if ends:
        driver.kill()
    else:
        assert driver.stop() is not None
    ended = [one for one in found if not Path(f"/proc/{one}").exists() or state(one) == "Z"]
    assert sorted(ended) == sorted(found)


def state(pid: int) -> str:
    """Return the state of a process; one that has ended waits for its parent as `Z`."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
