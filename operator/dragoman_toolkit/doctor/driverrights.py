"""Who a driver is to the API server, and what it is tried with: values, no requests.

A driver's permissions usually are a ClusterRole for ResourceSlices, and a ValidatingAdmissionPolicy
that compares `spec.nodeName` with the node of the ServiceAccount's token (KEP-4193). Where the
policy names another account, or another version of the API, a driver on one node may replace the
slices of every other one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_base.versions import GROUP

VERSIONS = ("v1", "v1beta2", "v1beta1")
NAME = "dragoman-driver-rights"
"""Of the slice that is never stored."""
_EXTRA = "authentication.kubernetes.io"
_METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
DRY_RUN = {"dryRun": "All"}
"""Query of every request."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The pod of a driver, as its token names it."""

    driver: str  # Name of the driver
    namespace: str  # Of the pod and its ServiceAccount
    account: str  # Name of the ServiceAccount
    pod: str  # Name of the pod
    pod_uid: str  # UID of the pod
    node: str  # Its node
    node_uid: str = ""  # UID of the node; empty where that is not known

    @property
    def user(self) -> str:
        """Name of the account as a user."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    def impersonated(self) -> Mapping[str, Any]:
        """Return the fields `as…` of a kubeconfig's user."""
        extra = {"pod-name": self.pod, "pod-uid": self.pod_uid, "node-name": self.node}
        if self.node_uid:
            extra["node-uid"] = self.node_uid
        groups = ("serviceaccounts", f"serviceaccounts:{self.namespace}", "authenticated")
        return {
            "as": self.user,
            "as-groups": [f"system:{group}" for group in groups],
            "as-user-extra": {f"{_EXTRA}/{key}": [value] for key, value in extra.items()},
        }


@dataclass(frozen=True, slots=True)
class Existing:
    """A slice of the driver on another node."""

    name: str  # Of the slice
    pool: str  # Name of its pool


@dataclass(frozen=True, slots=True)
class DryRun:
    """One dry-run request."""

    verb: str  # `create`, `update`, `patch` or `delete`
    version: str  # Of resource.k8s.io.
    node: str  # Whose slices it writes
    name: str  # Of the slice; empty for a creation
    body: Mapping[str, Any]  # Of the request

    @property
    def path(self) -> str:
        """URL path of the request."""
        collection = f"/apis/{GROUP}/{self.version}/resourceslices"
        return f"{collection}/{self.name}" if self.name else collection

    @property
    def method(self) -> str:
        """HTTP method of the request."""
        return _METHODS[self.verb]


@dataclass(frozen=True, slots=True)
class RightsFault:
    """What a driver may do that it should not."""

    driver: str  # Name of the driver
    what: str  # What it may do, as the second half of a sentence
    remedy: str  # What ends it


@dataclass(frozen=True, slots=True)
class DryRunAnswer:
    """What the API server answered to an attempt."""

    attempt: DryRun  # What was asked
    code: int = 0  # HTTP status of a refusal; 0 where it would be done
    message: str = ""  # Of a refusal


@dataclass(frozen=True, slots=True)
class Permission:
    """A right that no driver needs for slices and claims."""

    verb: str
    group: str
    resource: str

    def __str__(self) -> str:
        where = f".{self.group}" if self.group not in ("", "*") else ""
        return f"{self.verb} {self.resource}{where}"

    def review(self) -> Mapping[str, Any]:
        """Return the SelfSubjectAccessReview that asks for it in all namespaces."""
        attributes = {"verb": self.verb, "group": self.group, "resource": self.resource}
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }


TOO_WIDE = (
    Permission("*", "*", "*"),
    Permission("get", "", "secrets"),
    Permission("create", "", "pods"),
    Permission("delete", "", "pods"),
    Permission("update", "", "nodes"),
    Permission("impersonate", "", "users"),
    Permission("escalate", "rbac.authorization.k8s.io", "clusterroles"),
    Permission("update", GROUP, "deviceclasses"),
    Permission("create", GROUP, "devicetaintrules"),
)
"""Asked in this order; everything covers the rest."""


def attempts(
    identity: Identity, other: str, existing: Existing | None, versions: tuple[str, ...]
) -> Iterator[DryRun]:
    """Yield what is tried in each version: the own node as control, then another node's slices.

    Args:
        identity: Who tries.
        other: The other node.
        existing: A slice of the driver on the other node; None where there is none.
        versions: That the API server serves.
    """
    for version in versions:
        for node in (identity.node, other):
            yield DryRun("create", version, node, "", _slice(identity, version, node))
        if existing is not None:
            name = existing.name
            emptied = _slice(identity, version, other, existing)
            yield DryRun("update", version, other, name, emptied)
            change = {"metadata": {"labels": {"dragoman.dev/dry-run": "true"}}}
            yield DryRun("patch", version, other, name, change)
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
            yield DryRun("delete", version, other, name, options)


def _slice(
    identity: Identity, version: str, node: str, existing: Existing | None = None
) -> Mapping[str, Any]:
    known = existing or Existing(NAME, f"{NAME}-{node}"[:63])
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": known.name},
        "spec": {
            "driver": identity.driver,
            "nodeName": node,
            "pool": {"name": known.pool, "generation": 1, "resourceSliceCount": 1},
            "devices": [],
        },
    }


def faults(
    identity: Identity, answers: list[DryRunAnswer], wide: list[Permission]
) -> Iterator[RightsFault]:
    """Yield what the answers show."""
    allowed: dict[str, list[str]] = {}
    for one in answers:
        if one.attempt.node != identity.node and not one.code:
            allowed.setdefault(one.attempt.version, []).append(one.attempt.verb)
    if allowed:
        other = next(one.attempt.node for one in answers if one.attempt.node != identity.node)
        shown = "; ".join(f"{version}: {', '.join(verbs)}" for version, verbs in allowed.items())
        yield RightsFault(
            identity.driver,
            f"{identity.user} on {identity.node} may write slices of {other} ({shown})",
            "bind a ValidatingAdmissionPolicy that compares spec.nodeName with the claim "
            f"{_EXTRA}/node-name of this account, in every served version",
        )
    if wide:
        shown = ", ".join(map(str, wide))
        yield RightsFault(
            identity.driver,
            f"{identity.user} may do more than drivers need: {shown}",
            "remove these permissions from its ClusterRole",
        )
