"""Official binaries: verified, resumed, and passed over where they cannot be reached."""

import hashlib
import io
import json
import re
import socket
import ssl
import tarfile
import threading
import urllib.error
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dragoman_drivers.throwaway import downloads, official
from dragoman_drivers.throwaway.downloads import DownloadError, Pin, fetch
from tests.support.controlplane import artifacts, binaries, gobuild, releases
from tests.support.controlplane.artifacts import Artifact
from tests.support.controlplane.certificates import Authority
from tests.support.controlplane.recipes import RECIPES

BINARY = b"#!/bin/sh\necho hello\n" * 50_000


@dataclass
class Server:
    """An official place, and how it fails.

    Attributes:
        address: Of the file.
        content: What it serves.
        files: What it serves by path; everything is `content` where this is empty.
        cut: Bytes after which each connection ends early, one for each request.
        ranges: What was asked for.
    """

    address: str = ""
    content: bytes = BINARY
    files: dict[str, bytes] = field(default_factory=dict)
    cut: list[int] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    http: ThreadingHTTPServer | None = None


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            state.ranges.append(asked)
            content = state.files.get(self.path) if state.files else state.content
            if content is None:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-") or 0)
            if start >= len(content):
                self.send_error(416)
                return
            body = content[start:]
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.cut.pop(0)] if state.cut else body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.http = running
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
    with pytest.raises(DownloadError, match=r"sha512 is .*, expected is"):
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
    server.content = archive_of("etcd-v3/etcd")
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
    monkeypatch.setattr(downloads, "pinned", lambda *_: pin)
    for name in ("CI", downloads.ALLOWED):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("pinned_here")
def test_the_demo_takes_the_download_and_keeps_it(server: Server) -> None:
    found = binaries.built(RECIPES["kube-apiserver"], "v1.36.3")
    assert found.read_bytes() == BINARY
    server.ranges.clear()
    assert binaries.built(RECIPES["kube-apiserver"], "v1.36.3") == found
    assert server.ranges == []


