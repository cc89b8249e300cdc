"""Rights beyond those to list, checked before the first write of a command, or by `auth`."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.kube.client import Client
from dragoman_toolkit.dra.output import Unusable

DRA = "resource.k8s.io"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Need:
    """A right."""

    verb: str  # Such as `create`
    resource: str  # Plural, with its subresource, such as `pods/eviction`
    group: str = ""  # API group
    namespace: str = ""  # Where it is needed; empty for everywhere

    def __str__(self) -> str:
        group = f".{self.group}" if self.group else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{where}"


WATCHED = (Need("watch", "pods"), Need("watch", "resourceclaims", DRA))
"""What a drain follows."""
LINKED = (
    *(("pods", ""), ("nodes", ""), ("resourceclaims", DRA)),
    *(("resourceslices", DRA), ("deviceclasses", DRA), ("devicetaintrules", DRA)),
)
"""Plurals and groups of what the page links to, each with its Events."""


def holding(namespace: str, *, rules: bool, binding: bool) -> tuple[Need, ...]:
    """Return what is needed to hold devices, by rules or by claims of a namespace.

    Args:
        namespace: Of claims that hold devices.
        rules: Whether rules hold them.
        binding: As for `of_command`.
    """
    if rules:
        return (Need("create", "devicetaintrules", DRA),)
    return (
        Need("create", "resourceclaims", DRA, namespace),
        Need("patch", "resourceclaims", DRA, namespace),
        *allocating(namespace, binding=binding),
    )


def allocating(namespace: str, *, binding: bool) -> tuple[Need, ...]:
    """Return what is needed to write allocations of claims."""
    parts = ("status", "binding") if binding else ("status",)
    return tuple(Need("patch", f"resourceclaims/{part}", DRA, namespace) for part in parts)


def evicting(*, delete: bool) -> tuple[Need, ...]:
    """Return what is needed to evict pods, or to delete them."""
    return (Need("delete", "pods") if delete else Need("create", "pods/eviction"),)


def preempting(namespace: str) -> tuple[Need, ...]:
    """Return what carrying out a preemption for a pod of a namespace needs beside its plan."""
    group = "dragoman.dev"
    return (
        Need("get", "pods", namespace=namespace),
        Need("get", "resourceclaimtemplates", DRA, namespace),
        *(Need(verb, "devicetaintrules", DRA) for verb in ("list", "create", "delete")),
        *(Need(verb, "resourceclaims", DRA, namespace) for verb in ("get", "create", "delete")),
        *evicting(delete=False),
        Need("list", "devicepreemptions", group),
        *(
            Need(verb, "devicepreemptions", group, namespace)
            for verb in ("get", "create", "patch", "delete")
        ),
        Need("patch", "devicepreemptions/status", group, namespace),
    )


def of_command(
    command: str, namespace: str, plurals: Iterable[str], *, rules: bool, binding: bool
) -> tuple[Need, ...]:
    """Return what a command needs beside the rights to list.

    Args:
        command: One of `auth.COMMANDS`.
        namespace: Of claims that hold devices.
        plurals: What `ui` watches, as `resource.group`.
        rules: Whether DeviceTaintRules are served: holds are rules then, else claims.
        binding: Whether the API server authorizes allocations on `resourceclaims/binding`, as
            since Kubernetes 1.36.
    """
    where = "" if command in ("release", "adopt") else namespace
    status = allocating(where, binding=binding)
    undone = (
        (Need("delete", "devicetaintrules", DRA),)
        if rules
        else (*status, Need("delete", "resourceclaims", DRA, namespace))
    )
    held = dict.fromkeys((*WATCHED, *holding(namespace, rules=rules, binding=binding), *undone))
    match command:
        case "ui":
            watched = (Need("watch", *plural.partition(".")[::2]) for plural in plurals)
            return (*watched, *(Need("get", *one) for one in LINKED), Need("list", "events"))
        case "hold":
            return tuple(held)
        case "drain":
            budgets = Need("list", "poddisruptionbudgets", "policy")
            return (*held, budgets, *evicting(delete=False), *evicting(delete=True))
        case "taint":
            return (
                Need("create", "devicetaintrules", DRA),
                Need("delete", "devicetaintrules", DRA),
            )
        case "release":
            return status
        case "preempt":
            return (Need("list", "poddisruptionbudgets", "policy"), Need("list", "namespaces"))
        case "migrate":
            return (
                Need("list", "poddisruptionbudgets", "policy"),
                Need("list", "daemonsets", "apps"),
                Need("list", "horizontalpodautoscalers", "autoscaling"),
                Need("list", "limitranges"),
                Need("list", "configmaps"),
            )
        case "adopt":
            return (Need("patch", "resourceclaims", DRA),)
    raise ValueError(command)


async def granted(client: Client, needs: Iterable[Need]) -> dict[Need, bool]:
    """Return whether the API server grants each right to the user."""

    async def allowed(need: Need) -> bool:
        resource, _, subresource = need.resource.partition("/")
        attributes = {
            "verb": need.verb,
            "group": need.group,
            "resource": resource,
            **({"subresource": subresource} if subresource else {}),
            **({"namespace": need.namespace} if need.namespace else {}),
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        return bool((await client.post(_REVIEWS, body))["status"].get("allowed"))

    wanted = [*dict.fromkeys(needs)]
    return dict(zip(wanted, await asyncio.gather(*map(allowed, wanted)), strict=True))


async def require(client: Client, needs: Iterable[Need]) -> None:
    """Raise Unusable naming every right that is missing; nothing was written then."""
    missing = [str(need) for need, found in (await granted(client, needs)).items() if not found]
    if missing:
        raise Unusable(f"nothing was changed: you cannot {', '.join(missing)}")
