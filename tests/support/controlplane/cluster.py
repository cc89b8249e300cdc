"""An API server that answers: its users, its clients, and the worlds that tests build in it."""

import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.controlplane.credentials import Credentials, User
from tests.support.controlplane.tokens import DAY

Rules = Iterable[Mapping[str, Any]]


class Cluster:
    """What one can do with a control plane while it runs.

    Attributes:
        version: Kubernetes version, such as `v1.36.3`.
        server: URL of the API server.
        kubeconfig: Path of the administrator's kubeconfig (group system:masters).
        folder: Where everything of this cluster lies.
        credentials: By which its users and servers prove who they are.
        service_accounts: Whether each namespace is given what its pods need for tokens.
    """

    version: str
    server: str
    kubeconfig: Path
    folder: Path
    credentials: Credentials
    service_accounts: bool
    _admin: Api
    _apis: list[Api]

    # Users ------------------------------------------------------------------------------------

    def user(
        self, name: str, rules: Rules = (), groups: Sequence[str] = (), lifetime: float = DAY
    ) -> User:
        """Make an ordinary user that may do what the rules say, cluster-wide, and nothing else.

        Calling it again gives a new token and, where rules are given, replaces the old ones.

        Args:
            name: As audit records and RBAC spell it.
            rules: Rules as in a ClusterRole.
            groups: Further groups of the user.
            lifetime: Seconds for which the token is accepted; the server notices up to 10 s late.
        """
        self.grant(name, rules)
        return self.credentials.by_token(
            name, self.credentials.issuer.token(name, groups, lifetime)
        )

    def service_account(self, name: str, namespace: str, rules: Rules = ()) -> User:
        """Make a ServiceAccount with a token, as a pod would have it."""
        meta = {"name": name, "namespace": namespace}
        self._admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        path = self._admin.resource("serviceaccounts").path(namespace, name, "token")
        answer = self._admin.request("POST", path, {"spec": {"expirationSeconds": DAY}})
        user = f"system:serviceaccount:{namespace}:{name}"
        self.grant(user, rules)
        return self.credentials.by_token(user, answer["status"]["token"])

    def grant(self, user: str, rules: Rules) -> None:
        """Give a user the rules of a ClusterRole and wait until the API server acts on them.

        They replace those of the call before, so rights that are missing now are gone on return.
        No rules leave what the user may do as it is.
        """
        rules = [dict(rule) for rule in rules]
        if not rules:
            return
        # The authorizer reads whole roles: where it knows this path, it knows all of the rules.
        path = f"/granted/{uuid.uuid4().hex}"
        rules.append({"nonResourceURLs": [path], "verbs": ["get"]})
        for manifest in objects.cluster_role(f"test:{user}", rules, user):
            self._admin.apply(manifest)
        wait_for(partial(self._allows, user, path), 60, f"{user} to be granted {rules}")

    def _allows(self, user: str, path: str) -> bool:
        review = self._admin.create(objects.access_review(user, path))
        return bool(review["status"]["allowed"])

    # Clients ----------------------------------------------------------------------------------

    def api(self, user: User | None = None) -> Api:
        """Return a client that acts as the user, or as the administrator."""
        if user is None:
            return self._admin
        self._apis.append(self.credentials.client(token=user.token))
        return self._apis[-1]

    def kubectl(
        self,
        *arguments: str,
        user: User | None = None,
        input: str | bytes | None = None,  # noqa: A002 — named as in subprocess.run
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run the real kubectl as the user, or as the administrator.

        Raises:
            RuntimeError: It failed and `check` is set; the message is what it printed.
        """
        command = [
            str(binaries.find(["kubectl"], self.version)["kubectl"]),
            f"--kubeconfig={user.kubeconfig if user else self.kubeconfig}",
            f"--cache-dir={self.folder / 'kubectl'}",
            *arguments,
        ]
        text = input.decode() if isinstance(input, bytes) else input
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done

    # Worlds -----------------------------------------------------------------------------------

    def create_namespace(self, prefix: str = "test", **labels: str) -> str:
        """Create a namespace of a new name and return the name."""
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        self._admin.create(objects.namespace(name, labels))
        if self.service_accounts:
            self.wait_for_account(name)
        return name

    def wait_for_account(self, namespace: str) -> None:
        """Wait until pods of a namespace can have tokens: before that they are refused."""
        for resource, name in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
            made = partial(self._admin.find, resource, name, namespace)
            wait_for(made, message=f"{name} in namespace {namespace}")

    def clear_namespace(self, name: str) -> None:
        """Remove all pods, templates and claims of a namespace, finalizers or not."""
        self._admin.delete_all("pods", name, gracePeriodSeconds=0)
        self._admin.delete_all("resourceclaimtemplates", name)
        self._admin.delete_all("resourceclaims", name)
        for claim in self._admin.list("resourceclaims", name):
            body = {"metadata": {"finalizers": None}}
            try:
                self._admin.patch("resourceclaims", claim["metadata"]["name"], name, body)
            except ApiError as error:
                if error.code != 404:  # a claim controller may be quicker
                    raise

    def add_node(self, name: str, devices: int = 0, driver: str = objects.DRIVER) -> None:
        """Create a ready node and, when it has devices, their ResourceSlice."""
        self._admin.create(objects.node(name))
        if devices:
            self._admin.create(self.served(objects.resource_slice(name, devices, driver)))

    def remove_node(self, name: str, driver: str = objects.DRIVER) -> None:
        """Delete a node and its ResourceSlice."""
        self._admin.delete("nodes", name)
        self._admin.delete("resourceslices", f"{name}-{driver}")

    def served(self, manifest: Mapping[str, Any]) -> Json:
        """Return a resource.k8s.io/v1 manifest in the newest version that is served."""
        return objects.in_version(manifest, self._admin.resource("resourceclaims").version)

    def define(self, definition: Mapping[str, Any]) -> str:
        """Create a CustomResourceDefinition; return its name when its objects can be listed.

        Its condition Established is no such sign: discovery and storage follow a moment later.
        """
        name = str(self._admin.create(definition)["metadata"]["name"])
        wait_for(partial(self.serves, name), message=f"{name} to be served")
        return name

    def undefine(self, name: str) -> None:
        """Delete a CustomResourceDefinition with all objects, and wait until it is gone."""
        kind = "customresourcedefinitions"
        if self._admin.delete(kind, name) is not None:
            wait_for(lambda: not self._admin.find(kind, name), message=f"{name} to be gone")

    def serves(self, resource: str) -> bool:
        """Whether objects of a resource can be listed."""
        try:
            self._admin.list(resource)
        except ApiError as error:
            if error.code not in {404, 429}:  # 429: its storage is not open yet
                raise
            return False
        except KeyError:  # not discovered yet
            return False
        return True

    def finish_pod(self, namespace: str, name: str, phase: str = "Succeeded") -> Json:
        """Set a pod's phase, as the kubelet would."""
        body = {"status": {"phase": phase}}
        return self._admin.patch("pods", name, namespace, body, subresource="status")

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod at once, as the kubelet's last call would."""
        self._admin.delete("pods", name, namespace, gracePeriodSeconds=0)
