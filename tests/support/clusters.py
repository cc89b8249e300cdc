"""Clusters as controllers know them, without an API server behind."""

from typing import Any

from dragoman.cluster.cluster import Cluster
from dragoman.cluster.devices import Devices
from dragoman.kube.discovery import Served
from dragoman.kube.resources import Resource

DRA = "resource.k8s.io"
SERVED = Served(
    claims=Resource(DRA, "v1", "resourceclaims"),
    templates=Resource(DRA, "v1", "resourceclaimtemplates"),
    groups=None,
)
RULES = Resource(DRA, "v1beta2", "devicetaintrules")


def cluster_of(client: Any = None, *, content: bool = False) -> Cluster:
    """Return a cluster whose informers are fed by the test.

    Args:
        client: What they read from.
        content: Whether slices are stored with their content.
    """
    made = Cluster(client, SERVED)
    if content:
        made.part(Devices)._content = True
    return made
