"""`kubectl dra doctor --only DriverRights`: which drivers are tried, and as whom."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.doctor.pools import Plugins, is_ready
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.kube.client import Client
from dragoman.kube.credentials.impersonation import impersonation_headers
from dragoman.kube.kubeconfig import Credentials
from dragoman.kube.resources import NODES, PODS
from dragoman_toolkit.doctor.driverrights import Existing, Identity, RightsFault
from dragoman_toolkit.dra.cluster.connection import explained
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.doctor.probing import NoDryRunError, examine
from dragoman_toolkit.dra.output import Unusable


@dataclass
class DriverCredentials(Credentials):
    """The user's credentials, acting as a driver's pod."""

    identity: dict[str, Any] = field(default_factory=dict)  # Fields `as…` of a kubeconfig's user

    def _load(self) -> None:
        super()._load()
        self.impersonation = impersonation_headers(self.identity)


@dataclass(frozen=True, slots=True)
class TriedDriver:
    """A driver that is tried."""

    driver: str  # Its name
    pod: PodFact  # Its pod on one node
    other: str  # Another node
    existing: Existing | None  # A slice of the driver there; None where there is none


def tried(source: Source, facts: DoctorFacts) -> tuple[Finding, ...]:
    """Try the permissions of all drivers of nodes; raise Unusable where that cannot be done."""
    if source.snapshot:
        raise click.UsageError("DriverRights asks the API server: leave --snapshot out")
    if source.connection.acting_as or source.connection.acting_groups:
        raise click.UsageError("DriverRights impersonates drivers: leave --as out")
    found = list(subjects(facts))
    if not found:
        raise Unusable("DriverRights: no driver has a pod on a node and slices for it")
    faults = source.call(lambda client: _try_all(client, source, found))
    return tuple(
        Finding(Id.DRIVER_RIGHTS, FindingSubject(one.driver), one.what, one.remedy)
        for one in faults
    )


def subjects(facts: DoctorFacts) -> Iterator[TriedDriver]:
    """Yield each driver of nodes with a pod of it, and whose slices it must not write."""
    plugins = Plugins.of(facts)
    drivers: dict[str, list[InventoryPool]] = {}
    for pool in facts.inventory.pools.values():
        if pool.node:
            drivers.setdefault(pool.id.driver, []).append(pool)
    for driver, pools in sorted(drivers.items()):
        candidates = [pod for pods in plugins.of_driver(facts, pools[0]) for pod in pods]
        pod = next((one for one in candidates if is_ready(one)), None)
        if pod is None:
            continue
        here = pod.pod.node_name
        foreign = next((pool for pool in pools if pool.node != here), None)
        if foreign is not None:
            existing = Existing(foreign.slices[0].name, foreign.id.pool)
            yield TriedDriver(driver, pod, foreign.node, existing)
        else:
            others = (name for name in facts.inventory.world.nodes if name != here)
            yield TriedDriver(driver, pod, next(others, f"not-{here}"), None)


async def _try_all(
    client: Client, source: Source, found: list[TriedDriver]
) -> tuple[RightsFault, ...]:
    faults: list[RightsFault] = []
    for one in found:
        identity = await _identity(client, one)
        click.echo(
            f"{one.driver}: as {identity.user} on {identity.node}, dry runs against slices of "
            f"{one.other}",
            err=True,
        )
        try:
            faults += await _examined(source, identity, one)
        except NoDryRunError as error:
            raise Unusable(f"DriverRights stops: {error}") from error
    return tuple(faults)


async def _examined(source: Source, identity: Identity, one: TriedDriver) -> list[RightsFault]:
    with explained():
        credentials = DriverCredentials(source.connection, identity=dict(identity.impersonated()))
        async with Client(credentials, source.connection.request_timeout) as acting:
            return await examine(acting, identity, one.other, one.existing)


async def _identity(client: Client, one: TriedDriver) -> Identity:
    metadata, node = one.pod.pod.metadata, one.pod.pod.node_name
    pod = await client.get(PODS.path(metadata.namespace, metadata.name))
    uid = (await client.get(NODES.path("", node)))["metadata"]["uid"]
    account = pod["spec"].get("serviceAccountName") or "default"
    return Identity(
        *(one.driver, metadata.namespace, account, metadata.name, metadata.uid, node, uid)
    )
