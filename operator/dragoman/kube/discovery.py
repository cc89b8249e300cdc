"""Which API versions the server serves, read once at start."""

import asyncio
from dataclasses import dataclass
from typing import Any

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.logs import logger

DRA_GROUP = "resource.k8s.io"
DRA_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""What dragoman understands, the best first."""
SCHEDULING_GROUP = "scheduling.k8s.io"
SERVED_INTERVAL = 5.0
"""Seconds between checks for an API that the server does not serve yet."""

log = logger("dragoman.kube")


class NotServedError(Exception):
    """The API server does not serve Dynamic Resource Allocation; the message says what it has."""


@dataclass(frozen=True, slots=True)
class Served:
    """The resources that claims need.

    Attributes:
        claims: resourceclaims.
        templates: resourceclaimtemplates, of the same version.
        groups: podgroups of scheduling.k8s.io (KEP-5729), or None.
    """

    claims: Resource
    templates: Resource
    groups: Resource | None


async def discover(api: Client) -> Served:
    """Ask the API server what it serves; raise NotServedError without resource.k8s.io."""
    groups = (await api.get("/apis")).get("groups") or []
    versions = {group["name"]: [v["version"] for v in group["versions"]] for group in groups}
    served = versions.get(DRA_GROUP, [])
    version = next((version for version in DRA_VERSIONS if version in served), None)
    if version is None:
        raise NotServedError(
            f"the API server serves no {DRA_GROUP} in {', '.join(DRA_VERSIONS)}, "
            f"but {', '.join(served) or 'no version of it'}: "
            "Dynamic Resource Allocation needs Kubernetes >= 1.34, or --runtime-config"
        )
    return Served(
        claims=Resource(DRA_GROUP, version, "resourceclaims"),
        templates=Resource(DRA_GROUP, version, "resourceclaimtemplates"),
        groups=await _pod_groups(api, versions.get(SCHEDULING_GROUP, [])),
    )


async def _pod_groups(api: Client, versions: list[str]) -> Resource | None:
    for version in versions:
        try:
            listed = await api.get(f"/apis/{SCHEDULING_GROUP}/{version}")
        except ApiError as error:
            if error.code == 404:
                continue
            raise
        if {"podgroups", "podgroups/status"} <= _names(listed):
            return Resource(SCHEDULING_GROUP, version, "podgroups")
    return None


def _names(listed: dict[str, Any]) -> set[str]:
    return {resource["name"] for resource in listed.get("resources") or []}


async def wait_served(client: Client, resource: Resource) -> None:
    """Wait until the server serves the API version of a resource, as after its CRD is applied.

    Every authenticated user may read /apis (ClusterRole system:discovery).
    """
    logged = False
    while True:
        try:
            await client.get(f"/apis/{resource.api_version}")
        except ApiError as error:
            if not logged:
                log.info("Waiting for an API", api=resource.plural, code=error.code)
            logged = True
            await asyncio.sleep(SERVED_INTERVAL)
        else:
            return
