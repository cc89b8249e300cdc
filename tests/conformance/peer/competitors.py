"""Who is compared: the vendors' webhooks, built from published Go modules, and dragoman's."""

import functools
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.controlplane import artifacts, binaries
from tests.support.controlplane.certificates import Authority, KeyPairPaths
from tests.support.controlplane.process import ThrowawayProcess, free_ports, listens
from tests.support.controlplane.recipes import Recipe

HERE = Path(__file__).parent
CACHE = "webhooks"
PATIENCE = 60.0
"""Seconds for a server to listen."""


@dataclass(frozen=True, slots=True)
class Competitor:
    """One webhook.

    Attributes:
        key: How it is called here.
        title: How it is called for people, with its version.
        path: Of its URL.
        arguments: What it is started with, beside port and certificate.
        recipe: How it is built; None for dragoman's, which runs from this checkout.
        driver: The only driver whose configs it looks at; empty for all.
    """

    key: str
    title: str
    path: str
    arguments: tuple[str, ...] = ()
    recipe: Recipe | None = None
    driver: str = ""

    def program(self) -> list[str]:
        """Return the command that runs it, built first where it is not in the cache."""
        if self.recipe is None:
            return [sys.executable, "-m", "tests.conformance.peer.serve"]
        return [str(binaries.built(self.recipe, CACHE))]


@dataclass(frozen=True, slots=True)
class Running:
    """A webhook that listens.

    Attributes:
        competitor: Which one.
        process: Its process.
        port: Its port on loopback.
        authority: PEM file of the authority of its certificate.
    """

    competitor: Competitor
    process: ThrowawayProcess
    port: int
    authority: Path


def vendor(key: str, module: str, package: str, **more: str | tuple[str, ...]) -> Competitor:
    """Make a vendor's webhook; its go.mod lies in the folder of its key."""
    folder = HERE / key
    recipe = Recipe(f"{key}-webhook", str(folder), f"{module}/{package}", 2, pinned=module)
    version = artifacts.pinned_version(recipe, folder)
    title = f"{module.partition('/')[2]} {version}"
    return Competitor(
        key,
        title,
        "/validate-resource-claim-parameters",
        recipe=recipe,
        **more,  # type: ignore[arg-type]
    )


EXAMPLE = vendor(
    "example",
    "sigs.k8s.io/dra-example-driver",
    "cmd/dra-example-webhook",
    driver="gpu.example.com",
)
GATES = ("TimeSlicingSettings", "MPSSupport", "PassthroughSupport")
NVIDIA = vendor(
    "nvidia",
    "sigs.k8s.io/dra-driver-nvidia-gpu",
    "cmd/webhook",
    driver="gpu.nvidia.com",
    arguments=("--feature-gates", ",".join(f"{gate}=true" for gate in GATES)),
)
DRAGOMAN = Competitor(
    "dragoman",
    "dragoman",
    "/validate",
    tuple(f"--variable={gate}=true" for gate in GATES),
)
ALL = (EXAMPLE, NVIDIA, DRAGOMAN)


@functools.cache
def certificate() -> tuple[tempfile.TemporaryDirectory[str], Authority, KeyPairPaths]:
    """Return a certificate for loopback, in a folder that lives as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="peer-")
    authority = Authority(Path(folder.name))
    return folder, authority, authority.serving("webhook")


@contextmanager
def running(competitor: Competitor, *more: str) -> Iterator[Running]:
    """Run a webhook; it ends with the block.

    Raises:
        RuntimeError: It ended, or did not listen in time; the message is the end of its log.
    """
    folder, authority, pair = certificate()
    [port] = free_ports(1)
    tls = ["--tls-cert-file", str(pair.certificate), "--tls-private-key-file", str(pair.key)]
    words = [*competitor.program(), *tls, "--port", str(port), *competitor.arguments, *more]
    process = ThrowawayProcess(competitor.title, words, Path(folder.name) / f"{competitor.key}.log")
    process.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not listens(port):
            process.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{competitor.title} does not listen\n{process.tail()}")
            time.sleep(0.05)
        yield Running(competitor, process, port, authority.certificate)
    finally:
        process.stop()
