"""What runs before the first step: binaries, control plane, operator, webhook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import urllib3
import yaml

from tests.demo.interruption import Interruption
from tests.demo.kubelet import Kubelet
from tests.demo.screen import Screen
from tests.demo.session import NAMESPACE, OPERATOR, WEBHOOK, Session
from tests.demo.steps import BEFORE
from tests.support.controlplane import binaries, network
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.artifacts import Artifact
from tests.support.controlplane.network import Network
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.node.node import NODE_FLAGS
from tests.support.controlplane.plane import API_SERVER, ETCD, SCHEDULER, ControlPlane
from tests.support.controlplane.process import free_ports
from tests.support.controlplane.recipes import NETWORK, NODE, RECIPES

if TYPE_CHECKING:  # needs packages of the tests
    from tests.demo.nodes import Nodes

NEEDED = (ETCD, API_SERVER, SCHEDULER)
EXAMPLES = Path("examples")
WEBHOOK_RIGHTS = ("rbac.yaml", "operator-rbac.yaml")
GATES = ("gpu.nvidia.com:MPSSupport=true",)
"""Feature gates of the drivers that are on."""


def build(screen: Screen, version: str, *, real: bool) -> None:
    """Build what is missing, after saying how long that usually takes.

    Raises:
        RuntimeError: There shall be real nodes, and this machine cannot have any.
    """
    if real and (reason := obstacle() or network.obstacle()):
        raise RuntimeError(reason)
    needed = (*NEEDED, *NODE, *NETWORK) if real else NEEDED
    missing = [RECIPES[name] for name in needed if not is_there(name, version)]
    if missing:
        minutes = sum(recipe.minutes for recipe in missing)
        names = ", ".join(recipe.name for recipe in missing)
        screen.say(
            f"The first run downloads {names}, or builds what it cannot download,",
            f"which takes about {minutes:g} min on 2 cores. Later runs start in seconds.",
            "",
        )
    binaries.find([*needed, "kubectl"], version)


def is_there(name: str, version: str) -> bool:
    """Whether a binary need be neither downloaded nor built."""
    recipe = RECIPES[name]
    return (
        binaries.ready_made(recipe, version) is not None
        or Artifact.of(recipe, version).is_current()
    )


@contextmanager
def session(
    screen: Screen, version: str, interruption: Interruption, *, real: bool
) -> Iterator[Session]:
    """Start the control plane, nodes if they are real, operator and webhook; all end with it."""
    start = time.monotonic()
    screen.show("   starting etcd, kube-apiserver and kube-scheduler")
    with control_plane(version, real=real) as plane, kubelets(plane, real=real) as kubelet:
        try:
            screen.show("")
            ready = Session(plane, screen, interruption, kubelet)
            ready.tick(started(version, real=real), time.monotonic() - start)
            ready.apply(BEFORE)
            ready.apply("crds", f"{EXAMPLES}/operator")
            ready.apply(*(f"{EXAMPLES}/webhook/{name}" for name in WEBHOOK_RIGHTS))
            start = time.monotonic()
            screen.show("   starting operator and webhook")
            start_dragoman(plane)
            took = time.monotonic() - start
            ready.tick("dragoman operator and dragoman webhook, two processes", took)
            yield ready
        except Exception:
            interruption.check()  # a library that is interrupted may raise an error of its own
            raise


def control_plane(version: str, *, real: bool) -> ControlPlane:
    """Return the control plane; kubelets may join it where pods need real addresses, too."""
    if not real:
        return ControlPlane(version, scheduler=True)
    return ControlPlane(
        version, scheduler=True, extra_apiserver_flags=NODE_FLAGS, network=Network()
    )


def kubelets(plane: ControlPlane, *, real: bool) -> AbstractContextManager[Kubelet | Nodes]:
    """Return those that run the pods: kubelets, or one that says so."""
    if not real:
        return nullcontext(Kubelet(plane, NAMESPACE))
    from tests.demo.nodes import Nodes  # noqa: PLC0415 — needs packages of the tests

    return Nodes(plane, NAMESPACE)


def started(version: str, *, real: bool) -> str:
    """Say what was started."""
    if real:
        return f"etcd, kube-apiserver, kube-scheduler, two kubelets {version}, containerd"
    return f"etcd, kube-apiserver and kube-scheduler {version}"


def start_dragoman(plane: ControlPlane) -> None:
    """Start operator and webhook as their service accounts of the examples; wait for both."""
    reviews, *_ = free_ports(1)
    plane.api().create(configuration(reviews))
    schemas = ["--catalog=all", f"--catalog-variable={','.join(GATES)}"]
    serving = [f"--address=127.0.0.1:{reviews}", "--tls=self", "--tls-host=127.0.0.1"]
    starting = [
        launch(plane, OPERATOR, "operator", "--claims=own", "--cluster-templates", *schemas),
        launch(plane, WEBHOOK, "webhook", *serving),
    ]
    for is_ready in starting:
        wait_for(is_ready, message="operator and webhook to be ready")
    wait_for(lambda: is_published(plane), message="the webhook's certificate to be published")


def launch(plane: ControlPlane, name: str, command: str, *flags: str) -> Callable[[], bool]:
    """Start a process of dragoman; returns what tells whether it is ready."""
    account = plane.service_account(name, OPERATOR)
    port, *_ = free_ports(1)
    process = plane.launch(
        name,
        [
            *(sys.executable, "-m", "dragoman", command),
            *(f"--kubeconfig={account.kubeconfig}", f"--namespace={OPERATOR}"),
            *(f"--metrics-address={plane.place.address}:{port}", *flags),
        ],
    )

    def ready() -> bool:
        process.check()
        try:
            url = f"http://{plane.place.address}:{port}/readyz"
            answer = urllib3.request("GET", url, retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    return ready


def configuration(port: int) -> Json:
    """Return the example's webhook configuration, called on loopback: there is no Service here."""
    document: Json = yaml.safe_load((EXAMPLES / "webhook/configuration.yaml").read_text())
    for webhook in document["webhooks"]:
        webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}/validate"}
    return document


def is_published(plane: ControlPlane) -> bool:
    """Whether the API server can trust the webhook."""
    (stored,) = plane.api().list("validatingwebhookconfigurations")
    return all("caBundle" in webhook["clientConfig"] for webhook in stored["webhooks"])
