"""Fetch the official release binaries of Kubernetes and etcd, where they can be reached.

A download is resumed where it ended, and is used only after its digest equals the expected one:
the pinned one in releases.json, else the one that the release publishes (`official.py`), for which
only https counts. Anything else is built from source. The pins are those of the server archives in
the CHANGELOG of Kubernetes' own Go module, which Go's checksum database vouches for, and, for etcd,
those in the list of Kubespray (roles/kubespray_defaults/vars/main/checksums.yml).
"""

import hashlib
import json
import lzma
import os
import platform
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

PINS = Path(__file__).with_name("releases.json")
ALLOWED = "DRAGOMAN_DOWNLOADS"
"""Environment variable: `off` allows no download, `pinned` only those whose digest is pinned."""
MIRROR = "DRAGOMAN_MIRROR"
"""Environment variable: an address below which the release servers are mirrored, by host."""
REACH_SECONDS = 3.0
"""After which an address that does not answer is passed over."""
READ_SECONDS = 30.0
"""After which a transfer without a byte has failed."""
ATTEMPTS = 3
MAX_BYTES = 1 << 30
"""Bytes of a file, and of a binary in an archive; those of Kubernetes have 400 MiB at most."""
_CHUNK = 1 << 20
_MAX_NAME = 1 << 20
_MAX_ENTRIES = 100_000
_DAMAGES = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


Progress = Callable[[int, int], None]
"""Called with the bytes that are there, and the bytes that there will be (0: unknown)."""


class DownloadError(Exception):
    """A file could not be fetched, or is not the pinned one; the message has address and reason."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One official file."""

    url: str  # Where it is
    algorithm: str  # Of the digest, as hashlib names it
    digest: str  # In hexadecimal
    member: str = ""  # Path of the binary within an archive; empty where the file is the binary


def pinned(name: str, version: str, pins: Path = PINS) -> Pin | None:
    """Return the official file of a binary; None where no digest of it is pinned.

    Args:
        name: Of the binary.
        version: Kubernetes version.
        pins: The file with the digests.
    """
    releases: dict[str, Any] = json.loads(pins.read_text())
    found = releases.get(version, {}).get(machine(), {}).get(name)
    return Pin(**found) if found else None


def machine() -> str:
    """Return the architecture of this machine, as releases name it."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def allowed() -> bool:
    """Whether any official binary may be downloaded."""
    return os.environ.get(ALLOWED) != "off"


def unpinned_allowed() -> bool:
    """Whether binaries without a pinned digest serve: not in CI, and so not for releases."""
    return allowed() and os.environ.get(ALLOWED) != "pinned" and not os.environ.get("CI")


def address(url: str) -> str:
    """Return where an official address is reached: there, or on the mirror."""
    mirror = os.environ.get(MIRROR, "").rstrip("/")
    return f"{mirror}/{url.partition('://')[2]}" if mirror else url


def host(url: str) -> str:
    """Return the server of an official address, or the mirror's."""
    return urllib.parse.urlsplit(address(url)).netloc


