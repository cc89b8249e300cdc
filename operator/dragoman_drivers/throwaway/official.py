"""Official binaries without a pinned digest: where they are, and what vouches for them.

Such a file counts only when its digest equals the one that the release publishes beside it. The
first digest is recorded in the cache, and every later download must have the same. Where cosign is
at hand, it verifies the signature of Kubernetes' releases; etcd signs none.

`DRAGOMAN_MIRROR` replaces the release servers: `<mirror>/dl.k8s.io/release/…`.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from dragoman_base.files import read_text
from dragoman_drivers.throwaway import downloads
from dragoman_drivers.throwaway.downloads import DownloadError, Pin, Progress
from dragoman_toolkit.replacing import replace_file

KUBERNETES = "https://dl.k8s.io/release"
ETCD = "https://github.com/etcd-io/etcd/releases/download"
ETCD_VERSION = "v3.6.8"
"""The release of etcd that goes with all versions of Kubernetes here."""
BINARIES = (*("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl", "kubelet"),)
SIGNER = "krel-staging@k8s-releng-prod.iam.gserviceaccount.com"
ISSUER = "https://accounts.google.com"
"""Who signs the binaries of Kubernetes, as its documentation says."""
_DIGEST_BYTES = 1 << 20


def read(url: str) -> str:
    """Return the text at an official address, or at its place on the mirror."""
    with downloads.opened(url, secure=True) as answer:
        text: str = answer.read(_DIGEST_BYTES).decode()
        return text


def kubernetes(version: str, machine: str, name: str) -> Pin:
    """Return the published digest of a Kubernetes binary, from the .sha512 file beside it."""
    url = f"{KUBERNETES}/{version}/bin/linux/{machine}/{name}"
    return Pin(url, "sha512", checked((read(f"{url}.sha512").split() or [""])[0], 128, url))


def server(version: str, machine: str, name: str) -> Pin:
    """Return the published digest of the server archive, which has all binaries of BINARIES."""
    url = f"https://dl.k8s.io/{version}/kubernetes-server-linux-{machine}.tar.gz"
    digest = checked((read(f"{url}.sha512").split() or [""])[0], 128, url)
    return Pin(url, "sha512", digest, f"kubernetes/server/bin/{name}")


def etcd(version: str, machine: str) -> Pin:
    """Return the published digest of etcd's archive, from the SHA256SUMS of its release."""
    folder = f"etcd-{version}-linux-{machine}"
    sums = read(f"{ETCD}/{version}/SHA256SUMS")
    found = re.search(rf"^(\w+)  {re.escape(folder)}\.tar\.gz$", sums, re.MULTILINE)
    url = f"{ETCD}/{version}/{folder}.tar.gz"
    return Pin(url, "sha256", checked(found[1] if found else "", 64, url), f"{folder}/etcd")


def checked(digest: str, length: int, url: str) -> str:
    """Return a digest; raise ValueError for what is none."""
    if not re.fullmatch(rf"[0-9a-f]{{{length}}}", digest):
        raise ValueError(f"{url}: its digest file has {digest[:20]!r} instead of a digest")
    return digest


def has(name: str) -> bool:
    """Tell whether releases publish this binary."""
    return name == "etcd" or name in BINARIES


def published(name: str, version: str) -> Pin:
    """Return where a binary is, and the digest that its release publishes.

    Raises:
        DownloadError: The digest cannot be read.
    """
    machine = downloads.machine()
    try:
        if name == "etcd":
            return etcd(ETCD_VERSION, machine)
        return kubernetes(version, machine, name)
    except (OSError, ValueError) as error:
        raise DownloadError(f"{name}: {getattr(error, 'reason', '') or error}") from error


def fetch(name: str, version: str, target: Path, records: Path, progress: Progress) -> str:
    """Put an official binary at the target, which no digest is pinned of; say what vouches for it.

    Args:
        name: Of the binary.
        version: Kubernetes version.
        target: Where it goes, in one step.
        records: Folder with the digest of each first download, by address.
        progress: Called with the bytes transferred.

    Raises:
        DownloadError: It cannot be reached or is incomplete, its digest is another than the
            published or the recorded one, or cosign rejects its signature.
    """
    pin = published(name, version)
    digest = f"{pin.algorithm}:{pin.digest}"
    record = records / quote(pin.url.partition("://")[2], safe="")
    known = read_text(record).strip() if record.exists() else ""
    if known not in {"", digest}:
        raise DownloadError(
            f"{pin.url}: its release publishes {shortened(digest)}, but {shortened(known)} was "
            f"recorded when it was first downloaded. If the release was replaced, delete {record}"
        )
    downloads.fetch(pin, target, progress, lambda file: verify(pin, file), secure=True)
    records.mkdir(parents=True, exist_ok=True)
    replace_file(record, f"{digest}\n".encode())
    trust = "and the recorded one" if known else "now recorded"
    return (
        f"downloaded from {downloads.host(pin.url)}; {shortened(digest)} equals the published "
        f"digest, trusted because this server said so, {trust}; {signature(pin)}"
    )


def shortened(digest: str) -> str:
    """Return a digest as messages show it."""
    algorithm, _, text = digest.partition(":")
    return f"{algorithm} {text[:12]}…"


def signature(pin: Pin) -> str:
    """Say what is known of a file's signature after it was fetched."""
    if not pin.url.startswith(KUBERNETES):
        return "etcd publishes no signature"
    return (
        "signature verified by cosign"
        if shutil.which("cosign")
        else "signature not verified: cosign is not on PATH"
    )


def verify(pin: Pin, file: Path) -> None:
    """Verify the signature of a file of Kubernetes, where cosign is at hand.

    Raises:
        DownloadError: The signature cannot be read, or does not fit.
    """
    cosign = shutil.which("cosign")
    if not cosign or not pin.url.startswith(KUBERNETES):
        return
    with tempfile.TemporaryDirectory() as folder:
        parts = {"--signature": Path(folder) / "sig", "--certificate": Path(folder) / "cert"}
        for part in parts.values():
            try:
                part.write_text(read(f"{pin.url}.{part.name}"))
            except (OSError, ValueError) as error:
                raise DownloadError(f"{pin.url}.{part.name}: {error}") from error
        options = [word for option, part in parts.items() for word in (option, str(part))]
        identity = [f"--certificate-identity={SIGNER}", f"--certificate-oidc-issuer={ISSUER}"]
        done = subprocess.run(  # noqa: S603 — fixed words and a checked file
            [cosign, "verify-blob", *options, *identity, str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DownloadError(f"{pin.url}: cosign does not verify its signature: {last}")
