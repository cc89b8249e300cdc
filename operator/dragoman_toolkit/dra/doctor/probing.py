"""Try what a driver's account may write. Every write is a dry run."""

from dragoman.kube.client import MERGE_PATCH, Client
from dragoman.kube.errors import ApiError
from dragoman_base.versions import GROUP
from dragoman_toolkit.doctor.driverrights import (
    DRY_RUN,
    TOO_WIDE,
    VERSIONS,
    DryRun,
    DryRunAnswer,
    Existing,
    Identity,
    Permission,
    RightsFault,
    attempts,
    faults,
)

_JSON = "application/json"


class NoDryRunError(Exception):
    """Dry runs are not honoured between here and the API server; nothing was tried."""


async def examine(
    client: Client, identity: Identity, other: str, existing: Existing | None
) -> list[RightsFault]:
    """Return what a driver's account may do that it should not.

    Args:
        client: Acts as the driver: see `Identity.impersonated`.
        identity: The driver.
        other: Another node.
        existing: A slice of the driver on that node; None where there is none.

    Raises:
        NoDryRunError: A dry run might be stored.
        ApiError: The user may not impersonate the account, or the server does not answer.
    """
    await check_dry_runs(client)
    versions = await served(client)
    tried = [await _try(client, one) for one in attempts(identity, other, existing, versions)]
    return list(faults(identity, tried, await _too_wide(client)))


async def check_dry_runs(client: Client) -> None:
    """Ask for a dry run that does not exist, of an object that is refused in any case.

    The API server refuses the parameter first. Where a proxy drops it, the object is refused.
    """
    path = f"/apis/{GROUP}/v1/resourceslices"
    broken = {"apiVersion": f"{GROUP}/v1", "kind": "ResourceSlice", "metadata": {"name": "-"}}
    try:
        await client.request("POST", path, broken, query={"dryRun": "None"})
    except ApiError as error:
        if "dryRun" in str(error):
            return
        if error.code == 403:
            raise
        raise NoDryRunError(f"the API server does not see the parameter dryRun: {error}") from error
    raise NoDryRunError("the API server took a slice without a name")


async def served(client: Client) -> tuple[str, ...]:
    """Return the versions in which slices can be written."""
    groups = (await client.get("/apis")).get("groups") or []
    found = {
        one["version"] for group in groups if group["name"] == GROUP for one in group["versions"]
    }
    return tuple(version for version in VERSIONS if version in found)


async def _try(client: Client, attempt: DryRun) -> DryRunAnswer:
    kind = MERGE_PATCH if attempt.verb == "patch" else _JSON
    try:
        await client.request(attempt.method, attempt.path, attempt.body, kind, DRY_RUN)
    except ApiError as error:
        if not error.code or error.code >= 500 or error.code == 401:
            raise
        return DryRunAnswer(attempt, error.code, str(error))
    return DryRunAnswer(attempt)


async def _too_wide(client: Client) -> list[Permission]:
    found: list[Permission] = []
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for permission in TOO_WIDE:
        answer = await client.request("POST", path, permission.review(), query=DRY_RUN)
        if (answer.get("status") or {}).get("allowed"):
            found.append(permission)
            if permission.verb == "*":
                break
    return found
