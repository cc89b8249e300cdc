"""Kubeconfig files for the users of a control plane."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane.certificates import KeyPairPaths, write


def with_token(path: Path, server: str, authority: Path, token: str) -> Path:
    """Write a kubeconfig that authenticates by a bearer token."""
    return kubeconfig(path, server, authority, {"token": token})


def with_token_file(path: Path, server: str, authority: Path, token: Path) -> Path:
    """Write a kubeconfig that authenticates by a token file, which may change at any time."""
    return kubeconfig(path, server, authority, {"tokenFile": str(token)})


def with_certificate(path: Path, server: str, authority: Path, pair: KeyPairPaths) -> Path:
    """Write a kubeconfig that authenticates by a client certificate."""
    files = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    return kubeconfig(path, server, authority, files)


def kubeconfig(path: Path, server: str, authority: Path, user: dict[str, Any]) -> Path:
    """Write a kubeconfig of one context to a file that only its owner can read."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "control-plane",
        "contexts": [
            {"name": "control-plane", "context": {"cluster": "control-plane", "user": "user"}}
        ],
        "clusters": [
            {
                "name": "control-plane",
                "cluster": {"server": server, "certificate-authority": str(authority)},
            }
        ],
        "users": [{"name": "user", "user": user}],
    }
    return write(path, yaml.safe_dump(document, sort_keys=False).encode())
