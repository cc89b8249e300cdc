"""What `release` and `adopt` share: read one claim live, plan, and write once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from dragoman.kube.client import FIELD_MANAGER, MERGE_PATCH, find, items
from dragoman.kube.discovery import discover
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS
from dragoman.model.fields import MalformedObjectError
from dragoman_toolkit.doctor.repairs import Plan, Write, plan_adoption, plan_release
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.output import Exit, Report, Unusable, show

if TYPE_CHECKING:
    from dragoman.inventory.snapshots.documents import Document
    from dragoman.kube.client import Client
    from dragoman.kube.resources import Resource
    from dragoman_toolkit.doctor.repairs import Plan, Write
    from dragoman_toolkit.dra.cluster.source import Source

Planner = Callable[["Document", Iterable["Document"]], "Plan"]


def release(source: Source, name: str, *, force: bool, dry_run: bool, output: Output) -> None:
    """Free the devices of a claim, and exit; see `repair`."""
    repair(source, name, partial(plan_release, force=force), dry_run=dry_run, output=output)


def adopt(source: Source, name: str, *, dry_run: bool, output: Output) -> None:
    """Give a claim its owner, and exit; see `repair`."""
    repair(source, name, plan_adoption, dry_run=dry_run, output=output)


def repair(source: Source, name: str, plan: Planner, *, dry_run: bool, output: Output) -> None:
    """Repair one claim, print what was done, and exit.

    Args:
        source: The cluster.
        name: `NAME` or `NAMESPACE/NAME` of the claim.
        plan: Decides on the claim and the pods of its namespace.
        dry_run: Whether the API server only checks the write.
        output: One of FORMATS.
    """
    if source.snapshot:
        raise click.UsageError("a snapshot cannot be repaired: leave --snapshot out")
    namespace, slash, rest = name.partition("/")
    where, claim = (namespace, rest) if slash else (source.namespace, name)
    report = source.call(lambda client: _repair(client, where, claim, plan, dry_run=dry_run))
    show(report, output)
    sys.exit(report.status)


async def _repair(
    client: Client, namespace: str, name: str, plan: Planner, *, dry_run: bool
) -> Report:
    claims = (await discover(client)).claims
    # The pods are read after the claim: what uses it by then is seen.
    claim = await find(client, claims.path(namespace, name))
    if claim is None:
        raise Unusable(f"claim {namespace}/{name} not found; -n chooses another namespace")
    pods = [pod async for pod in items(client, PODS.path(namespace))]
    try:
        planned = plan(claim, pods)
    except MalformedObjectError as error:
        raise Unusable(f"claim {namespace}/{name}: {error}") from None
    if not isinstance(planned, Write):
        status = Exit.CLEAR if planned.settled else Exit.OBSTACLE
        return _report(namespace, name, None, planned.reason, status, dry_run=dry_run)
    await _write(client, claims, claim, planned, dry_run=dry_run)
    text = f"{planned.done} (dry run)" if dry_run else planned.done
    return _report(namespace, name, planned, text, Exit.CLEAR, dry_run=dry_run)


async def _write(
    client: Client, claims: Resource, claim: Document, planned: Write, *, dry_run: bool
) -> None:
    metadata = claim["metadata"]
    path = claims.path(metadata["namespace"], metadata["name"], planned.subresource)
    query = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
    try:
        await client.request("PATCH", path, planned.patch, MERGE_PATCH, query)
    except ApiError as error:
        if error.code == 409:
            key = f"{metadata['namespace']}/{metadata['name']}"
            raise Unusable(f"claim {key} has changed since it was read: try again") from error
        raise


def _report(  # noqa: PLR0913 — one for each field
    namespace: str,
    name: str,
    planned: Write | None,
    text: str,
    status: Exit,
    *,
    dry_run: bool,
) -> Report:
    document: dict[str, Any] = {
        "namespace": namespace,
        "claim": name,
        "message": text,
        "written": planned is not None and not dry_run,
        "dryRun": dry_run,
        "subresource": planned.subresource if planned else None,
        "patch": planned.patch if planned else None,
    }
    return Report("Repair", document, (text,), status)
