"""What a check reads of a cluster: slices, and on request everything that manifests can name."""

import asyncio
from pathlib import Path
from typing import Any

from dragoman.cli.asking import asked
from dragoman.kube.client import Client, items
from dragoman.kube.discovery import DRA_GROUP, discover
from dragoman.kube.resources import Resource

_NAMED = {
    "deviceclasses": "DeviceClass",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
}


def read_cluster(
    kubeconfig: Path | None, context: str | None, *, everything: bool
) -> list[dict[str, Any]]:
    """List ResourceSlices; with `everything` also classes, claims, templates and namespaces.

    Raises:
        click.ClickException: The API server cannot be reached, or refuses.
    """
    return asyncio.run(asked(kubeconfig, context, lambda api: _read(api, everything=everything)))


async def _read(api: Client, *, everything: bool) -> list[dict[str, Any]]:
    version = (await discover(api, podgroup_claims="off")).claims.version
    kinds = {"resourceslices": "ResourceSlice", **(_NAMED if everything else {})}
    found: list[dict[str, Any]] = []
    for plural, kind in kinds.items():
        resource = Resource(DRA_GROUP, version, plural)
        found += await _list(api, resource, kind)
    if everything:
        found += await _list(api, Resource("", "v1", "namespaces"), "Namespace")
    return found


async def _list(api: Client, resource: Resource, kind: str) -> list[dict[str, Any]]:
    typed = {"apiVersion": resource.api_version, "kind": kind}
    return [typed | item async for item in items(api, resource.path())]
