"""The part of cert-manager that a user of the chart sees, played by the test.

cert-manager itself is not run: it takes longer to build than the control plane. Its kinds are its
own, from its pinned module; a Certificate of a self-signed Issuer becomes the Secret that it would
become, and `cert-manager.io/inject-ca-from` puts that Secret's `ca.crt` where it would be put.
"""

import base64
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from urllib3.exceptions import HTTPError

from tests.controlplane.api import Api, ApiError, Json
from tests.controlplane.certificates import general_name, pem, private_pem

INJECTED = "cert-manager.io/inject-ca-from"
CONFIGURATIONS = "validatingwebhookconfigurations"
MANAGER = "cert-manager-cainjector"
BEAT = 0.2


class Issuance:
    """Issues and injects until it is left."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(BEAT):
            # What changed or went in between is looked at again.
            with suppress(HTTPError, ApiError):
                for certificate in self._api.list("certificates"):
                    self._issue(certificate)
                for configuration in self._api.list(CONFIGURATIONS):
                    self._inject(configuration)

    def _issue(self, certificate: Json) -> None:
        spec, namespace = certificate["spec"], certificate["metadata"]["namespace"]
        if self._api.find("secrets", spec["secretName"], namespace):
            return
        assert spec["issuerRef"]["kind"] == "Issuer"
        issuer = self._api.get("issuers", spec["issuerRef"]["name"], namespace)
        assert issuer["spec"] == {"selfSigned": {}}
        hosts = [*spec.get("dnsNames", ()), *spec.get("ipAddresses", ())]
        files = self_signed(hosts, hours(spec["duration"]))
        self._api.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": spec["secretName"], "namespace": namespace},
                "type": "kubernetes.io/tls",
                "data": {name: base64.b64encode(text).decode() for name, text in files.items()},
            }
        )

    def _inject(self, configuration: Json) -> None:
        source = configuration["metadata"].get("annotations", {}).get(INJECTED)
        if source is None:
            return
        namespace, _, name = source.partition("/")
        secret = self._api.get("certificates", name, namespace)["spec"]["secretName"]
        bundle = self._api.get("secrets", secret, namespace)["data"]["ca.crt"]
        clients = [webhook["clientConfig"] for webhook in configuration["webhooks"]]
        if any(client.get("caBundle") != bundle for client in clients):
            for client in clients:
                client["caBundle"] = bundle
            self._api.update(configuration, fieldManager=MANAGER)


def hours(duration: str) -> timedelta:
    """Read a duration as the API server prints it, such as `2160h0m0s`."""
    return timedelta(hours=int(duration.partition("h")[0]))


def self_signed(hosts: list[str], lifetime: timedelta) -> dict[str, bytes]:
    """Return the Secret's files: no authority, a certificate that vouches for itself alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    nobody = x509.Name([])
    names = x509.SubjectAlternativeName([general_name(host) for host in hosts])
    built = (
        x509.CertificateBuilder()
        .subject_name(nobody)
        .issuer_name(nobody)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=True)
    )
    certificate = pem(built.sign(key, hashes.SHA256()))
    return {"tls.crt": certificate, "tls.key": private_pem(key), "ca.crt": certificate}
