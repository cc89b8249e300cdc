"""Write the tables of rights in docs/security.md: `python docs/generate_permissions.py`.

The rights are those of the chart as helm renders it: for each configuration, what it adds to the
configuration without it. What a stolen token could do with them is written here, beside the values.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.charts.rendering import Json, Values, render

PAGE = Path(__file__).with_name("security.md")
BEGIN, END = "<!-- permissions: docs/generate_permissions.py -->", "<!-- permissions:end -->"
NAMESPACE = "its namespace"
NODE_LEASES = "kube-node-lease"
LEAST: Values = {
    "claims": {"mode": "off"},
    "poolStatus": {"mode": "off"},
    "leaderElection": {"enabled": False},
    "webhook": {"tls": {"mode": "cert-manager"}},
}
"""The configuration with the fewest rights."""


class Right(NamedTuple):
    """One verb on one resource.

    Attributes:
        role: Of which kind and name.
        where: Empty for the whole cluster.
        what: The resource with its API group, and names where the rule lists them.
        verb: Such as `get`.
    """

    role: str
    where: str
    what: str
    verb: str


@dataclass(frozen=True)
class Configuration:
    """A row of the table.

    Attributes:
        title: As the page has it.
        roles: Names of the roles, without that of the release.
        stolen: What an attacker with the token could do with these rights.
        values: Of the chart, over `LEAST`.
        beside: Values, over `LEAST`, of the configuration that it is compared with; None for none.
    """

    title: str
    roles: tuple[str, ...]
    stolen: str
    values: Values = field(default_factory=dict)
    beside: Values | None = field(default_factory=dict)


OPERATOR = ("operator", "leader", "holds", "node-leases", "device-seconds")
WEBHOOK = ("webhook", "webhook-tls")
CONFIGURATIONS = (
    Configuration(
        "operator, always",
        OPERATOR,
        "read claims, templates and classes, that is who asks for which devices; forge Events"
        " and the status of schemas",
        beside=None,
    ),
    Configuration(
        "`claims.mode` auto, assist or own (default: assist)",
        OPERATOR,
        "delay pods and occupy their devices; read pod specifications (not Secrets); forge "
        "any pod's status: readiness, phase and IP, which redirects Service traffic, and "
        "`phase=Failed` makes controllers replace the pod, so that pods end everywhere",
        {"claims": {"mode": "own"}, "explain": {"events": False}},
    ),
    Configuration(
        "`claims.safeRelease`",
        OPERATOR,
        "read names, addresses and labels of nodes, and when their kubelets were alive",
        {"claims": {"mode": "own", "safeRelease": True}, "explain": {"events": False}},
        {"claims": {"mode": "own"}, "explain": {"events": False}},
    ),
    Configuration(
        "`leaderElection.enabled` (default)",
        OPERATOR,
        "block leader election, so that no replica works",
        {"leaderElection": {"enabled": True}},
    ),
    Configuration(
        "`clusterTemplates.enabled`",
        OPERATOR,
        "replace templates in every namespace, so that new pods get other devices or driver "
        "configs, with admin access only in namespaces that have its label",
        {"clusterTemplates": {"enabled": True}},
    ),
    Configuration(
        "`evictions.mode: assist`",
        OPERATOR,
        "delete any pod, PodDisruptionBudgets notwithstanding; forge any pod's status",
        {"evictions": {"mode": "assist"}},
    ),
    Configuration(
        "`evictions.mode: own`",
        OPERATOR,
        "the same; forge the status of DeviceTaintRules",
        {"evictions": {"mode": "own"}},
        {"evictions": {"mode": "assist"}},
    ),
    Configuration(
        "`poolStatus.mode: auto` (default)",
        OPERATOR,
        "forge counts of devices",
        {"poolStatus": {"mode": "auto"}},
    ),
    Configuration(
        "`poolStatus.mode: own`",
        OPERATOR,
        "the same; delete requests before they are read",
        {"poolStatus": {"mode": "own"}},
        {"poolStatus": {"mode": "auto"}},
    ),
    Configuration(
        "`inventory.reports`",
        OPERATOR,
        "forge or delete DevicePoolReports",
        {"inventory": {"reports": True}},
    ),
    Configuration(
        "`explain.events` or `metrics.devices` (default with `claims.mode: own`)",
        OPERATOR,
        "read names, addresses and labels of nodes, and all devices",
        {"explain": {"events": True}},
    ),
    Configuration(
        "`metrics.devices`",
        OPERATOR,
        "the same; forge counters of device-seconds",
        {"metrics": {"devices": True}},
        {"explain": {"events": True}},
    ),
    Configuration(
        "`findings.enabled`",
        OPERATOR,
        "read all pod specifications and nodes, and the URLs and CA bundles of all webhooks",
        {"findings": {"enabled": True}},
    ),
    Configuration(
        "`preemption.mode: report`",
        OPERATOR,
        "read all pod specifications, nodes, namespaces and PodDisruptionBudgets; forge or delete "
        "DevicePreemptions, which are records: no controller acts on them",
        {"preemption": {"mode": "report"}},
    ),
    Configuration(
        "`preemption.mode: on`, the account `…-preemption`, which the operator impersonates",
        ("preemption", "preemption-account"),
        "evict any pod that its PodDisruptionBudget lets go; taint any device, or put tainted ones "
        "back; create claims, and delete those that hold nothing",
        {"preemption": {"mode": "on"}},
    ),
    Configuration(
        "`maintenance.enabled`",
        OPERATOR,
        "evict and delete any pod; take any device out of service, or put tainted ones back; "
        "with claims in the release's namespace occupy devices",
        {"maintenance": {"enabled": True}},
    ),
    Configuration(
        "`catalog.enabled`",
        OPERATOR,
        "weaken schemas, or make them reject every driver config",
        {"catalog": {"enabled": True}},
    ),
    Configuration(
        "`rbac.apiServerMetrics` with `claims.mode` other than off",
        OPERATOR,
        "learn feature gates, resource names and request rates of the API server",
        {"claims": {"mode": "own"}, "rbac": {"apiServerMetrics": True}},
        {"claims": {"mode": "own"}},
    ),
    Configuration(
        "webhook, always",
        WEBHOOK,
        "admit invalid configs, reject valid ones, read the reviewed objects",
        beside=None,
    ),
    Configuration(
        "webhook with `webhook.tls.mode: self` (default)",
        WEBHOOK,
        "read or reject all writes to the API server, [see below](#the-webhooks-own-configuration)",
        {"webhook": {"tls": {"mode": "self"}}},
    ),
    Configuration(
        "webhook with `maintenance.enabled`",
        WEBHOOK,
        "read all devices",
        {"maintenance": {"enabled": True}},
    ),
    Configuration(
        "hook before an uninstallation, while it runs",
        ("delete-webhooks",),
        "admit invalid configs",
        beside=None,
    ),
    Configuration(
        "`helm test`, while it runs; it sends dry runs, to which RBAC cannot limit it",
        ("verify",),
        "reject or admit every driver config of the cluster, offer devices under a new class",
        beside=None,
    ),
    Configuration(
        "role for users `…-schemas-view`, part of `view`, `edit` and `admin`",
        ("schemas-view",),
        "",
        {"clusterTemplates": {"enabled": True}, "maintenance": {"enabled": True}},
        None,
    ),
    Configuration(
        "role for users `…-schemas-edit`, not aggregated",
        ("schemas-edit",),
        "reject or admit every driver config of the cluster",
        beside=None,
    ),
    Configuration(
        "role for users `…-preemptions-view`, not aggregated",
        ("preemptions-view",),
        "",
        {"preemption": {"mode": "report"}},
        None,
    ),
    Configuration(
        "role for users `…-cluster-templates-edit`, not aggregated",
        ("cluster-templates-edit",),
        "put templates into namespaces of others",
        {"clusterTemplates": {"enabled": True}},
        None,
    ),
    Configuration(
        "role for users `…-maintenance-edit`, not aggregated",
        ("maintenance-edit",),
        "take any device out of service, and end the pods that use it",
        {"maintenance": {"enabled": True}},
        None,
    ),
)


def rights(documents: list[Json], roles: tuple[str, ...]) -> set[Right]:
    """Return all rights of the roles with these names."""
    return {right for role in documents for right in _rights(role) if right.role in roles}


def _rights(role: Json) -> Iterator[Right]:
    if role["kind"] not in {"Role", "ClusterRole"}:
        return
    name = role["metadata"]["name"].removeprefix("dragoman-")
    where = _place(role) if role["kind"] == "Role" else ""
    for rule in role["rules"]:
        named = rule.get("resourceNames", [])
        for verb in rule["verbs"]:
            for url in rule.get("nonResourceURLs", ()):
                yield Right(name, where, url, verb)
            for group in rule.get("apiGroups", ()):
                for resource in rule["resources"]:
                    what = f"{resource}.{group}" if group else resource
                    yield Right(name, where, " ".join([what, *named]), verb)


def _place(role: Json) -> str:
    return NODE_LEASES if role["metadata"].get("namespace") == NODE_LEASES else NAMESPACE


def added(configuration: Configuration) -> set[Right]:
    """Return the rights that a configuration adds; those in the whole cluster include others."""
    found = rights(render(merged(LEAST, configuration.values)), configuration.roles)
    if configuration.beside is None:
        return found
    return found - rights(render(merged(LEAST, configuration.beside)), configuration.roles)


def merged(least: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with others on top."""
    both = dict(least)
    for key, value in more.items():
        below = both.get(key)
        nested = isinstance(value, Mapping) and isinstance(below, Mapping)
        both[key] = merged(below, value) if nested else value  # type: ignore[arg-type]
    return both


def described(found: set[Right]) -> str:
    """Return rights as text: resources with the same verbs stand together."""
    verbs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for right in found:
        verbs[right.where, right.what].add(right.verb)
    resources: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (where, what), listed in sorted(verbs.items()):
        resources[where, tuple(sorted(listed))].append(f"`{what}`")
    return "; ".join(
        f"{', '.join(sorted(listed))} {', '.join(named)}{f' in {where}' if where else ''}"
        for (where, listed), named in resources.items()
    )


def table() -> str:
    """Return the table."""
    rows = [
        "| configuration | permissions that it adds | impact of a stolen token |",
        "|---|---|---|",
        *(f"| {one.title} | {described(added(one))} | {one.stolen} |" for one in CONFIGURATIONS),
    ]
    return "\n".join(rows)


def written(page: str) -> str:
    """Return the page with the table of today."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(written(PAGE.read_text()))


if __name__ == "__main__":
    main()