def fetch(
    pin: Pin,
    target: Path,
    progress: Progress = lambda done, total: None,  # noqa: ARG005 — nothing is reported
    verify: Callable[[Path], None] = lambda file: None,  # noqa: ARG005 — the digest suffices
    *,
    secure: bool = False,
) -> None:
    """Put a verified binary at the target, in one step.

    Args:
        pin: What is fetched.
        target: Where the binary goes.
        progress: Called with the bytes transferred.
        verify: Called with the file once its digest is right; raises DownloadError to reject it.
        secure: Whether only https counts, as where the digest comes from the same server.

    Proxies come from the environment, as urllib reads it. What was transferred before a failure is
    kept beside the target and continued the next time.

    Raises:
        DownloadError: It cannot be reached, ends early three times, is larger than MAX_BYTES, has
            another digest, or is no archive with the binary.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{pin.digest[:16]}.part")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _transfer(pin.url, partial, progress, secure=secure)
            break
        except (OSError, EOFError) as error:
            unreachable = not partial.exists()
            if unreachable or attempt == ATTEMPTS:
                raise DownloadError(f"{pin.url}: {_reason(error)}") from error
    if (found := _digest(partial, pin.algorithm)) != pin.digest:
        partial.unlink()
        raise DownloadError(
            f"{pin.url}: {pin.algorithm} is {found[:16]}…, expected is {pin.digest[:16]}…"
        )
    verify(partial)
    _install(pin, partial, target)


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows no redirect to an address without TLS."""

    def redirect_request(  # noqa: PLR0913, PLR0917 — as the base has it
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request for another address; raise URLError for one without TLS."""
        _require_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _require_https(url: str) -> None:
    if urllib.parse.urlsplit(url).scheme != "https":
        raise urllib.error.URLError(
            f"{url}: without a pinned digest only https is read, also from a mirror"
        )


def opened(url: str, headers: Mapping[str, str] | None = None, *, secure: bool) -> Any:
    """Ask an official address, or its place on the mirror; raise OSError where that fails."""
    place = address(url)
    if secure:
        _require_https(place)
    opener = urllib.request.build_opener(*([_OnlyHttps()] if secure else []))
    request = urllib.request.Request(place, headers=dict(headers or {}))  # noqa: S310 — official
    return opener.open(request, timeout=REACH_SECONDS)


def _transfer(url: str, partial: Path, progress: Progress, *, secure: bool) -> None:
    there = partial.stat().st_size if partial.exists() else 0
    headers = {"Range": f"bytes={there}-"} if there else {}
    try:
        # The wait for the first answer is short: the build from source is the other way.
        answer = opened(url, headers, secure=secure)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # the file is complete already
            return
        raise
    with answer:
        try:
            _receive(answer, partial, there if answer.status == 206 else 0, progress)
        except _TooLargeError:
            partial.unlink(missing_ok=True)
            raise DownloadError(f"{url}: larger than {MAX_BYTES >> 20} MiB") from None


class _TooLargeError(Exception):
    """More bytes than any official file has."""


def _receive(answer: Any, partial: Path, there: int, progress: Progress) -> None:
    said = answer.headers.get("Content-Length") or ""
    length = int(said) if said.isascii() and said.isdigit() and len(said) < 20 else 0
    if there + length > MAX_BYTES:
        raise _TooLargeError
    total = there + length if length else 0
    _patient(answer)
    with partial.open("ab" if there else "wb") as file:
        done = there
        while chunk := answer.read(_CHUNK):
            done += len(chunk)
            if done > MAX_BYTES:
                raise _TooLargeError
            file.write(chunk)
            progress(done, total)
    if done < total:
        raise EOFError(f"ended after {done} of {total} bytes")


def _patient(answer: Any) -> None:
    """Allow a transfer longer pauses than the first answer."""
    raw = getattr(getattr(answer, "fp", None), "raw", None)
    if sock := getattr(raw, "_sock", None):
        sock.settimeout(READ_SECONDS)


def _reason(error: BaseException) -> str:
    return str(getattr(error, "reason", "") or error) or type(error).__name__


def _digest(file: Path, algorithm: str) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, algorithm).hexdigest()


def _install(pin: Pin, partial: Path, target: Path) -> None:
    """Move the binary into place, out of its archive where it is in one."""
    if not pin.member:
        partial.chmod(0o755)
        partial.replace(target)
        return
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        unpacked = Path(folder) / target.name
        try:
            _extract(pin, partial, unpacked)
        except DownloadError:
            partial.unlink()
            raise
        except (*_DAMAGES, OSError) as error:
            partial.unlink()
            raise DownloadError(f"{pin.url}: a damaged archive: {_reason(error)}") from error
        unpacked.chmod(0o755)
        unpacked.replace(target)
    partial.unlink()


class _Entry(tarfile.TarInfo):
    """An entry whose size is believed up to a limit: what is no file, as a long name, is read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Parse a header."""
        found = super().frombuf(buf, encoding, errors)
        if found.size > (MAX_BYTES if found.isreg() else _MAX_NAME):
            raise tarfile.ReadError(f"an entry of {found.size >> 20} MiB")
        return found


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the entries of an archive that unpacks to no more than four files may have."""
    for count, one in enumerate(archive):
        if one.offset_data > 4 * MAX_BYTES or count > _MAX_ENTRIES:
            raise tarfile.ReadError("too much before the file")
        yield one


def _extract(pin: Pin, partial: Path, unpacked: Path) -> None:
    """Write the binary of an archive, which must be a file in it and no link to another."""
    with tarfile.open(partial, tarinfo=_Entry) as archive:
        member = next((one for one in _members(archive) if one.name == pin.member), None)
        source = archive.extractfile(member) if member and member.isreg() else None
        if member is None or source is None:
            raise DownloadError(f"{pin.url}: {pin.member} is no file of the archive")
        if member.size > MAX_BYTES:
            raise DownloadError(f"{pin.url}: {pin.member} is larger than {MAX_BYTES >> 20} MiB")
        with source, unpacked.open("wb") as binary:
            while chunk := source.read(_CHUNK):
                binary.write(chunk)
