"""Which API versions the server serves, read once at start."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import NODES, Resource
from dragoman.logs import logger
from dragoman.settings import PodGroupClaims
from dragoman_base.versions import OLDEST, Release, beyond, parse
from dragoman_base.versions import name as version_name

DRA_GROUP = "resource.k8s.io"
DRA_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""What dragoman understands, the best first."""
OPTIONAL_VERSIONS = ("v1", "v1beta2", "v1alpha3")
"""Versions of resources that clusters need not serve, as devicetaintrules, the best first."""
SCHEDULING_GROUP = "scheduling.k8s.io"
PODGROUP_CLAIMS_GATE = "DRAWorkloadResourceClaims"
"""The feature gate of claims for PodGroups (KEP-5729), which may be off where they are served."""
METRICS_TIMEOUT = 10.0
"""Seconds for reading the metrics of the API server: many megabytes in a large cluster."""
OPTIONAL_INTERVAL = 30.0
"""Seconds between checks for a resource that clusters need not serve."""
SERVED_INTERVAL = 5.0
"""Seconds between checks for an API that the server does not serve yet."""

Read = TypeVar("Read")

log = logger("dragoman.kube")


class NotServedError(Exception):
    """The API server does not serve Dynamic Resource Allocation; the message says what it has."""


@dataclass(frozen=True, slots=True)
class Served:
    """The resources that claims need."""

    claims: Resource  # `resourceclaims`
    templates: Resource  # `resourceclaimtemplates`, of the same version
    # `podgroups` of scheduling.k8s.io (KEP-5729); None where they have no claims.
    groups: Resource | None

    @property
    def slices(self) -> Resource:
        """resourceslices, of the same version as claims."""
        return Resource(DRA_GROUP, self.claims.version, "resourceslices")


async def discover(api: Client, podgroup_claims: PodGroupClaims = "auto") -> Served:
    """Ask the API server what it serves.

    Args:
        api: Where to ask.
        podgroup_claims: Whether PodGroups have claims where the API server serves PodGroups;
            `auto` as its feature gate says.

    Raises:
        NotServedError: It does not serve resource.k8s.io.
        ApiError: It does not answer.
    """
    groups = (await api.get("/apis")).get("groups") or []
    versions = {group["name"]: [v["version"] for v in group["versions"]] for group in groups}
    served = versions.get(DRA_GROUP, [])
    version = next((version for version in DRA_VERSIONS if version in served), None)
    if version is None:
        raise NotServedError(
            f"the API server serves no {DRA_GROUP} in {', '.join(DRA_VERSIONS)}, "
            f"but {', '.join(served) or 'no version of it'}: "
            f"Dynamic Resource Allocation needs Kubernetes >= {version_name(OLDEST)}, "
            "or --runtime-config"
        )
    return Served(
        claims=Resource(DRA_GROUP, version, "resourceclaims"),
        templates=Resource(DRA_GROUP, version, "resourceclaimtemplates"),
        groups=await _groups_with_claims(api, versions.get(SCHEDULING_GROUP, []), podgroup_claims),
    )


@dataclass(frozen=True, slots=True)
class ServedDevices:
    """The resources that say which devices there are."""

    slices: Resource  # `resourceslices`
    classes: Resource  # `deviceclasses`
    rules: Resource | None  # `devicetaintrules` (KEP-5055), or None
    nodes: Resource = NODES  # `nodes`
    kubernetes: str = ""  # The server's version, such as `v1.36.3`.


async def discover_devices(api: Client, served: Served) -> ServedDevices:
    """Find out where the API server serves devices; raise ApiError where it does not answer."""
    kubernetes = str((await api.get("/version")).get("gitVersion") or "")
    warn_beyond(kubernetes)
    return ServedDevices(
        slices=served.slices,
        classes=Resource(DRA_GROUP, served.claims.version, "deviceclasses"),
        rules=await find_resource(api, DRA_GROUP, OPTIONAL_VERSIONS, "devicetaintrules"),
        kubernetes=kubernetes,
    )


@cache
def warn_beyond(kubernetes: str) -> None:
    """Warn once where a server is newer than what is known."""
    if said := beyond(kubernetes):
        log.warning("This cluster is newer than what is known", answers=said)


