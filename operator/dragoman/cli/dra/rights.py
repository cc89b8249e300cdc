"""Rights that a command needs to write, checked before its first write."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dragoman.cli.dra.output import Unusable
from dragoman.kube.client import Client

DRA: Final = "resource.k8s.io"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Need:
    """A right.

    Attributes:
        verb: Such as `create`.
        resource: Plural, with its subresource, such as `pods/eviction`.
        group: API group.
        namespace: Where it is needed; empty for everywhere.
    """

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        group = f".{self.group}" if self.group else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{where}"


WATCHED: Final = (Need("watch", "pods"), Need("watch", "resourceclaims", DRA))
"""What a drain follows."""


def holding(namespace: str, *, rules: bool) -> tuple[Need, ...]:
    """Return what is needed to hold devices, by rules or by claims of a namespace."""
    if rules:
        return (Need("create", "devicetaintrules", DRA),)
    return (
        Need("create", "resourceclaims", DRA, namespace),
        Need("patch", "resourceclaims/status", DRA, namespace),
    )


def evicting(*, force: bool) -> tuple[Need, ...]:
    """Return what is needed to evict pods, or to delete them."""
    return (Need("delete", "pods") if force else Need("create", "pods/eviction"),)


async def require(client: Client, needs: Iterable[Need]) -> None:
    """Raise Unusable naming every right that is missing; nothing was written then."""

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

    wanted = [*needs]
    granted = await asyncio.gather(*map(allowed, wanted))
    missing = [str(need) for need, found in zip(wanted, granted, strict=True) if not found]
    if missing:
        raise Unusable(f"nothing was changed: you may not {', '.join(missing)}")
