"""Official binaries: verified, resumed, and passed over where they cannot be reached."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import tarfile
import threading
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.controlplane import binaries, downloads, gobuild, releases
from tests.support.controlplane.downloads import DownloadError, Pin, fetch
from tests.support.controlplane.recipes import RECIPES

BINARY = b"#!/bin/sh\necho hello\n" * 50_000


@dataclass
class Server:
    """An official place, and how it fails.

    Attributes:
        address: Of the file.
        content: What it serves.
        cut: Bytes after which each connection ends early, one for each request.
        ranges: What was asked for.
    """

    address: str = ""
    content: bytes = BINARY
    cut: list[int] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            state.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-") or 0)
            if start >= len(state.content):
                self.send_error(416)
                return
            body = state.content[start:]
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.cut.pop(0)] if state.cut else body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.address = f"http://127.0.0.1:{running.server_port}/kube-apiserver"
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield state
        running.shutdown()


@pytest.fixture
def pin(server: Server) -> Pin:
    return Pin(server.address, "sha512", hashlib.sha512(BINARY).hexdigest())


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_the_binary_is_verified_and_executable(pin: Pin, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    fetch(pin, tmp_path / "there", lambda done, total: seen.append((done, total)))
    assert (tmp_path / "there").read_bytes() == BINARY
    assert (tmp_path / "there").stat().st_mode & 0o111
    assert seen[-1] == (len(BINARY), len(BINARY))
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_wrong_digest_leaves_nothing(server: Server, pin: Pin, tmp_path: Path) -> None:
    server.content = BINARY[:-1] + b"!"
    with pytest.raises(DownloadError, match=r"sha512 is .*, pinned is"):
        fetch(pin, tmp_path / "there")
    assert [*tmp_path.iterdir()] == []


def test_a_transfer_that_ends_early_is_resumed(server: Server, pin: Pin, tmp_path: Path) -> None:
    server.cut = [1000, 2000]
    fetch(pin, tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == BINARY
    assert server.ranges == ["", "bytes=1000-", "bytes=3000-"]


def test_what_was_transferred_is_kept_for_the_next_run(
    server: Server, pin: Pin, tmp_path: Path
) -> None:
    server.cut = [1000, 1000, 1000]
    with pytest.raises(DownloadError, match="ended after 3000 of"):
        fetch(pin, tmp_path / "there")
    assert not (tmp_path / "there").exists()
    server.ranges.clear()
    fetch(pin, tmp_path / "there")
    assert server.ranges == ["bytes=3000-"]
    assert (tmp_path / "there").read_bytes() == BINARY


def test_a_complete_part_is_not_transferred_again(server: Server, pin: Pin, tmp_path: Path) -> None:
    (tmp_path / f".there.{pin.digest[:16]}.part").write_bytes(BINARY)
    fetch(pin, tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == BINARY
    assert server.ranges == [f"bytes={len(BINARY)}-"]


def test_an_archive_gives_its_member(server: Server, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("etcd-v3/etcd")
        entry.size = len(BINARY)
        archive.addfile(entry, io.BytesIO(BINARY))
    server.content = packed.getvalue()
    digest = hashlib.sha256(server.content).hexdigest()
    fetch(Pin(server.address, "sha256", digest, "etcd-v3/etcd"), tmp_path / "etcd")
    assert (tmp_path / "etcd").read_bytes() == BINARY
    assert [path.name for path in tmp_path.iterdir()] == ["etcd"]


def test_an_address_that_does_not_answer_is_given_up(
    pin: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "REACH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(DownloadError, match="timed out"):
            fetch(replace(pin, url=address), tmp_path / "there")
    assert [*tmp_path.iterdir()] == []


def test_a_proxy_of_the_environment_is_used(
    server: Server, pin: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.address.rpartition("/")[0])
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    fetch(replace(pin, url="http://official.invalid/kube-apiserver"), tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == BINARY


@pytest.fixture
def pinned_here(pin: Pin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(downloads, "pinned", lambda name, version: pin)  # noqa: ARG005 — every one
    for name in ("CI", downloads.OFF):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("pinned_here")
def test_the_demo_takes_the_download_and_keeps_it(server: Server) -> None:
    found = binaries.built(RECIPES["kube-apiserver"], "v1.36.3", download=True)
    assert found.read_bytes() == BINARY
    server.ranges.clear()
    assert binaries.built(RECIPES["kube-apiserver"], "v1.36.3", download=True) == found
    assert server.ranges == []


@pytest.mark.usefixtures("pinned_here")
def test_a_download_that_fails_is_built_instead(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.content = b"another"
    built: list[str] = []

    def build(*arguments: Path) -> None:
        target = arguments[3]
        built.append(target.name)
        target.touch()

    monkeypatch.setattr(gobuild, "build", build)
    binaries.built(RECIPES["kube-apiserver"], "v1.36.3", download=True)
    assert built == ["kube-apiserver"]
    assert "pinned is" in capsys.readouterr().err


@pytest.mark.parametrize("variable", ["CI", downloads.OFF])
@pytest.mark.usefixtures("pinned_here")
def test_ci_and_tests_try_no_download(
    server: Server, variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, "off")
    assert not binaries.fetched(RECIPES["kube-apiserver"], "v1.36.3", tmp_path / "there")
    assert server.ranges == []


def test_a_given_folder_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("DRAGOMAN_BINARIES", str(tmp_path))
    assert binaries.find(["etcd"]) == {"etcd": tmp_path / "etcd"}


def test_binaries_without_a_digest_are_not_downloaded(tmp_path: Path) -> None:
    pins = tmp_path / "releases.json"
    pins.write_text("{}")
    assert downloads.pinned("kube-apiserver", "v1.36.3", pins) is None


def test_pins_are_whole_digests_of_official_addresses() -> None:
    releases = json.loads(downloads.PINS.read_text())
    for binaries_of in releases.values():
        for by_name in binaries_of.values():
            for one in by_name.values():
                length = {"sha512": 128, "sha256": 64}[one["algorithm"]]
                assert len(one["digest"]) == length
                assert one["url"].startswith(("https://dl.k8s.io/", "https://github.com/etcd-io/"))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Publish digests of all binaries, and begin with no pins; return the file of the pins."""

    def read(url: str) -> str:
        if url.endswith("SHA256SUMS"):
            version = url.split("/")[-2]
            lines = (f"{'e' * 64}  etcd-{version}-linux-{one}.tar.gz" for one in ("amd64", "arm64"))
            return "\n".join(lines)
        return f"{'a' * 128}\n"

    pins = tmp_path / "releases.json"
    pins.write_text("{}")
    monkeypatch.setattr(releases, "read", read)
    monkeypatch.setattr(releases, "PINS", pins)
    return pins


def test_digests_are_pinned_as_they_are_published(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert releases.main(["--check", "v1.36.3"]) == 1
    assert "make release-digests ARGS=v1.36.3" in capsys.readouterr().out
    assert published.read_text() == "{}"
    assert releases.main(["v1.36.3"]) == 0
    assert releases.main(["--check", "v1.36.3"]) == 0
    pin = downloads.pinned("kube-apiserver", "v1.36.3", published)
    assert pin is not None
    assert pin.digest == "a" * 128
    assert pin.url.startswith("https://dl.k8s.io/release/v1.36.3/bin/linux/")


def test_places_that_cannot_be_reached_change_no_pin(
    published: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(_: str) -> str:
        raise urllib.error.URLError("no route")

    monkeypatch.setattr(releases, "read", unreachable)
    assert releases.main(["v1.36.3"]) == 2
    assert "no route" in capsys.readouterr().err
    assert published.read_text() == "{}"


def test_a_page_instead_of_a_digest_is_not_pinned(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "read", lambda _: "<html>Not found</html>")
    with pytest.raises(ValueError, match="instead of a digest"):
        releases.main(["v1.36.3"])
    assert published.read_text() == "{}"
