"""Objects by their labels and fields, selected by the API server."""

from dragoman.cli.dra.cluster.selection import ENDED, ObjectSelection
from dragoman.kube.client import Client, items
from dragoman.kube.discovery import DRA_GROUP, DRA_VERSIONS, OPTIONAL_VERSIONS, find_resource
from dragoman.kube.resources import Resource

_CORE = ("namespaces", "nodes", "pods")


async def selected(
    client: Client, plural: str, selection: ObjectSelection, namespace: str = ""
) -> frozenset[str]:
    """Return the objects that a label selector and a field selector select.

    Args:
        client: The connection.
        plural: Kind of the objects.
        selection: The selectors.
        namespace: The only one that is looked at; empty for all.

    Returns:
        Names, or `namespace/name`; none where the kind is not served.

    Raises:
        ApiError: A selector is malformed, or the objects may not be listed.
    """
    resource: Resource | None = Resource("", "v1", plural)
    if plural not in _CORE:
        versions = OPTIONAL_VERSIONS if plural == "devicetaintrules" else DRA_VERSIONS
        # DeviceClasses have no status.
        resource = await find_resource(client, DRA_GROUP, versions, plural, status=False)
    if resource is None:
        return frozenset()
    # Pods that have ended need no devices, and are read by no command.
    fields = ",".join(filter(None, (selection.fields, ENDED if plural == "pods" else "")))
    given = {"labelSelector": selection.labels, "fieldSelector": fields}
    wanted = {name: value for name, value in given.items() if value}
    return frozenset(
        [
            "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"])))
            async for one in items(client, resource.path(namespace), **wanted)
        ]
    )
