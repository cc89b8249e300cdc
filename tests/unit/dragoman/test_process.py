"""All controllers in one process, on a fake API server: each resource is known once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import kopf
import pytest

from dragoman import metrics
from dragoman.cli.server import without_events
from dragoman.model import allocated
from dragoman.process import operator as process
from dragoman.process.operator import Operator
from dragoman.settings import Settings
from tests.support import manifests as objects
from tests.support.apiserver import ApiServer
from tests.support.scriptedserver import eventually

EVERYTHING = Settings(
    claims="own",
    evictions="own",
    pool_status="own",
    inventory_reports=True,
    maintenance=True,
    cluster_templates=True,
    preemption="report",
    explain_events=True,
    device_metrics=True,
    findings=True,
    leader_elect=False,
)
DEVICES = tuple(f"d{index}" for index in range(8))
DRIVER, POOL = "gpu.example.com", "n1"


@asynccontextmanager
async def running(server: ApiServer, patch: pytest.MonkeyPatch) -> AsyncIterator[Operator]:
    """Run an operator with every controller."""
    patch.setattr(process, "Client", lambda _: server)
    patch.setattr(process, "Credentials", lambda *_: SimpleNamespace(server="fake"))
    _, watching = without_events(kopf.get_default_registry())
    made = Operator(EVERYTHING, watching)
    await made.start(SimpleNamespace(operator=made))
    try:
        yield made
        assert made.fault == ""
    finally:
        await made.stop()


USER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "user", "namespace": "ns"},
    "spec": {
        "nodeName": POOL,
        "containers": [],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}],
    },
    "status": {"phase": "Running"},
}


def claim() -> dict[str, Any]:
    """Return a claim with all devices, which a pod uses."""
    results = [{"request": "r", "driver": DRIVER, "pool": POOL, "device": one} for one in DEVICES]
    request = {"name": "r", "exactly": {"deviceClassName": "c", "count": 8}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "ns"},
        "spec": {"devices": {"requests": [request]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": "user", "uid": "uid-of-pods-ns-user"}],
        },
    }


def watched(server: ApiServer) -> dict[str, int]:
    """Return how many streaming lists of each resource were begun."""
    return {
        name.partition(" ")[2]: count
        for name, count in server.requests.items()
        if name.startswith("WATCH")
    }


async def test_each_resource_is_watched_once_and_a_claim_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = ApiServer()
    server.store(objects.resource_slice(POOL, list(DEVICES), DRIVER, "s"))
    server.store(USER)
    examined = metrics.FINDINGS_TIME._value.get()
    async with running(server, monkeypatch) as made:
        begun = {
            *("pods", "resourceclaims", "resourceclaimtemplates", "resourceslices", "nodes"),
            *("devicetaintrules", "deviceclasses", "devicemaintenances", "namespaces"),
            *("resourcepoolstatusrequests", "driverconfigschemas"),
            "clusterresourceclaimtemplates",
        }
        await eventually(lambda: set(watched(server)) == begun)
        assert set(watched(server).values()) == {1}
        await eventually(lambda: made._ready() is None)
        # Findings list and parse all claims in each pass; the next one is ten minutes away.
        await eventually(lambda: metrics.FINDINGS_TIME._value.get() > examined)

        parsed: Counter[str] = Counter()
        read = allocated._result

        def counted(item: Any, *rest: Any) -> Any:
            parsed[str(item["device"])] += 1
            return read(item, *rest)

        lists = Counter(server.requests)
        monkeypatch.setattr(allocated, "_result", counted)
        server.store(claim())
        await eventually(lambda: len(parsed) == len(DEVICES))
        await asyncio.sleep(1.0)  # every controller had its turn
        assert parsed == dict.fromkeys(DEVICES, 1)
        news = Counter(server.requests) - lists
        assert not {name for name in news if name.startswith(("WATCH", "CONTINUE"))}
