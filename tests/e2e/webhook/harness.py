"""The webhook as a process, and the configuration by which the API server calls it."""

import base64
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.e2e.running import answers, faults_in
from tests.e2e.webhook.manifests import broken_schema, manifest
from tests.e2e.webhook.rbac import WEBHOOK_RULES
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.certificates import Authority
from tests.support.controlplane.credentials import User
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import LOOPBACK, ThrowawayProcess, free_ports
from tests.support.worlds import driverconfigs as builders

Json = dict[str, Any]
EXAMPLE = Path(__file__).parents[3] / "examples/webhook/configuration.yaml"
CONFIGURATIONS = "validatingwebhookconfigurations"
NAME = "dragoman"
SECRET = "dragoman-webhook-tls"
SETTLED_SECONDS = 30


class WebhookProcess:
    """`dragoman webhook`, one process, where its control plane is.

    Args:
        plane: Whose API server calls it.
        user: Who it is to the API server.
        folder: Where a certificate of an authority of its own is made, without flags.
        flags: Where its certificate comes from, and more.
        address: Where it listens.
        port: Where it listens; any free one when 0.
    """

    def __init__(
        self,
        plane: ControlPlane,
        user: User,
        folder: Path,
        *flags: str,
        address: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        self.plane = plane
        self.address = address
        free, self.probes = plane.place.inside(lambda: free_ports(2))
        self.port = port or free
        self.bundle = b""
        if not flags:
            pair = Authority(folder).serving(f"webhook-{self.port}")
            self.bundle = (folder / "ca.crt").read_bytes()
            flags = (f"--tls-certificate={pair.certificate}", f"--tls-key={pair.key}")
        command = [
            *(sys.executable, "-m", "dragoman", "webhook", f"--kubeconfig={user.kubeconfig}"),
            f"--address={address}:{self.port}",
            f"--metrics-address={address}:{self.probes}",
            *flags,
        ]
        name = f"webhook-{address}-{self.port}"
        self.process = ThrowawayProcess(
            name, plane.place.command(command), plane.logs / f"{name}.log"
        )

    def __enter__(self) -> Self:
        """Start, and wait until it is ready."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.process.stop()

    def start(self) -> None:
        """Start, and wait until it is ready."""
        self.process.start()
        self.await_ready()

    def await_ready(self) -> None:
        """Wait until it is ready."""
        wait_for(self.ready, message="the webhook is not ready")

    def ready(self) -> bool:
        """Whether /readyz says yes."""
        self.process.check()
        return answers(self.probes, self.address)

    def faults(self) -> list[str]:
        """Return the lines of the log that no input may cause."""
        return faults_in(self.process.log.read_text(errors="replace"))


def configuration(port: int, bundle: bytes = b"", policy: str = "Fail") -> Json:
    """Return the example's configuration with a URL on loopback in place of the Service."""
    document = example(bundle, policy)
    for one in document["webhooks"]:
        del one["clientConfig"]["service"]
        one["clientConfig"]["url"] = f"https://127.0.0.1:{port}/validate"
    return document


def example(bundle: bytes = b"", policy: str = "Fail") -> Json:
    """Return the example's configuration, which names a Service, with this bundle and policy."""
    document: Json = yaml.safe_load(EXAMPLE.read_text())
    for one in document["webhooks"]:
        one["failurePolicy"] = policy
        if bundle:
            one["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
    return document


def bundle_in(api: Api) -> str:
    """Return the caBundle that is in force, as the configuration spells it."""
    found = api.get(CONFIGURATIONS, NAME)["webhooks"]
    return str(found[0]["clientConfig"].get("caBundle") or "")


def spoil_bundle(api: Api, value: str = "") -> None:
    """Wipe or overwrite the caBundle, as an upgrade of a chart may."""
    document = api.get(CONFIGURATIONS, NAME)
    for one in document["webhooks"]:
        one["clientConfig"].pop("caBundle")
        if value:
            one["clientConfig"]["caBundle"] = value
    api.update(document)


def authorities_in(api: Api, namespace: str) -> set[str]:
    """Return which authorities the Secret of `--tls=self` holds."""
    data = api.get("secrets", SECRET, namespace).get("data") or {}
    return {name for name in data if name.endswith("ca.crt")}


def close(plane: ControlPlane) -> None:
    """Remove the configuration and wait until the API server has noticed."""
    api = plane.api()
    if api.find(CONFIGURATIONS, NAME) is not None:
        api.delete(CONFIGURATIONS, NAME)
        wait_for(lambda: asks_nobody(plane), SETTLED_SECONDS, "no webhook to be asked any more")


def asks_nobody(plane: ControlPlane) -> bool:
    """Whether the API server takes what a running webhook denies, and what a dead one hinders."""
    schema, device_class = broken_schema(), manifest("DeviceClass", "", name="probe")
    device_class["spec"]["config"] = [builders.entry({"any": 1}, driver="other.example.com")]
    for document in (schema, plane.served(device_class)):
        try:
            plane.api().create(document, dryRun="All")
        except KeyError:  # no DriverConfigSchemas are served
            continue
        except ApiError as error:
            if error.code not in {404, 409}:  # reviews come before the comparison with what exists
                return False
    return True


def wait_until_reviewed(plane: ControlPlane, document: Json, *, refused: bool = True) -> None:
    """Wait until the API server answers a dry run as expected: it reads webhooks with a delay."""

    def noticed() -> bool:
        try:
            plane.api().create(document, dryRun="All")
        except ApiError as error:
            return refused and error.code == 422
        return not refused

    wait_for(noticed, SETTLED_SECONDS, "the webhook configuration to be in force")


def webhook_user(plane: ControlPlane) -> User:
    """Return the user with the webhook's own rules."""
    return plane.user("webhook", WEBHOOK_RULES)
