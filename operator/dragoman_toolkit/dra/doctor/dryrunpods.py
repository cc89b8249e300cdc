"""`kubectl dra doctor --dry-run-pods`: would workloads get the pods that they ask for?

The API server is asked with server-side dry runs: it checks quotas and calls webhooks as for a pod
that is created, and stores nothing.
"""

from collections.abc import AsyncIterator

import click

from dragoman.doctor.finding import Finding
from dragoman.kube.client import Client, items
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.model.fields import parts
from dragoman_toolkit.doctor.driverrights import DRY_RUN
from dragoman_toolkit.doctor.podtries import TRIED, PodTry, refused, stripped, tries
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.doctor.probing import NoDryRunError, check_dry_runs
from dragoman_toolkit.dra.output import Unusable

MOST = 500
"""Pods that are tried."""


def dry_run(source: Source) -> tuple[tuple[Finding, ...], str]:
    """Try a pod of each workload that wants devices; raise Unusable where that cannot be done.

    Returns:
        The findings, and what was not tried; empty where nothing is left.
    """
    if source.snapshot:
        raise click.UsageError("--dry-run-pods asks the API server: leave --snapshot out")
    try:
        return source.call(lambda client: _tried(client, source.namespace_option))
    except NoDryRunError as error:
        raise Unusable(f"--dry-run-pods: {error}; nothing was tried") from error


async def _tried(client: Client, namespace: str) -> tuple[tuple[Finding, ...], str]:
    await check_dry_runs(client)
    found: list[Finding] = []
    count = 0
    forbidden: set[str] = set()
    left: list[str] = []
    async for one in _wanted(client, namespace, left):
        if one.namespace in forbidden:
            continue
        if count >= MOST:
            left.append(
                f"only the first {MOST} pods of workloads were tried: -n chooses a namespace"
            )
            break
        count += 1
        try:
            stored = await client.request("POST", one.path, one.pod, query=DRY_RUN)
            finding = stripped(one, stored)
        except ApiError as error:
            if not error.code or error.code >= 500 or error.code == 401:
                raise
            finding = refused(one, str(error))
            if "cannot create resource" in str(error):
                forbidden.add(one.namespace)
        found += [finding] if finding else []
    if forbidden:
        raise Unusable(
            f"--dry-run-pods: you cannot create pods in namespace {', '.join(sorted(forbidden))}; "
            "-n chooses another"
        )
    return tuple(found), "; ".join(left)


async def _wanted(client: Client, namespace: str, left: list[str]) -> AsyncIterator[PodTry]:
    """Yield the pods to try; kinds that the user may not list are added to `left`."""
    for group, version, plural, kind in TRIED:
        resource = Resource(group, version, plural)
        try:
            async for one in items(client, resource.path(namespace)):
                for tried in tries({"apiVersion": f"{group}/{version}", "kind": kind, **one}):
                    # What a controller made is tried with it, or by none that is known here.
                    owners = parts(one, "metadata", "ownerReferences")
                    if not any(owner.get("controller") for owner in owners):
                        yield tried
        except ApiError as error:
            if error.code not in (403, 404):
                raise
            left.append(f"{plural} could not be listed")
