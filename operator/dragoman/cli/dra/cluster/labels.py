"""Objects by their labels, selected by the API server."""

from __future__ import annotations

from dragoman.kube.client import Client, pages
from dragoman.kube.discovery import DRA_GROUP, DRA_VERSIONS, find_resource
from dragoman.kube.resources import Resource


async def labelled(client: Client, plural: str, selector: str) -> frozenset[str]:
    """Return the objects that a label selector selects: names, or `namespace/name`.

    Raises:
        ApiError: The selector is malformed, or the objects may not be listed.
    """
    resource: Resource | None = Resource("", "v1", plural)
    if plural == "deviceclasses":
        resource = await find_resource(client, DRA_GROUP, DRA_VERSIONS, plural)
    if resource is None:
        return frozenset()
    return frozenset(
        [
            "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"])))
            async for page in pages(client, resource.path(), labelSelector=selector)
            for one in page.get("items") or ()
        ]
    )
