"""Kubeconfigs: dragoman asks as kubectl does, as the same user, or refuses where that refuses."""

import asyncio
import base64
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dragoman.kube.client import Client
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.errors import ApiError
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials
from dragoman_drivers.throwaway.certificates import Authority
from tests.e2e.kubeconfigs.cases import cases
from tests.e2e.kubeconfigs.recorder import Recorder, recording
from tests.support.controlplane import binaries
from tests.support.hostile import Tries

pytestmark = [pytest.mark.slow, pytest.mark.hostile("kubeconfigs")]

IN_THE_SAME_WORDS = 39
CREDENTIAL = """#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
 "status": {"token": "issued"}}'
"""
OTHERWISE = {
    "a password in the server": "refused: kubectl sends it in place of the user's credentials",
    "a password in a server without TLS": "refused: kubectl sends it in clear text",
    "a name in the server": "refused: kubectl sends it in place of the user's credentials",
}
"""Where dragoman differs from kubectl on purpose, and why."""


@dataclass
class Asked:
    """What one client did with a kubeconfig."""

    who: tuple[tuple[str, str], ...] | None  # Headers of the first request; None for no request
    said: str = field(compare=False, default="")  # Its error


@dataclass
class Machine:
    """Servers, files and kubectl."""

    folder: Path
    http: Recorder
    https: Recorder
    kubectl: Path

    def write(self, text: str) -> Path:
        """Write a kubeconfig with its placeholders filled in."""
        files = {name: self.folder / name for name in ("ca", "crt", "key", "token", "plugin")}
        values = {name: str(path) for name, path in files.items()}
        values |= {
            f"{name}Data": base64.b64encode(files[name].read_bytes()).decode()
            for name in ("ca", "crt", "key")
        }
        for scheme, server in (("http", self.http), ("https", self.https)):
            host = f"127.0.0.1:{server.server_address[1]}"
            values |= {scheme: f"{scheme}://{host}", f"{scheme}Host": host}
        path = self.folder / "config"
        path.write_text(re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), text))
        return path

    def first(self) -> tuple[tuple[str, str], ...] | None:
        """Return who asked, on either server."""
        found = [server.take() for server in (self.http, self.https)]
        return next((one for one in found if one is not None), None)

    def by_kubectl(self, path: Path) -> Asked:
        """Let kubectl ask."""
        words = ["--kubeconfig", str(path), "get", "--raw", "/version", "--request-timeout=5s"]
        done = subprocess.run(
            [self.kubectl, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
        )
        return Asked(self.first(), done.stderr.strip() if done.returncode else "")

    def by_dragoman(self, path: Path) -> Asked:
        """Let the client ask."""

        async def ask() -> None:
            async with Client(Credentials(ConnectionOptions(path))) as api:
                await api.get("/version")

        said = ""
        try:
            asyncio.run(ask())
        except (ConnectionSettingsError, ApiError, OSError) as error:
            said = str(error)
        return Asked(self.first(), said)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    authority = Authority(tmp_path)
    served, client = authority.serving("server"), authority.client("jane")
    copies = {"ca": authority.certificate, "crt": client.certificate, "key": client.key}
    for name, path in copies.items():
        (tmp_path / name).write_bytes(path.read_bytes())
    (tmp_path / "token").write_text("from-file\n")
    (tmp_path / "plugin").write_text(CREDENTIAL)
    (tmp_path / "plugin").chmod(0o755)
    kubectl = binaries.find(["kubectl"])["kubectl"]
    with recording() as http, recording(served.certificate, served.key) as https:
        yield Machine(tmp_path, http, https, kubectl)


@pytest.fixture
def both(machine: Machine) -> dict[str, tuple[Asked, Asked]]:
    """Return what kubectl and dragoman do with each kubeconfig."""
    found = {}
    for name, text in cases().items():
        path = machine.write(text)
        found[name] = machine.by_kubectl(path), machine.by_dragoman(path)
    return found


def test_each_kubeconfig_means_what_it_means_to_kubectl(
    both: dict[str, tuple[Asked, Asked]], tries: Tries
) -> None:
    differ = {
        name: f"kubectl: {kubectl}, dragoman: {own}"
        for name, (kubectl, own) in both.items()
        if kubectl != own
    }
    tries(len(both))
    assert {name: one for name, one in differ.items() if name not in OTHERWISE} == {}
    assert differ.keys() == OTHERWISE.keys()
    refused = {name: pair for name, pair in both.items() if pair[0].who is None is pair[1].who}
    others = {name: pair for name, pair in refused.items() if not same_words(*pair)}
    print(f"{len(both)} kubeconfigs, {len(refused)} refused, {len(others)} in other words")
    for name, (kubectl, own) in others.items():
        print(f"{name}:\n  {kubectl.said}\n  {own.said}")
    assert len(refused) - len(others) >= IN_THE_SAME_WORDS


def same_words(kubectl: Asked, own: Asked) -> bool:
    """Whether one refusal begins as the other, up to a remedy that dragoman adds or a list."""
    said = re.sub(r"^(error|Unable to connect to the server): ", "", kubectl.said)
    mine = re.sub(r"^(no credentials|the kubeconfig cannot be used): ", "", own.said)
    return bool(said and mine) and (said.startswith(mine) or mine.startswith(said))
