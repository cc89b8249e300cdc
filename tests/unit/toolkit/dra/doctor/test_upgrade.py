"""`doctor --target`: what an audit log and flags of the control plane say."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_base import files
from dragoman_toolkit.dra.doctor.upgrade import EVENT_LIMIT, audited, gates_of
from dragoman_toolkit.dra.output import Unusable
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class, pool

KEY = ("v1beta1", "resourceslices")


def event(
    version: str = "v1beta1", user: str = "system:serviceaccount:gpu:driver", **more: Any
) -> str:
    """Return a line of an audit log."""
    about = {"apiGroup": "resource.k8s.io", "apiVersion": version, "resource": "resourceslices"}
    agent = "driver/v0.1 (linux/amd64) kubernetes/abc"
    document = {
        "apiVersion": "audit.k8s.io/v1",
        "objectRef": about,
        "user": {"username": user},
        "userAgent": agent,
        **more,
    }
    return json.dumps(document)


def log(folder: Path, *lines: str) -> Path:
    path = folder / "audit.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_an_audit_log_names_clients_those_that_ask_most_first(tmp_path: Path) -> None:
    path = log(tmp_path, event(user="once"), event(), event(), event("v1"))
    often = "system:serviceaccount:gpu:driver (driver/v0.1)"
    assert audited(path) == {KEY: (often, "once (driver/v0.1)")}


@pytest.mark.parametrize(
    "line",
    [
        "resource.k8s.io",
        "[" * 100_000 + "resource.k8s.io",
        event(objectRef="resource.k8s.io"),
        event(x="y" * EVENT_LIMIT),
        event(objectRef={"apiGroup": "resource.k8s.io", "apiVersion": "v1beta1", "resource": "x"}),
        json.dumps({"objectRef": {"apiGroup": "apps", "apiVersion": "v1beta1"}}),
        '"resource.k8s.io"',
    ],
)
def test_other_lines_of_an_audit_log_say_nothing(tmp_path: Path, line: str) -> None:
    assert audited(log(tmp_path, line, event())).keys() == {KEY}


def test_an_audit_log_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "audit.log.gz"
    path.write_bytes(gzip.compress(event().encode()))
    assert audited(path).keys() == {KEY}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b'{"msg": "resource.k8s.io"}\n',
        b"\x1f\x8bno gzip",
        gzip.compress(event().encode())[:40],
    ],
    ids=["empty", "binary", "other JSON", "no gzip", "cut gzip"],
)
def test_a_file_that_is_no_audit_log_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(content)
    with pytest.raises(Unusable, match="--audit-log"):
        audited(path)


@pytest.mark.parametrize(
    "words",
    [
        ["kube-apiserver", "--feature-gates=DRAAdminAccess=true,X=false"],
        ["kube-apiserver", "--feature-gates", "DRAAdminAccess=true,X=false"],
    ],
)
def test_gates_are_read_from_flags_of_pods(words: list[str]) -> None:
    metadata = {"namespace": "kube-system", "name": "kube-apiserver-1"}
    pods = {"items": [{"metadata": metadata, "spec": {"containers": [{"command": words}]}}, {}]}
    assert dict(gates_of(pods)) == {"kube-system/kube-apiserver-1": ("DRAAdminAccess", "X")}


def test_a_snapshot_and_an_audit_log_are_judged_together(tmp_path: Path) -> None:
    desk = Desk(tmp_path, objects.node("n"), device_class(), pool("n", 2))
    audit = log(tmp_path, event())
    document = desk.document("doctor", "--target", "1.38", "--audit-log", audit, status=1)
    (finding,) = document["findings"]
    assert (finding["id"], finding["object"]["text"]) == ("ApiRemoved", "v1beta1 resourceslices")
    assert "driver/v0.1" in finding["message"]
    assert document["partial"].keys() == {"ApiRemoved", "DriverOutdated", "GateRemoved"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "1.50"), "known: 1.34, 1.35, 1.36, 1.37, 1.38"),
        (("--audit-log", "x"), "give both"),
        (("--only", "ApiRemoved"), "name its version with --target"),
        (("--only", "ClaimIdle", "--only", "DriverOutdated"), "DriverOutdated judges an upgrade"),
        (("--only", "GateRemoved", "--snapshot", "x"), "name its version with --target"),
    ],
)
def test_what_cannot_be_meant_is_said(arguments: tuple[str, ...], said: str) -> None:
    result = invoke("doctor", *arguments)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.hostile("audit logs")
def test_what_clients_call_themselves_is_cut_and_counted(tmp_path: Path) -> None:
    """A few KiB of gzip are gigabytes of names that clients choose for themselves."""
    path = tmp_path / "audit.log.gz"
    with gzip.open(path, "wt") as file:
        for index in range(20):
            name = f"{index}-{'x' * 500_000}"
            file.write(f"{event(user=name, userAgent=name)}\n")
    (clients,) = audited(path).values()
    assert len(clients) == 20
    assert max(map(len, clients)) < 600


@pytest.mark.hostile("audit logs")
def test_a_log_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINES", 1 << 20)
    path = tmp_path / "audit.log.gz"
    with gzip.open(path, "wb") as file:
        file.write(b'{"apiVersion": "audit.k8s.io/v1"}\n' + (b" " * 99 + b"\n") * 20_000)
    with pytest.raises(Unusable, match="more than"):
        audited(path)
    path.write_bytes(b"\n" * (1 << 20))
    with pytest.raises(Unusable, match="of at most the first 10,000"):
        audited(path)
    for other in ("/dev/zero", tmp_path):
        with pytest.raises(Unusable, match="not a regular file"):
            audited(Path(other))
