"""What the operator may do: the rules that the chart grants it, and nothing more.

A test of the chart compares them, so all tests with a real API server try the chart's rules.
"""

from collections.abc import Mapping
from typing import Any

DRA, SCHEDULING = "resource.k8s.io", "scheduling.k8s.io"
READ = ("get", "list", "watch")


def rule(group: str, resource: str, *verbs: str) -> Mapping[str, Any]:
    """Return one rule of a ClusterRole."""
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


# Since 1.36 a change of allocation or reservedFor is also authorized on `resourceclaims/binding`,
# a subresource that exists for that purpose alone.
OPERATOR_RULES = (
    rule("", "pods", *READ),
    rule("", "pods/status", "patch"),
    rule(DRA, "resourceclaims", *READ, "create", "delete", "patch"),
    rule(DRA, "resourceclaims/status", "patch"),
    rule(DRA, "resourceclaims/binding", "patch"),
    rule(DRA, "resourceclaimtemplates", *READ, "create", "delete"),
    rule("", "namespaces", "list", "watch"),
    rule(SCHEDULING, "podgroups", *READ),
    rule(SCHEDULING, "podgroups/status", "patch"),
    rule("events.k8s.io", "events", "create"),
    rule("coordination.k8s.io", "leases", "get", "create", "update"),
    rule("dragoman.dev", "driverconfigschemas", *READ),
    rule("dragoman.dev", "driverconfigschemas/status", "patch"),
    rule("dragoman.dev", "clusterresourceclaimtemplates", *READ),
    rule("dragoman.dev", "clusterresourceclaimtemplates/status", "patch"),
)

# What `--evictions` needs beyond that; `assist` writes no status of rules.
EVICTION_RULES = (
    rule("", "pods", "delete"),
    rule(DRA, "resourceslices", *READ),
    rule(DRA, "devicetaintrules", *READ),
    rule(DRA, "devicetaintrules/status", "patch"),
)

POOL_STATUS_RULES = (
    rule(DRA, "resourceslices", *READ),
    rule(DRA, "devicetaintrules", *READ),
    rule(DRA, "resourcepoolstatusrequests", *READ),
    rule(DRA, "resourcepoolstatusrequests/status", "update"),
)

EXPLAIN_RULES = (
    rule("", "nodes", "list", "watch"),
    rule(DRA, "resourceslices", "list", "watch"),
    rule(DRA, "deviceclasses", "list", "watch"),
    rule(DRA, "devicetaintrules", "list", "watch"),
)
"""What `--explain-events` and `--device-metrics` need besides."""

DEVICE_SECONDS_RULES = (rule("", "configmaps", "get", "create", "update"),)
"""What `--device-metrics` needs besides; the chart creates the only ConfigMap that it names."""

SAFE_RELEASE_RULES = (rule("", "nodes", *READ), rule("", "namespaces", "get"))
"""What `--safe-release` needs besides; Leases of nodes are part of the tests' own rules."""


def rules_without(*resources: str) -> tuple[Mapping[str, Any], ...]:
    """Return the operator's rules but for those of some resources, such as `pods/status`."""
    return tuple(one for one in OPERATOR_RULES if one["resources"][0] not in resources)


FINDINGS_RULES = (
    rule("", "nodes", "list"),
    rule("", "pods", "list"),
    rule(DRA, "resourceclaims", "list"),
    rule(DRA, "resourceclaimtemplates", "list"),
    rule(DRA, "resourceslices", "list"),
    rule(DRA, "deviceclasses", "list"),
    rule(DRA, "devicetaintrules", "list"),
    rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", "list"),
)
"""What `--findings` needs beside them."""

PREEMPTION_RULES = (
    rule("", "nodes", "list"),
    rule("", "pods", "list", "watch"),
    rule("", "namespaces", "list"),
    rule("policy", "poddisruptionbudgets", "list"),
    rule(DRA, "resourceclaims", "list"),
    rule(DRA, "resourceclaimtemplates", "list"),
    rule(DRA, "resourceslices", "list"),
    rule(DRA, "deviceclasses", "list"),
    rule(DRA, "devicetaintrules", "list"),
    rule("dragoman.dev", "devicepreemptions", "list", "create", "patch", "delete"),
    rule("dragoman.dev", "devicepreemptions/status", "patch"),
)
"""What `--preemption=report` needs beside them."""

PREEMPTION_ACCOUNT = "dragoman-preemption"
PREEMPTING_RULES = (
    rule("", "nodes", "list"),
    rule("", "pods", "get", "list"),
    rule("", "pods/eviction", "create"),
    rule("", "namespaces", "list"),
    rule("policy", "poddisruptionbudgets", "list"),
    rule(DRA, "resourceclaims", "get", "list", "create", "delete"),
    rule(DRA, "resourceclaimtemplates", "get", "list"),
    rule(DRA, "resourceslices", "list"),
    rule(DRA, "deviceclasses", "list"),
    rule(DRA, "devicetaintrules", "list", "create", "delete"),
    rule("dragoman.dev", "devicepreemptions", "get", "list", "create", "patch", "delete"),
    rule("dragoman.dev", "devicepreemptions/status", "patch"),
)
"""What the account may do as which `--preemption=on` works: no status and no binding of claims."""
IMPERSONATION = {
    **rule("", "users", "impersonate"),
    "resourceNames": [PREEMPTION_ACCOUNT],
}
"""What the operator needs for that account; the chart's is a ServiceAccount."""

MAINTENANCE_RULES = (
    *OPERATOR_RULES,
    rule("dragoman.dev", "devicemaintenances", *READ, "patch"),
    rule("dragoman.dev", "devicemaintenances/status", "patch"),
    rule(DRA, "resourceslices", "list", "watch"),
    rule(DRA, "devicetaintrules", *READ, "create", "delete"),
    rule("", "pods", "list", "watch", "delete"),
    rule("", "pods/eviction", "create"),
)
"""With `maintenance.enabled`."""
