"""A kubelet whose containers are processes of this machine.

It does what pods notice: arguments, variables, volumes and the token of the ServiceAccount as the
object says, readiness as its own probe says, preStop and SIGTERM in this order, exit statuses told
to the API server. Of the image it knows one thing: that it runs `dragoman`.
"""

import base64
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Self

from urllib3.exceptions import HTTPError

from tests.e2e.chart.sandbox import Mount, Sandbox, prepare
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.controlplane.network import Network
from tests.support.controlplane.plane import ControlPlane

TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"
BEAT = 0.3
TOKEN_SECONDS = 3600
PROBE_SECONDS = 10
"""A kubelet is content with one probe in three; this one is patient with each instead."""


class Kubelet:
    """Runs what the scheduler puts on one node.

    Args:
        plane: In a network of its own.
        network: That network.
        node: Name of the node, which is made.

    Attributes:
        logs: What containers write, one file for each pod.
        folder: What they mount.
        stopped: Set when all pods shall end.
    """

    def __init__(self, plane: ControlPlane, network: Network, node: str = "node") -> None:
        self.plane = plane
        self.network = network
        self.node = node
        self.api = plane.api()
        self.logs = plane.logs / "pods"
        self.folder = plane.folder / "pods"
        self._known: set[str] = set()
        self.stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Join the cluster."""
        prepare(self.network)
        self.logs.mkdir()
        node = objects.node(self.node)
        node["metadata"]["labels"]["kubernetes.io/os"] = "linux"
        self.api.create(node)
        self._run(self._watch)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything."""
        self.stopped.set()
        for thread in self._threads:
            thread.join()

    def said(self, part: str) -> str:
        """Return what the pods of one part have logged."""
        paths = sorted(self.logs.glob(f"*{part}*.log"))
        return "".join(path.read_text(errors="replace") for path in paths)

    def _run(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch(self) -> None:
        mine = f"spec.nodeName={self.node},status.phase=Pending"
        while not self.stopped.wait(BEAT):
            with suppress(HTTPError, ApiError):
                for pod in self.api.list("pods", fieldSelector=mine):
                    if pod["metadata"]["uid"] not in self._known:
                        self._known.add(pod["metadata"]["uid"])
                        self._run(Life(self, pod).live)


class Life:
    """One pod, from its start to its end."""

    def __init__(self, kubelet: Kubelet, pod: Json) -> None:
        self._kubelet = kubelet
        self._api = kubelet.api
        self._pod = pod
        self._name, self._namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        (self._container,) = pod["spec"]["containers"]
        self._told: Json = {}
        self._restarts = 0
        self._number = 0

    def live(self) -> None:
        """Live until the pod is deleted, or the kubelet stops."""
        sandbox = self._begin()
        try:
            while not self._kubelet.stopped.wait(BEAT):
                with suppress(HTTPError, ApiError):  # asked again a moment later
                    if self._is_to_end():
                        break
                    sandbox = self._look_after(sandbox)
        finally:
            self._end(sandbox)

    def _begin(self) -> Sandbox:
        self._number += 1
        folder = self._kubelet.folder / f"{self._pod['metadata']['uid']}-{self._number}"
        log = self._kubelet.logs / f"{self._name}.log"
        sandbox = Sandbox(self._kubelet.network, self._name, folder, log)
        folder.mkdir(parents=True)
        sandbox.start(self._container["args"], self._environment(), self._mounts())
        return sandbox

    def _look_after(self, sandbox: Sandbox) -> Sandbox:
        process = sandbox.process
        assert process is not None
        if process.pid is not None:
            self._tell("Running", sandbox.address, ready=self._is_ready(sandbox.address))
            return sandbox
        if self._pod["spec"]["restartPolicy"] == "Always":
            self._restarts += 1
            self._tell("Running", sandbox.address, ready=False)
            time.sleep(1)
            return self._begin()
        code = process.wait(0)
        phase = "Failed" if code else "Succeeded"
        ended = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
        self._tell(phase, sandbox.address, ready=False, state=ended)
        return sandbox

    def _is_to_end(self) -> bool:
        found = self._api.find("pods", self._name, self._namespace)
        return (
            found is None
            or found["metadata"]["uid"] != self._pod["metadata"]["uid"]
            or "deletionTimestamp" in found["metadata"]
        )

    def _end(self, sandbox: Sandbox) -> None:
        if not self._kubelet.stopped.is_set():
            hook = self._container.get("lifecycle", {}).get("preStop", {}).get("sleep", {})
            self._kubelet.stopped.wait(hook.get("seconds", 0))
        sandbox.stop(self._pod["spec"]["terminationGracePeriodSeconds"])
        uid = {"uid": self._pod["metadata"]["uid"]}
        with suppress(HTTPError, ApiError):
            self._api.delete(
                "pods", self._name, self._namespace, gracePeriodSeconds=0, preconditions=uid
            )

    # What the container sees ------------------------------------------------------------------

    def _environment(self) -> dict[str, str]:
        variables = {}
        for one in self._container.get("env", ()):
            field = one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            variables[one["name"]] = self._name if field == "metadata.name" else one["value"]
        return variables

    def _mounts(self) -> list[Mount]:
        mounts = [self._token()] if self._pod["spec"]["automountServiceAccountToken"] else []
        secrets = {
            volume["name"]: volume["secret"]["secretName"]
            for volume in self._pod["spec"]["volumes"]
            if "secret" in volume
        }
        return mounts + [
            Mount(one["mountPath"], self._secret(secrets[one["name"]]))
            for one in self._container["volumeMounts"]
            if one["name"] in secrets
        ]

    def _secret(self, name: str) -> dict[str, bytes]:
        """Read a Secret; who makes it may come later than the pod."""
        secret = wait_for(
            lambda: self._api.find("secrets", name, self._namespace), message=f"Secret {name}"
        )
        return {key: base64.b64decode(text) for key, text in secret["data"].items()}

    def _token(self) -> Mount:
        account = self._pod["spec"]["serviceAccountName"]
        path = self._api.resource("serviceaccounts").path(self._namespace, account, "token")
        asked = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        answer = self._api.request("POST", path, asked)
        authority = self._kubelet.plane.credentials.authority.certificate
        files = {
            "token": answer["status"]["token"].encode(),
            "ca.crt": authority.read_bytes(),
            "namespace": self._namespace.encode(),
        }
        return Mount(TOKENS, files)

    # What the API server hears ----------------------------------------------------------------

    def _is_ready(self, address: str) -> bool:
        probe = self._container.get("readinessProbe", {}).get("httpGet")
        if probe is None:
            return True
        ports = {port["name"]: port["containerPort"] for port in self._container["ports"]}
        secured = probe.get("scheme") == "HTTPS"
        return self._kubelet.network.inside(
            lambda: answers(address, ports[probe["port"]], probe["path"], secured=secured)
        )

    def _tell(self, phase: str, address: str, *, ready: bool, state: Json | None = None) -> None:
        status: Json = {
            "phase": phase,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [
                {"type": kind, "status": str(ready)} for kind in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [
                {
                    "name": self._container["name"],
                    "image": self._container["image"],
                    "imageID": "",
                    "ready": ready,
                    "restartCount": self._restarts,
                    "state": state or {"running": {}},
                }
            ],
        }
        if status == self._told:
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [{**one, "lastTransitionTime": now} for one in status["conditions"]]
        body = {"status": {**status, "conditions": conditions, "startTime": now}}
        with suppress(ApiError):
            self._api.patch("pods", self._name, self._namespace, body, subresource="status")
            self._told = status


def answers(address: str, port: int, path: str, *, secured: bool) -> bool:
    """Whether a GET is answered with 200; like the kubelet, it takes any certificate."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    made = (
        HTTPSConnection(address, port, timeout=PROBE_SECONDS, context=trusting)
        if secured
        else HTTPConnection(address, port, timeout=PROBE_SECONDS)
    )
    with closing(made), suppress(OSError, HTTPException):
        made.request("GET", path)
        return made.getresponse().status == 200
    return False


def fetched(network: Network, address: str, port: int, path: str) -> str:
    """Return what a pod serves."""

    def fetch() -> str:
        with closing(HTTPConnection(address, port, timeout=30)) as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode()

    return network.inside(fetch)
