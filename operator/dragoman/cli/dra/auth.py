"""`kubectl dra auth`: which rights the other commands need, and who has them not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.dra.output import Cell, Exit, Report, Table, show
from dragoman.cli.dra.source import Source, connected, output_option

if TYPE_CHECKING:
    from dragoman.kube.client import Client

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra auth
  kubectl dra auth --as ann -n ml
  kubectl dra auth -o yaml | yq .clusterRole | kubectl apply -f -

\b
Exit status:
  0  all rights are there
  1  some are missing
  2  the API server does not answer, or bad input
"""
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Right:
    """A right to list one resource everywhere.

    Attributes:
        group: API group.
        resource: Plural.
        purpose: What is missing from answers without it.
    """

    group: str
    resource: str
    purpose: str


RIGHTS: Final = (
    Right("", "nodes", "explain, simulate and `top nodes` know no nodes"),
    Right("", "pods", "holders and waiting pods have no names"),
    Right("", "resourcequotas", "`top namespaces` shows no quotas"),
    Right("resource.k8s.io", "deviceclasses", "nothing is counted by class"),
    Right("resource.k8s.io", "devicetaintrules", "devices that a rule taints look free"),
    Right("resource.k8s.io", "resourceclaims", "devices in use look free"),
    Right("resource.k8s.io", "resourceclaimtemplates", "claims that are not made yet are unknown"),
    Right("resource.k8s.io", "resourceslices", "no devices are known at all"),
    Right("dragoman.dev", "driverconfigschemas", "doctor does not see what is to be enforced"),
    Right(
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        "doctor does not see whether a webhook enforces it",
    ),
)


@click.command(epilog=_EXAMPLES)
@connected
@output_option
def auth(source: Source, output: str) -> None:
    """Print which rights to read are missing, and a ClusterRole that grants all of them.

    Where a right is there in one namespace only, other commands answer for that namespace.
    """
    if source.snapshot:
        raise click.UsageError("rights are those of a user in a cluster: leave --snapshot out")
    rows = source.call(lambda client: _rights(client, source.namespace))
    report = _report(rows, source.namespace)
    show(report, output)
    sys.exit(report.status)


async def _rights(client: Client, namespace: str) -> list[tuple[Right, bool, bool]]:
    """Return whether each right is granted in the whole cluster, and in the namespace."""

    async def allowed(right: Right, where: str) -> bool:
        attributes = {
            "verb": "list",
            "group": right.group,
            "resource": right.resource,
            **({"namespace": where} if where else {}),
        }
        answer = await client.post(
            _REVIEWS,
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            },
        )
        return bool(answer["status"].get("allowed"))

    everywhere = await asyncio.gather(*(allowed(right, "") for right in RIGHTS))
    here = await asyncio.gather(*(allowed(right, namespace) for right in RIGHTS))
    return list(zip(RIGHTS, everywhere, here, strict=True))


def cluster_role(rights: Iterable[Right] = RIGHTS) -> dict[str, Any]:
    """Return a ClusterRole with these rights."""
    groups: dict[str, list[str]] = {}
    for right in rights:
        groups.setdefault(right.group, []).append(right.resource)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "dragoman-toolkit"},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": ["get", "list"]}
            for group, resources in groups.items()
        ],
    }


def _report(rows: list[tuple[Right, bool, bool]], namespace: str) -> Report:
    import yaml  # noqa: PLC0415 — not for --help

    missing = [right for right, everywhere, _ in rows if not everywhere]
    lines = tuple(
        (
            f"{right.resource}.{right.group}" if right.group else right.resource,
            Cell("yes", "green") if everywhere else Cell("no", "red"),
            "yes" if here else "no",
            "" if everywhere else right.purpose,
        )
        for right, everywhere, here in rows
    )
    headers = ("LIST", "EVERYWHERE", f"IN {namespace}", "WITHOUT IT")
    role = yaml.safe_dump(cluster_role(), sort_keys=False).rstrip()
    blocks: tuple[Table | str | Cell, ...] = (Table(headers, lines),)
    if missing:
        blocks += ("", "A ClusterRole with all rights:", "", role)
    return Report(
        "Access",
        {
            "namespace": namespace,
            "rights": [
                {
                    "group": right.group,
                    "resource": right.resource,
                    "everywhere": everywhere,
                    "inNamespace": here,
                }
                for right, everywhere, here in rows
            ],
            "clusterRole": cluster_role(),
        },
        blocks,
        Exit.OBSTACLE if missing else Exit.CLEAR,
    )
