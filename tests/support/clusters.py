"""Clusters as controllers know them, fed by a test or by a fake API server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import kopf

from dragoman.cli.server import without_events
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served
from dragoman.kube.manager import Manager
from dragoman.kube.resources import Resource
from tests.support.apiserver import ApiServer

DRA = "resource.k8s.io"
SERVED = Served(
    claims=Resource(DRA, "v1", "resourceclaims"),
    templates=Resource(DRA, "v1", "resourceclaimtemplates"),
    groups=None,
)
RULES = Resource(DRA, "v1beta2", "devicetaintrules")


def cluster_of(client: Any = None, *, content: bool = False) -> ClusterStores:
    """Return a cluster whose informers are fed by the test.

    Args:
        client: What they read from.
        content: Whether slices are stored with their content.
    """
    made = ClusterStores(client, SERVED)
    if content:
        made.part(DeviceStores)._content = True
    return made


@asynccontextmanager
async def following(
    server: ApiServer, prepare: Callable[[ClusterStores], object] = lambda _: None
) -> AsyncIterator[ClusterStores]:
    """Watch pods and claims of a fake API server by reflectors.

    Args:
        server: What is watched.
        prepare: Called before anything is.
    """
    _, handlers = without_events(kopf.get_default_registry())
    manager = Manager(handlers, resync=600.0)
    manager.memo = SimpleNamespace(operator=manager)
    cluster = ClusterStores(cast(Client, server), SERVED, manager.watch, manager.spawn_once)
    prepare(cluster)
    cluster.require(*cluster)
    cluster.begin()
    try:
        await cluster.wait_synced()
        yield cluster
    finally:
        await manager.stop()
