"""CRDs of the operators that the chart has objects for, out of their Go modules, pinned by sum."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.controlplane.api import Json
from tests.support.controlplane.artifacts import cache_root
from tests.support.controlplane.toolchain import MODULES, go_for


@dataclass(frozen=True, slots=True)
class Source:
    """A Go module that holds CRDs.

    Attributes:
        module: Its path and version.
        sum: What its content must hash to, as in a go.sum.
        files: The CRDs that are needed, by their paths in it.
    """

    module: str
    sum: str
    files: tuple[str, ...]


SOURCES = (
    Source(
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        tuple(
            f"example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml"
            for plural in ("podmonitors", "prometheusrules", "servicemonitors")
        ),
    ),
    Source(
        "github.com/cert-manager/cert-manager@v1.19.1",
        "h1:Txh8L/nLWTDcb7ZnXuXbTe15BxQnLbLirXmbNk0fGgY=",
        tuple(
            f"deploy/crds/cert-manager.io_{plural}.yaml"
            for plural in ("certificaterequests", "certificates", "issuers")
        ),
    ),
)


def definitions() -> Iterator[Json]:
    """Yield the CRDs of the Prometheus operator and of cert-manager."""
    for source in SOURCES:
        folder = downloaded(source)
        for file in source.files:
            yield yaml.load((folder / file).read_bytes(), yaml.CSafeLoader)


def downloaded(source: Source) -> Path:
    """Return the folder of a module, fetched through Go's module proxy unless it is there already.

    Raises:
        RuntimeError: It cannot be had, or is not what was pinned.
    """
    with tempfile.TemporaryDirectory() as nowhere:  # outside of any module
        done = subprocess.run(
            [go_for(MODULES / "helm", cache_root()), "mod", "download", "-json", source.module],
            cwd=nowhere,
            capture_output=True,
            text=True,
            check=False,
        )
    answer = json.loads(done.stdout) if done.stdout else {"Error": done.stderr}
    if "Error" in answer:
        raise RuntimeError(f"{source.module}: {answer['Error']}")
    if answer["Sum"] != source.sum:
        raise RuntimeError(f"{source.module}: expected {source.sum}, found {answer['Sum']}")
    return Path(answer["Dir"])