@pytest.mark.usefixtures("pinned_here")
def test_a_download_that_fails_is_built_instead(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.content = b"another"
    built = note_builds(monkeypatch)
    binaries.built(RECIPES["kube-apiserver"], "v1.36.3")
    assert built == ["kube-apiserver"]
    assert "expected is" in capsys.readouterr().err


def note_builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Build empty files; return the list of what was built."""
    built: list[str] = []

    def build(group: list[Artifact], _: Path, *, quick: bool) -> None:
        assert quick is artifacts.quick_allowed()
        for one in group:
            built.append(one.recipe.name)
            one.target.touch()

    monkeypatch.setattr(gobuild, "build", build)
    return built


@pytest.mark.usefixtures("pinned_here")
def test_no_download_is_tried_where_it_is_off(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(downloads.ALLOWED, "off")
    built = note_builds(monkeypatch)
    binaries.built(RECIPES["kube-apiserver"], "v1.36.3")
    assert (built, server.ranges) == (["kube-apiserver"], [])


VERSION = "v1.36.3"
NEEDED = ("etcd", "kube-apiserver", "kube-scheduler")


@pytest.fixture
def mirror(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """Serve the official files in place of the release servers, no digest of which is pinned."""
    machine, version = downloads.machine(), official.ETCD_VERSION
    kubernetes = f"/dl.k8s.io/release/{VERSION}/bin/linux/{machine}"
    folder = f"etcd-{version}-linux-{machine}"
    etcd = f"/github.com/etcd-io/etcd/releases/download/{version}"
    packed = archive_of(f"{folder}/etcd")
    server.files |= {f"{etcd}/{folder}.tar.gz": packed}
    sums = f"{'f' * 64}  {folder}.zip\n{hashlib.sha256(packed).hexdigest()}  {folder}.tar.gz\n"
    server.files |= {f"{etcd}/SHA256SUMS": sums.encode()}
    for name in ("kube-apiserver", "kube-scheduler"):
        content = BINARY + name.encode()
        server.files |= {
            f"{kubernetes}/{name}": content,
            f"{kubernetes}/{name}.sha512": hashlib.sha512(content).hexdigest().encode(),
        }
    monkeypatch.setattr(downloads, "pinned", lambda *_: None)
    for name in ("CI", downloads.ALLOWED, "KUBEBUILDER_ASSETS", "DRAGOMAN_BINARIES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    authority = Authority(tmp_path)
    pair = authority.serving("mirror")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    assert server.http
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    place = server.address.rpartition("/")[0]
    monkeypatch.setenv(downloads.MIRROR, place.replace("http", "https"))
    return server.files


@pytest.mark.hostile("downloads")
@pytest.mark.usefixtures("mirror")
def test_without_a_pin_a_mirror_without_tls_is_not_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(downloads.MIRROR, server.address.rpartition("/")[0])
    with pytest.raises(DownloadError, match="only https is read"):
        official.fetch("etcd", VERSION, tmp_path / "etcd", tmp_path / "digests", lambda *_: None)
    assert server.ranges == []


@pytest.mark.hostile("downloads")
def test_a_redirect_to_an_address_without_tls_is_not_followed() -> None:
    handler = downloads._OnlyHttps()
    with pytest.raises(urllib.error.URLError, match="only https is read"):
        handler.redirect_request(None, None, 302, "Found", {}, "http://127.0.0.1/etcd")


@pytest.mark.hostile("downloads")
def test_more_bytes_than_an_official_file_has_are_not_kept(
    pin: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "MAX_BYTES", 1000)
    with pytest.raises(DownloadError, match="larger than"):
        fetch(pin, tmp_path / "there")
    assert [*tmp_path.iterdir()] == []


def link_of(member: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(member)
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    return packed.getvalue()


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "no archive": lambda: BINARY,
    "nothing": lambda: b"",
    "half of one": lambda: archive_of("etcd")[:400],
    "another member": lambda: archive_of("other"),
    "a link": lambda: link_of("etcd"),
    "a long comment": lambda: archive_of("etcd", "x" * (2 << 20)),
}


@pytest.mark.hostile("downloads")
@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_without_the_binary_is_one_error(
    name: str, server: Server, tmp_path: Path
) -> None:
    server.content = ARCHIVES[name]() or b" "
    digest = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(DownloadError, match=r"damaged archive|no file of the archive"):
        fetch(Pin(server.address, "sha256", digest, "etcd"), tmp_path / "etcd")
    assert [*tmp_path.iterdir()] == []


def test_the_binaries_of_the_default_release_are_pinned() -> None:
    """CI allows no others."""
    for machine in ("amd64", "arm64"):
        found = json.loads(downloads.PINS.read_text())[binaries.DEFAULT_VERSION][machine]
        assert found.keys() == {"etcd", *official.BINARIES}


def archive_of(member: str, comment: str = "") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo(member)
        entry.pax_headers = {"comment": comment} if comment else {}
        entry.size = len(BINARY)
        archive.addfile(entry, io.BytesIO(BINARY))
    return packed.getvalue()


def path_of(files: dict[str, bytes], end: str) -> str:
    return next(path for path in files if path.endswith(end))


@pytest.mark.usefixtures("mirror")
def test_unpinned_binaries_are_downloaded_and_the_output_says_what_vouches_for_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = note_builds(monkeypatch)
    found = binaries.find(NEEDED, VERSION)
    assert built == []
    assert found["etcd"].read_bytes() == BINARY
    assert found["kube-apiserver"].read_bytes() == BINARY + b"kube-apiserver"
    said = capsys.readouterr().err
    assert re.search(
        r"^kube-scheduler: downloaded from 127\.0\.0\.1:\d+; sha512 \w{12}… equals the published "
        r"digest, trusted because this server said so, now recorded; signature not verified: "
        r"cosign is not on PATH$",
        said,
        re.MULTILINE,
    )
    assert "etcd publishes no signature" in said
    assert "releases.json pins no digest of v1.36.3" in said
    assert binaries.find(NEEDED, VERSION) == found
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("variable", [("CI", "true"), (downloads.ALLOWED, "pinned")])
@pytest.mark.usefixtures("mirror")
def test_ci_and_releases_build_in_place_of_an_unpinned_download(
    variable: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = note_builds(monkeypatch)
    binaries.find(NEEDED, VERSION)
    monkeypatch.setenv(*variable)
    binaries.find(NEEDED, VERSION)
    assert sorted(built) == sorted(NEEDED)


WRONG: dict[str, tuple[Callable[[dict[str, bytes], str], None], str]] = {
    "another file": (
        lambda files, path: files.update({path: BINARY}),
        r"sha512 is \w+…, expected is",
    ),
    "a file without its end": (
        lambda files, path: files.update({path: files[path][:-100]}),
        r"sha512 is \w+…, expected is",
    ),
    "a page in place of the digest": (
        lambda files, path: files.update({f"{path}.sha512": b"<html>Sorry</html>"}),
        "instead of a digest",
    ),
    "no digest": (lambda files, path: files.__delitem__(f"{path}.sha512"), "Not Found"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_file_is_refused_and_built(
    fault: str,
    mirror: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    built = note_builds(monkeypatch)
    change, reason = WRONG[fault]
    change(mirror, path_of(mirror, "/kube-apiserver"))
    binaries.find(NEEDED, VERSION)
    assert built == ["kube-apiserver"]
    assert re.search(
        f"^kube-apiserver: .*{reason}.*; building it", capsys.readouterr().err, re.MULTILINE
    )


def test_a_release_that_changes_after_the_first_download_is_refused(
    mirror: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = note_builds(monkeypatch)
    found = binaries.find(NEEDED, VERSION)
    found["kube-scheduler"].unlink()
    found["kube-apiserver"].unlink()
    path = path_of(mirror, "/kube-apiserver")
    mirror |= {path: b"other", f"{path}.sha512": hashlib.sha512(b"other").hexdigest().encode()}
    capsys.readouterr()
    binaries.find(NEEDED, VERSION)
    said = capsys.readouterr().err
    assert built == ["kube-apiserver"]
    assert "was recorded when it was first downloaded. If the release was replaced, delete" in said
    assert (
        "equals the published digest trusted because this server said so and the recorded one"
        in said.replace(",", "")
    )


@pytest.mark.parametrize(("status", "word"), [(0, "signature verified by cosign"), (1, "forged")])
def test_cosign_verifies_the_signature_of_kubernetes(
    status: int,
    word: str,
    mirror: dict[str, bytes],
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    path = path_of(mirror, "/kube-apiserver")
    mirror |= {f"{path}.sig": b"signature", f"{path}.cert": b"certificate"}
    (tmp_path / "bin").mkdir()
    cosign = tmp_path / "bin/cosign"
    cosign.write_text(f"#!/bin/sh\necho $@ > {tmp_path}/asked\necho forged >&2\nexit {status}\n")
    cosign.chmod(0o755)
    built = note_builds(monkeypatch)
    binaries.find(["kube-apiserver"], VERSION)
    assert word in capsys.readouterr().err
    assert built == (["kube-apiserver"] if status else [])
    assert f"--certificate-identity={official.SIGNER}" in (tmp_path / "asked").read_text()


def test_pinned_digests_win_over_published_ones(
    mirror: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = path_of(mirror, "/kube-apiserver")
    pin = Pin(f"https:/{path}", "sha512", hashlib.sha512(b"reviewed").hexdigest())
    monkeypatch.setattr(downloads, "pinned", lambda *_: pin)
    built = note_builds(monkeypatch)
    binaries.find(["kube-apiserver"], VERSION)
    assert built == ["kube-apiserver"]
    mirror[path] = b"reviewed"
    monkeypatch.setenv("CI", "true")
    (artifacts.cache_root() / VERSION / "kube-apiserver").unlink()
    assert binaries.find(["kube-apiserver"], VERSION)["kube-apiserver"].read_bytes() == b"reviewed"
    assert "equals the pinned digest" in capsys.readouterr().err


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
    monkeypatch.setattr(official, "read", read)
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
    assert pin.url.startswith("https://dl.k8s.io/v1.36.3/kubernetes-server-linux-")


def test_places_that_cannot_be_reached_change_no_pin(
    published: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(_: str) -> str:
        raise urllib.error.URLError("no route")

    monkeypatch.setattr(official, "read", unreachable)
    assert releases.main(["v1.36.3"]) == 2
    assert "no route" in capsys.readouterr().err
    assert published.read_text() == "{}"


def test_a_page_instead_of_a_digest_is_not_pinned(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(official, "read", lambda _: "<html>Not found</html>")
    with pytest.raises(ValueError, match="instead of a digest"):
        releases.main(["v1.36.3"])
    assert published.read_text() == "{}"
