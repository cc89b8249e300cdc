"""etcd and kube-apiserver on loopback, in a folder that is removed at the end.

One etcd may have several API servers, with other API versions or feature gates each.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import urllib3
import yaml

from dragoman_drivers.throwaway.api import Api, ApiError
from dragoman_drivers.throwaway.certificates import Authority, signing_keys, write
from dragoman_drivers.throwaway.process import LOOPBACK, ThrowawayProcess, free_ports

START_SECONDS = 120.0
MARK = "dragoman-throwaway"
"""Name of the ConfigMap in kube-system by which such an API server is known."""
ADMIN = "dragoman-admin"
_QUIET = 0.1


class PlaneError(Exception):
    """A server did not start; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """One API server."""

    url: str  # Where it listens
    process: ThrowawayProcess  # What runs


class Plane:
    """Run etcd and an API server inside a `with` block.

    Args:
        binaries: Paths of `etcd` and `kube-apiserver`.
        flags: Further flags of the API server.
    """

    folder: Path  # Holds all files of the run
    authority: Authority  # Signed the servers' certificate
    server: Server  # The first API server

    def __init__(self, binaries: Mapping[str, Path], flags: Sequence[str] = ()) -> None:
        self._binaries = binaries
        self._flags = flags
        self._cleanup = ExitStack()
        self._token = secrets.token_hex(16)

    def __enter__(self) -> Self:
        """Start both; raise PlaneError where one does not."""
        with self._cleanup:
            self.folder = Path(tempfile.mkdtemp(prefix="dragoman-plane-"))
            self._cleanup.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.authority = Authority(self.folder)
            self._serving = self.authority.serving("server", (LOOPBACK, "localhost"))
            self._accounts = signing_keys(self.folder, "accounts")
            line = f'{self._token},{ADMIN},{ADMIN},"system:masters"\n'
            self._tokens = write(self.folder / "tokens.csv", line.encode())
            self._start_etcd()
            self.server = self.start_server(self._flags)
            self._mark()
            self._cleanup = self._cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End every process and remove every file."""
        self._cleanup.close()

    def api(self, server: Server | None = None, token: str = "") -> Api:
        """Return a client of an administrator, or of a token's user."""
        url = (server or self.server).url
        return Api(url, self.authority.certificate, token=token or self._token)

    def start_server(self, flags: Sequence[str] = ()) -> Server:
        """Start one more API server with these flags, and wait until it is ready."""
        (port,) = free_ports(1)
        command = [
            str(self._binaries["kube-apiserver"]),
            f"--etcd-servers=http://{LOOPBACK}:{self._etcd_port}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            "--endpoint-reconciler-type=none",
            f"--secure-port={port}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--token-auth-file={self._tokens}",
            "--service-account-issuer=https://issuer.invalid",
            f"--service-account-key-file={self._accounts.certificate}",
            f"--service-account-signing-key-file={self._accounts.key}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount",
            "--allow-privileged=true",
            *flags,
        ]
        process = ThrowawayProcess(
            "kube-apiserver", command, self.folder / f"kube-apiserver-{port}.log"
        )
        self._cleanup.callback(process.kill)
        process.start()
        started = Server(f"https://{LOOPBACK}:{port}", process)
        self._wait_ready(started)
        return started

    def kubeconfig(self, path: Path, url: str = "", token: str = "") -> Path:
        """Write a kubeconfig of a token's user, or an administrator's, for one of the servers."""
        authority, server = str(self.authority.certificate), url or self.server.url
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "it", "cluster": {"server": server, "certificate-authority": authority}}
            ],
            "users": [{"name": "it", "user": {"token": token or self._token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        return write(path, yaml.safe_dump(document).encode())

    def _start_etcd(self) -> None:
        self._etcd_port, peer = free_ports(2)
        urls = {
            name: f"http://{LOOPBACK}:{port}"
            for name, port in (("client", self._etcd_port), ("peer", peer))
        }
        command = [
            str(self._binaries["etcd"]),
            "--name=only",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={urls['client']}",
            f"--advertise-client-urls={urls['client']}",
            f"--listen-peer-urls={urls['peer']}",
            f"--initial-advertise-peer-urls={urls['peer']}",
            f"--initial-cluster=only={urls['peer']}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]
        process = ThrowawayProcess("etcd", command, self.folder / "etcd.log")
        self._cleanup.callback(process.kill)
        process.start()

    def _wait_ready(self, server: Server) -> None:
        probe = self.api(server)
        deadline = time.monotonic() + START_SECONDS
        while True:
            last: object = ""
            try:
                probe.request("GET", "/readyz", timeout=5)
                probe.get("namespaces", "kube-system")
            except (ApiError, urllib3.exceptions.HTTPError, KeyError) as error:
                last = error
            else:
                probe.close()
                return
            if server.process.pid is None or time.monotonic() > deadline:
                raise PlaneError(f"kube-apiserver is not ready: {last}\n{server.process.tail()}")
            time.sleep(_QUIET)

    def _mark(self) -> None:
        mark: dict[str, Any] = {"name": MARK, "namespace": "kube-system"}
        self.api().create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": mark})


def is_throwaway(api: Api) -> bool:
    """Whether an API server is one of this module."""
    return api.find("configmaps", MARK, "kube-system") is not None
