"""Which rights the commands need, which of them a user lacks, and a ClusterRole with them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from dragoman.controllers.maintenance.view import served_rules
from dragoman.inventory.snapshots.queuekinds import MANAGERS, QUEUE_KINDS, QueueKind
from dragoman.kube.client import Client
from dragoman.kube.discovery import server_version
from dragoman_base.versions import Release
from dragoman_toolkit.dra.cluster.rights import (
    Need,
    granted,
    of_command,
)
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table


@dataclass(frozen=True, slots=True)
class Right:
    """A right to list one resource everywhere."""

    group: str  # API group
    resource: str  # Plural
    purpose: str  # What is missing from answers without it
    watched: bool = True  # Whether the page of `ui` follows it


RIGHTS = (
    Right("", "nodes", "explain, simulate and `top nodes` know no nodes"),
    Right("", "pods", "holders and waiting pods have no names"),
    Right("", "resourcequotas", "`top namespaces` shows no quotas, `explain` names none"),
    Right("resource.k8s.io", "deviceclasses", "nothing is counted by class"),
    Right("resource.k8s.io", "devicetaintrules", "devices that a rule taints look free"),
    Right("resource.k8s.io", "resourceclaims", "devices in use look free"),
    Right("resource.k8s.io", "resourceclaimtemplates", "claims that are not made yet are unknown"),
    Right("resource.k8s.io", "resourceslices", "no devices are known at all"),
    Right(
        "dragoman.dev",
        "driverconfigschemas",
        "doctor does not see what is to be enforced",
        watched=False,
    ),
    Right(
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        "doctor does not see whether a webhook enforces it",
        watched=False,
    ),
)


QUEUES: Mapping[str, tuple[Right, ...]] = {
    group: tuple(
        Right(group, kind.plural, "`top queues` and `explain` know no queues", watched=False)
        for kinds in QUEUE_KINDS.values()
        for kind in kinds
        if kind.group == group
    )
    for group in sorted(MANAGERS)
}
"""Rights that only clusters with a queue manager need, by its group."""


@dataclass(frozen=True, slots=True)
class Access:
    """What the user may do."""

    namespace: str  # Where rights were looked for beside everywhere
    # Rights to list, and whether they are there everywhere and in the namespace
    rows: tuple[tuple[Right, bool, bool], ...]
    # Further rights by command, and whether they are there
    more: Mapping[str, Mapping[Need, bool]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        listed = all(everywhere for _, everywhere, _ in self.rows)
        return listed and all(all(found.values()) for found in self.more.values())


def report(source: Source, commands: tuple[str, ...]) -> Report:
    """Ask which rights the user has, those of commands among them."""
    return _report(source.call(lambda client: _access(client, source.namespace, commands)))


async def _access(client: Client, namespace: str, commands: tuple[str, ...]) -> Access:
    groups = {one["name"] for one in (await client.get("/apis")).get("groups") or ()}
    rights = (*RIGHTS, *(right for group in QUEUES if group in groups for right in QUEUES[group]))
    lists = [Need("list", right.resource, right.group) for right in rights]
    here = [replace(need, namespace=namespace) for need in lists]
    needs = {}
    if commands:
        rules = await served_rules(client) is not None
        binding = Release(await server_version(client)).bindings_checked
        plurals = [f"{right.resource}.{right.group}" for right in RIGHTS if right.watched]
        needs = {
            command: of_command(command, namespace, plurals, rules=rules, binding=binding)
            for command in commands
        }
    more = [need for found in needs.values() for need in found]
    allowed = await granted(client, (*lists, *here, *more))
    return Access(
        namespace,
        tuple(
            (right, allowed[need], allowed[local])
            for right, need, local in zip(rights, lists, here, strict=True)
        ),
        {name: {need: allowed[need] for need in found} for name, found in needs.items()},
    )


def cluster_role(needs: Iterable[Need] = (), rights: Iterable[Right] = RIGHTS) -> dict[str, Any]:
    """Return a ClusterRole with the rights to list, and further ones."""
    groups: dict[str, list[str]] = {}
    for right in rights:
        groups.setdefault(right.group, []).append(right.resource)
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["get", "list"]}
        for group, resources in groups.items()
    ]
    if MANAGERS.keys() & groups.keys():
        helpful = (kind for kinds in QUEUE_KINDS.values() for kind in kinds if kind.helpful)
        rules += map(_helpful, helpful)
    verbs: dict[tuple[str, str], list[str]] = {}
    for need in needs:
        found = verbs.setdefault((need.group, need.resource), [])
        found += [] if need.verb in found else [need.verb]
    rules += [
        {"apiGroups": [group], "resources": [resource], "verbs": found}
        for (group, resource), found in verbs.items()
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "dragoman-toolkit"},
        "rules": rules,
    }


def _helpful(kind: QueueKind) -> dict[str, Any]:
    """Return a rule for what says which version of a queue manager runs, and what its jobs do."""
    name = kind.selector.partition("=")[2]
    return {
        "apiGroups": [kind.group],
        "resources": [kind.plural],
        **({"resourceNames": [name]} if name else {}),
        "verbs": ["get", "list"],
    }


def _report(access: Access) -> Report:
    role = cluster_role(
        (need for found in access.more.values() for need in found),
        (right for right, _, _ in access.rows),
    )
    blocks: tuple[Table | str | Cell, ...] = (_lists(access),)
    if access.more:
        blocks += ("", _more(access))
    if not access.complete:
        text = yaml.safe_dump(role, sort_keys=False).rstrip()
        blocks += ("", "A ClusterRole with all permissions:", "", text)
    document = _document(access, role)
    return Report("Access", document, blocks, Exit.CLEAR if access.complete else Exit.OBSTACLE)


def _document(access: Access, role: dict[str, Any]) -> dict[str, Any]:
    return {
        "namespace": access.namespace,
        "rights": [
            {
                "group": right.group,
                "resource": right.resource,
                "everywhere": everywhere,
                "inNamespace": here,
            }
            for right, everywhere, here in access.rows
        ],
        "further": [
            {
                "command": command,
                "verb": need.verb,
                "group": need.group,
                "resource": need.resource,
                "namespace": need.namespace or None,
                "allowed": allowed,
            }
            for command, found in access.more.items()
            for need, allowed in found.items()
        ],
        "clusterRole": role,
    }


def _lists(access: Access) -> Table:
    lines = tuple(
        (
            f"{right.resource}.{right.group}" if right.group else right.resource,
            _allowed(everywhere),
            "yes" if here else "no",
            "" if everywhere else right.purpose,
        )
        for right, everywhere, here in access.rows
    )
    return Table(("LIST", "EVERYWHERE", f"IN {access.namespace}", "WITHOUT IT"), lines)


def _more(access: Access) -> Table:
    lines = tuple(
        (
            command,
            need.verb,
            f"{need.resource}.{need.group}" if need.group else need.resource,
            need.namespace or "everywhere",
            _allowed(allowed),
        )
        for command, found in access.more.items()
        for need, allowed in found.items()
    )
    return Table(("COMMAND", "VERB", "RESOURCE", "WHERE", "ALLOWED"), lines)


def _allowed(found: bool) -> Cell:  # noqa: FBT001 — a cell of a table
    return Cell("yes", "green") if found else Cell("no", "red")