async def feature_enabled(api: Client, gate: str) -> bool | None:
    """Read a feature gate from the metric `kubernetes_feature_enabled` of the API server.

    The metrics need `get` on the non-resource URL /metrics, which few accounts have.

    Returns:
        Whether the gate is on; None where that cannot be read.
    """
    name = f'name="{gate}"'.encode()

    def wanted(line: bytes) -> bool:
        return line.startswith(b"kubernetes_feature_enabled{") and name in line

    try:
        async with asyncio.timeout(METRICS_TIMEOUT):
            async with aclosing(api.lines("/metrics", {}, wanted)) as lines:
                async for line in lines:
                    return line.rpartition(b" ")[2].strip() == b"1"
    except (ApiError, TimeoutError) as error:
        log.debug("Cannot read a feature gate", gate=gate, error=str(error))
    return None


async def _groups_with_claims(
    api: Client, versions: list[str], setting: PodGroupClaims
) -> Resource | None:
    """Return the resource of PodGroups, or None where their claims are off.

    Without its gate an API server drops the claims of new PodGroups and keeps those of stored ones.
    The built-in controller then ignores PodGroups: each pod gets claims of its own.
    """
    if setting == "off":
        return None
    groups = await find_resource(api, SCHEDULING_GROUP, versions, "podgroups")
    if groups is None or setting == "on":
        return groups
    enabled = await feature_enabled(api, PODGROUP_CLAIMS_GATE)
    if enabled is None:
        log.warning(
            "Cannot read a feature gate, and assume that it is on",
            gate=PODGROUP_CLAIMS_GATE,
            remedy="allow `get` on the non-resource URL /metrics, or set --podgroup-claims",
        )
    return None if enabled is False else groups


async def find_resource(
    api: Client, group: str, versions: Iterable[str], plural: str, *, status: bool = True
) -> Resource | None:
    """Return the first version in which a resource is served; None where none is.

    Args:
        api: Where to ask.
        group: API group.
        versions: Those that are understood, the best first.
        plural: The resource.
        status: Whether its status has to be served as well.

    An API server may serve a version without the resource, while its feature gate is off.
    """
    for version in versions:
        try:
            listed = await api.get(f"/apis/{group}/{version}")
        except ApiError as error:
            if error.code == 404:
                continue
            raise
        if {plural, *([f"{plural}/status"] if status else [])} <= _names(listed):
            return Resource(group, version, plural)
    return None


async def wait_optional(
    client: Client, plural: str, absent: Callable[[], None] = lambda: None
) -> Resource:
    """Wait until the server serves an optional resource of resource.k8s.io, and return it.

    Args:
        client: Where to ask.
        plural: The resource.
        absent: Called when the server has answered that it does not serve the resource.
    """
    logged = False
    while True:
        try:
            found = await find_resource(client, DRA_GROUP, OPTIONAL_VERSIONS, plural)
            if found is None:
                absent()
        except ApiError as error:
            log.debug("Cannot look for an API", api=plural, code=error.code)
            found = None
        if found is not None:
            return found
        if not logged:
            log.info("Not served; it is looked for again", api=plural, seconds=OPTIONAL_INTERVAL)
        logged = True
        await asyncio.sleep(OPTIONAL_INTERVAL)


async def has_pool_views(client: Client) -> bool:
    """Whether the server is of a version whose pools have views of partitions and shares."""
    try:
        return Release(await server_version(client)).pool_views
    except ApiError:
        return False


async def server_version(client: Client) -> tuple[int, int]:
    """Return major and minor of the server, which some vendors write as `36+`; zeros without."""
    version = await client.get("/version")
    try:
        return parse(f"{version.get('major')}.{version.get('minor')}")
    except ValueError:
        return 0, 0


def _names(listed: dict[str, Any]) -> set[str]:
    return {resource["name"] for resource in listed.get("resources") or []}


async def wait_served(client: Client, resource: Resource) -> None:
    """Wait until the server serves a resource, as after its CRD is applied.

    Every authenticated user may read /apis (ClusterRole system:discovery).
    """
    logged = False
    while True:
        code = 404
        try:
            if resource.plural in _names(await client.get(f"/apis/{resource.api_version}")):
                return
        except ApiError as error:
            code = error.code
        if not logged:
            log.info("Waiting for an API", api=resource.plural, code=code)
        logged = True
        await asyncio.sleep(SERVED_INTERVAL)


async def retried(failure: str, read: Callable[..., Awaitable[Read]], *arguments: Any) -> Read:
    """Read from the API server until it answers."""
    backoff = Backoff()
    while True:
        try:
            return await read(*arguments)
        except ApiError as error:
            log.warning(failure, error=str(error), code=error.code)
            await asyncio.sleep(backoff.next(error.retry_after))
